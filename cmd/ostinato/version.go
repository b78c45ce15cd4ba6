package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/internal/command"
)

func newVersion() *cobra.Command {
	return command.New(&cobra.Command{
		Use:   "version",
		Short: "Print the version that this program was built from",
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintln(cmd.OutOrStdout(), command.Version())
			return nil
		},
	}, command.Settings{AddFlags: func(*command.Flags) {}})
}
