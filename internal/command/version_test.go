package command

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestABuildIsWhatTheLinkerWasToldOrTheGoCommandRecorded(t *testing.T) {
	recorded := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: modified}}}
	}
	for name, test := range map[string]struct {
		version, revision string
		info              *debug.BuildInfo
		want              Build
	}{
		"a clone":                             {"", "", recorded("false"), Build{"v1.2.3", "abc", runtime.Version()}},
		"a clone with changes":                {"", "", recorded("true"), Build{"v1.2.3", "abc-dirty", runtime.Version()}},
		"an image":                            {"v2", "def", nil, Build{"v2", "def", runtime.Version()}},
		"an image wins over what is recorded": {"v2", "def", recorded("true"), Build{"v2", "def", runtime.Version()}},
		"an image of no commit":               {"v2", "", &debug.BuildInfo{}, Build{"v2", "unknown", runtime.Version()}},
		"nothing":                             {"", "", nil, Build{"unknown", "unknown", runtime.Version()}},
	} {
		assert.Equal(t, test.want, buildOf(test.version, test.revision, test.info), name)
	}
	assert.Contains(t, Version(), runtime.Version())
	assert.Contains(t, Version(), ThisBuild().Version)
}
