package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/config"
)

// flagTables adds a table of the flags of each program.
func flagTables(_ *source, tables map[string]string) error {
	unset := func(string) (string, bool) { return "", false }
	for program, cmd := range map[string]*cobra.Command{
		"worker":      config.WorkerCommand(unset, func(context.Context, config.Worker) error { return nil }),
		"bridge":      config.BridgeCommand(unset, func(context.Context, config.Bridge) error { return nil }),
		"codecserver": config.CodecServerCommand(unset, func(context.Context, config.CodecServer) error { return nil }),
		"temporal":    config.TemporalServerCommand(unset, func(context.Context, config.TemporalServer) error { return nil }),
	} {
		var rows [][]string
		for _, group := range command.Grouped(cmd.LocalFlags()) {
			group.VisitAll(func(flag *pflag.Flag) {
				usage, _, _ := strings.Cut(flag.Usage, " [OSTINATO_")
				value := ""
				if flag.DefValue != "" && flag.DefValue != "[]" {
					value = code(flag.DefValue)
				}
				rows = append(rows, []string{group.Name(), code("--" + flag.Name), value, usage})
			})
		}
		tables["flags of the "+program] = table([]string{"group", "flag", "default", "meaning"}, rows)
	}
	return nil
}
