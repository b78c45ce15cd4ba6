package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/internal/command"
)

func (p *person) newToken() *cobra.Command {
	return command.House(&cobra.Command{
		Use: "token", Short: "A token for Temporal, for its own command and its page",
		Long: "token prints a token by which the installation's own Temporal knows who you are, for ten minutes. It opens nothing else, and lets\n" +
			"you do there what you may do to the CronJobs and Jobs:\n\n" +
			"  TEMPORAL_API_KEY=$(ostinato token) temporal workflow list",
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: answering(func(cmd *cobra.Command, _ []string) error {
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			token, err := cluster.TemporalToken(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.out, token)
			return err
		}),
	})
}
