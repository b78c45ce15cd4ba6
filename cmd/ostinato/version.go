package main

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/internal/command"
)

func newVersion() *cobra.Command {
	return command.New(&cobra.Command{
		Use:   "version",
		Short: "Print the version that this program was built from",
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			fmt.Fprintln(cmd.OutOrStdout(), version(info))
			return nil
		},
	}, command.Settings{AddFlags: func(*command.Flags) {}})
}

// version is what the go command recorded, which for a build of a clone names the commit. A build without modules
// has no info.
func version(info *debug.BuildInfo) string {
	if info == nil {
		return "unknown"
	}
	return cmp.Or(info.Main.Version, "unknown")
}
