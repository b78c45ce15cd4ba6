// Command ostinato runs Ostinato on one machine: `ostinato dev` for a person,
// `ostinato smoke` for a script.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/devstack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command.Execute(ctx, newCommand(), os.Args[1:], os.Stdout, os.Stderr))
}

func newCommand() *cobra.Command {
	return command.NewParent(&cobra.Command{
		Use:  "ostinato",
		Long: "ostinato runs Kubernetes CronJobs and Jobs as durable Temporal workflows on this machine.",
	}, newDev(), newSmoke(), newTools())
}

// addTemporal declares the flag that says which Temporal server runs.
func addTemporal(group *pflag.FlagSet, kind *devstack.TemporalKind) {
	command.Choice(group, kind, "temporal", devstack.TemporalEmbedded, devstack.TemporalKinds,
		"which Temporal server runs, one process or a cluster on PostgreSQL with its roles in separate processes, mTLS and an authorizer")
}

// addNode declares the flag that says what runs the Pods.
func addNode(group *pflag.FlagSet, kind *devstack.NodeKind) {
	command.Choice(group, kind, "node", devstack.NodeAuto,
		[]devstack.NodeKind{devstack.NodeAuto, devstack.NodeReal, devstack.NodeKwok}, "what runs the Pods, really (Linux, root) or simulated (kwok)")
}
