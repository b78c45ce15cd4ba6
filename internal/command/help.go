package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

func printHelp(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s\n\n", strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)))
	printUsage(out, cmd)
}

// printUsage lists a command's commands, and its flags in groups.
func printUsage(out io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "Usage:\n  %s\n", cmd.UseLine())
	} else {
		fmt.Fprintf(out, "Usage:\n  %s <command> [flags]\n\nCommands:\n", cmd.CommandPath())
		for _, child := range cmd.Commands() {
			if child.IsAvailableCommand() || child.Name() == "help" {
				fmt.Fprintf(out, "  %-*s  %s\n", child.NamePadding(), child.Name(), child.Short)
			}
		}
	}
	groups := Grouped(cmd.LocalFlags())
	for _, group := range groups {
		title := group.Name() + " flags"
		if len(groups) == 1 {
			title = "Flags"
		}
		fmt.Fprintf(out, "\n%s:\n%s", title, group.FlagUsagesWrapped(columns(out)))
	}
	switch {
	case cmd.HasAvailableSubCommands():
		fmt.Fprintf(out, "\n\"%s <command> --help\" lists a command's flags.\n", cmd.CommandPath())
	case !cmd.HasParent():
		fmt.Fprintf(out, "\n\"%s completion --help\" tells how a shell completes them.\n", cmd.CommandPath())
	}
}

// Grouped splits flags by their groups; those without one come last.
func Grouped(flags *pflag.FlagSet) []*pflag.FlagSet {
	var all, rest Flags
	flags.VisitAll(func(flag *pflag.Flag) {
		if title := flag.Annotations[groupAnnotation]; len(title) > 0 {
			all.Group(title[0]).AddFlag(flag)
		} else {
			rest.Group("Other").AddFlag(flag)
		}
	})
	return append(all.groups, rest.groups...)
}

// columns returns a terminal's width, 0 for anything else.
func columns(out io.Writer) int {
	if file, ok := out.(*os.File); ok {
		width, _, _ := term.GetSize(int(file.Fd()))
		return width
	}
	return 0
}
