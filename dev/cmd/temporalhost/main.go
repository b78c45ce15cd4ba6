// Command temporalhost is one process of a Temporal cluster on PostgreSQL, for development and tests: the server in one
// of its roles, or what has to be done before. Package temporalcluster starts it; it need not be started by hand.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/dev/devstack/temporalcluster/host"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
	"ostinato.dev/ostinato/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command.Execute(ctx, newCommand(host.Run), os.Args[1:], os.Stdout, os.Stderr))
}

// newCommand returns the command that calls run with what its flags say.
func newCommand(run func(context.Context, host.Options) error) *cobra.Command {
	var o host.Options
	var file string
	return command.New(&cobra.Command{
		Use:  "temporalhost",
		Long: "temporalhost is one process of a Temporal cluster on PostgreSQL, for development and tests.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Cluster, err = spec.Read(file); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}, command.Settings{AddFlags: func(flags *command.Flags) {
		group := flags.Group("Host")
		group.StringVar(&file, "cluster", "cluster.json", "`file` that describes the cluster")
		command.Choice(group, &o.Role, "role", spec.Frontend, spec.Roles, "what this process does")
		group.StringVar(&o.IP, "ip", spec.FirstIP, "address of this host")
		command.Choice(group, &o.LogLevel, "log-level", "warn", []string{"debug", "info", "warn", "error"}, "least level of the lines on stderr")
	}})
}
