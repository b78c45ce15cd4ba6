package command

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the tag of the image that this program is in, and revision the commit; tools/image has the linker set them.
var version, revision string

// unknown stands for what a build does not say.
const unknown = "unknown"

// Build is what a program was built from, and with.
type Build struct {
	// Version is the tag of its image, or what the go command recorded, which for a build of a clone names the commit.
	Version string
	// Revision is the commit, with -dirty after it if files differed from it.
	Revision string
	// Go is the version of Go.
	Go string
}

// ThisBuild returns what this program was built from, and with. What the build does not say is "unknown".
func ThisBuild() Build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(version, revision, info)
}

// Version returns the build in words.
func Version() string {
	build := ThisBuild()
	return fmt.Sprintf("%s (%s %s/%s)", build.Version, build.Go, runtime.GOOS, runtime.GOARCH)
}

// buildOf is what the linker was told, or else what the go command recorded. A build without modules has no info.
func buildOf(version, revision string, info *debug.BuildInfo) Build {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	var recorded, dirty string
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			recorded = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			dirty = "-dirty"
		}
	}
	if recorded != "" {
		recorded += dirty
	}
	return Build{Version: cmp.Or(version, info.Main.Version, unknown), Revision: cmp.Or(revision, recorded, unknown), Go: runtime.Version()}
}
