package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/schedule"
)

func (p *person) newBackfill() *cobra.Command {
	request, progress := schedule.BackfillRequest{By: self()}, false
	cmd := &cobra.Command{
		Use: "backfill NAME [FROM [TO]]", Short: "Run the times of the schedule in a range of the past, both ends included",
		Long: "backfill runs the times of the schedule from FROM to TO, both included, or says how far backfills have come (--progress), or\n" +
			"takes back what they have not started (--cancel).",
		Args: cobra.RangeArgs(1, 3), ValidArgsFunction: p.completeCronJobs(1),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			switch alone := len(arguments) == 1; {
			case progress && request.Cancel, (progress || request.Cancel) != alone:
				return command.Mistake(errors.New("say from when to when, or one of --progress and --cancel"))
			case progress:
				return p.progress(cmd.Context(), arguments[0])
			case alone:
				return p.cancelBackfills(cmd.Context(), arguments[0], request)
			}
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
	flags.IntVar(&request.Parallelism, "parallelism", 0, "how many of its runs may be active at once, 1 to 100 (default 1)")
	flags.BoolVar(&request.Cancel, "cancel", false, "take back the times of all backfills that have not started; runs that have go on")
	flags.BoolVar(&progress, "progress", false, "say how far backfills have come")
	flags.StringVar(&request.By, "by", request.By, "who asks, as the ledger will say")
	flags.StringVar(&request.Note, "note", "", "why, as the ledger will say")
	p.outputFlag(cmd, "how the answer is written, in place of a line", asJSON, asYAML)
	return command.House(cmd)
}

// cancelBackfills takes back what backfills have not started.
func (p *person) cancelBackfills(ctx context.Context, name string, request schedule.BackfillRequest) error {
	_, cronJob, err := p.cronJob(ctx, name)
	if err != nil {
		return err
	}
	workflows, err := p.workflows(ctx)
	if err != nil {
		return err
	}
	answered, err := workflows.Backfill(ctx, cronJob, schedule.BackfillRequest{Cancel: true, By: request.By, Note: request.Note})
	if err != nil {
		return err
	}
	if done, err := p.encode(answered, nil); done {
		return err
	}
	fmt.Fprintln(p.out, answer.TakenBack(answered.Cancelled, "time of backfills"))
	return nil
}

// progress says how far backfills have come.
func (p *person) progress(ctx context.Context, name string) error {
	_, cronJob, err := p.cronJob(ctx, name)
	if err != nil {
		return err
	}
	workflows, err := p.workflows(ctx)
	if err != nil {
		return err
	}
	described, err := workflows.Describe(ctx, cronJob)
	if err != nil {
		return err
	}
	if done, err := p.encode(some(described.Backfills), nil); done {
		return err
	}
	if len(described.Backfills) == 0 {
		p.note("No backfill has times left.")
	}
	for _, one := range described.Backfills {
		fmt.Fprintln(p.out, answer.Printable(answer.Progress(p.clock(), one)))
	}
	return nil
}
