package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/schedule"
)

func (p *person) newBackfill() *cobra.Command {
	request := schedule.BackfillRequest{By: self()}
	cmd := &cobra.Command{
		Use: "backfill NAME FROM [TO]", Short: "Run the times of the schedule in a range of the past, both ends included",
		Args: cobra.RangeArgs(2, 3), ValidArgsFunction: p.completeCronJobs(1),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			if err := readable(arguments[1:]...); err != nil {
				return err
			}
			_, cronJob, err := p.cronJob(cmd.Context(), arguments[0])
			if err != nil {
				return err
			}
			clock := p.clock()
			if request.From, err = parseTime(arguments[1], clock.Now, zone(cronJob, clock.Zone)); err != nil {
				return err
			}
			if request.To, err = parseTime(arguments[len(arguments)-1], clock.Now, zone(cronJob, clock.Zone)); err != nil {
				return err
			}
			workflows, err := p.workflows(cmd.Context())
			if err != nil {
				return err
			}
			answered, err := workflows.Backfill(cmd.Context(), cronJob, request)
			if err != nil {
				return err
			}
			if done, err := p.encode(answered, nil); done {
				return err
			}
			fmt.Fprintln(p.out, answer.Backfill(clock, answered))
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&request.DryRun, "dry-run", false, "say which runs there would be, and start none")
	overlapFlag(cmd, &request.Overlap)
	flags.StringVar(&request.By, "by", request.By, "who asks, as the ledger will say")
	flags.StringVar(&request.Note, "note", "", "why, as the ledger will say")
	p.outputFlag(cmd, "how the answer is written, in place of a line", asJSON, asYAML)
	return command.House(cmd)
}
