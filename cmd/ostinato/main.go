// Command ostinato is for people who run their CronJobs and Jobs on Ostinato.
package main

import (
	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/internal/command"
)

func main() { command.Main(newCommand()) }

func newCommand() *cobra.Command {
	return command.NewParent(&cobra.Command{
		Use:  "ostinato",
		Long: "ostinato is for people who run their CronJobs and Jobs on Ostinato.",
	}, newVersion())
}
