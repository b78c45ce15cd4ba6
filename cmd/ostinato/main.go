// Command ostinato is for people who run their CronJobs and Jobs on Ostinato. Under the name kubectl-ostinato it is a plugin
// of kubectl, under temporal-ostinato one of temporal.
package main

import (
	"os"
	"path/filepath"
	"strings"

	"ostinato.dev/ostinato/cmd/ostinato/internal/commands"
	"ostinato.dev/ostinato/internal/command"
)

func main() {
	root := commands.New(calledAs(os.Args[0]), newVersion())
	root.Version = command.Version()
	command.Main(root)
}

// calledAs is the name of the command in its texts: a plugin's as a person types it.
func calledAs(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if tool, plugin := strings.CutSuffix(name, "-ostinato"); plugin {
		return tool + " ostinato"
	}
	return "ostinato"
}
