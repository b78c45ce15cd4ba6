// Command devstack is for people who work on Ostinato: it runs a whole stack on this machine. The Makefile calls it:
// `make dev` for a person, `make smoke` for a script, `make tools` for what both need.
package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/internal/command"
)

func main() { command.Main(newCommand()) }

func newCommand() *cobra.Command {
	return command.NewParent(&cobra.Command{
		Use:  "devstack",
		Long: "devstack runs Kubernetes, Temporal and Ostinato on this machine, for people who work on Ostinato.",
	}, newDev(), newSmoke(), newTools())
}

// addTemporal declares the flag that says which Temporal server runs.
func addTemporal(group *pflag.FlagSet, kind *devstack.TemporalKind) {
	command.Choice(group, kind, "temporal", devstack.TemporalEmbedded, devstack.TemporalKinds,
		"which Temporal server runs, one process, one that asks the API server who may call it, or a cluster on PostgreSQL with its roles in separate processes, mTLS and an authorizer")
}

// addNode declares the flag that says what runs the Pods.
func addNode(group *pflag.FlagSet, kind *devstack.NodeKind) {
	command.Choice(group, kind, "node", devstack.NodeAuto,
		[]devstack.NodeKind{devstack.NodeAuto, devstack.NodeReal, devstack.NodeKwok}, "what runs the Pods, really (Linux, root) or simulated (kwok)")
}
