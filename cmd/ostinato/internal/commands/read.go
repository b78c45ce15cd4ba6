package commands

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/protocol"
)

func (p *person) newGet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get [NAME...]", ValidArgsFunction: p.completeCronJobs(0), Short: "CronJobs, with the last ten outcomes of each",
		Long: "get lists CronJobs with the last ten outcomes of each, the newest last:\n" + answer.Legend,
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			cronJobs, err := p.chosen(cmd.Context(), cluster, arguments)
			if err != nil {
				return err
			}
			list := listOf(cronJobs)
			objects := any(list)
			if len(arguments) == 1 {
				objects = &list.Items[0]
			}
			return p.write(answer.CronJobs(p.clock(), cronJobs, p.all, p.output == asWide), objects, cronJobNames(cronJobs))
		}),
	}
	p.listFlags(cmd)
	p.tableFlags(cmd)
	return command.House(cmd)
}

func (p *person) newNext() *cobra.Command {
	cmd := &cobra.Command{
		Use: "next [SPAN]", Short: "What will run, as a timeline; the next 24 hours by default",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			span := 24 * time.Hour
			if len(arguments) > 0 {
				var err error
				if span, err = parseSpan(arguments[0]); err != nil {
					return err
				}
			}
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			cronJobs, err := cluster.CronJobs(cmd.Context())
			if err != nil {
				return err
			}
			due := answer.Ahead(cronJobs, p.now(), p.now().Add(span))
			return p.write(answer.Timeline(p.clock(), due, p.all), some(due), dueNames(due))
		}),
	}
	p.listFlags(cmd)
	p.tableFlags(cmd)
	return command.House(cmd)
}

// dueNames are the names of CronJobs that are due.
func dueNames(due []answer.Due) []string {
	var shown []string
	for _, one := range due {
		shown = append(shown, cronJobName(one.Name))
	}
	return shown
}

func (p *person) newRuns() *cobra.Command {
	limit, since := 20, ""
	cmd := &cobra.Command{
		Use: "runs NAME", Short: "The ledger of a CronJob: what ran, and what did not and why",
		Args: cobra.ExactArgs(1), ValidArgsFunction: p.completeCronJobs(1),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			from, err := p.ago(since)
			if err != nil {
				return err
			}
			_, cronJob, err := p.cronJob(cmd.Context(), arguments[0])
			if err != nil {
				return err
			}
			known := p.readHistory(cmd.Context(), cronJob, limit, from, time.Time{})
			rows := slices.DeleteFunc(slices.Clone(known.Rows), func(row ostinatov1.RecentRun) bool { return end(row).Before(from) })
			rows = rows[:min(len(rows), limit)]
			if known.Unseen != "" {
				p.note("%s", known.Unseen)
			}
			table := answer.Runs(p.clock(), answer.Told(p.clock(), cronJob, rows))
			table = table.WithSuspensions(p.clock(), rows, known.Suspensions, known.Whole && len(rows) == len(known.Rows))
			return p.write(table, some(rows), jobs(rows))
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "how many rows to show at most")
	cmd.Flags().StringVar(&since, "since", "", "only rows of the last 12h, 3d, and so on")
	p.tableFlags(cmd)
	return command.House(cmd)
}

// ago is the time a span ago; zero for no span.
func (p *person) ago(span string) (time.Time, error) {
	if span == "" {
		return time.Time{}, nil
	}
	length, err := parseSpan(span)
	return p.now().Add(-length), err
}

// end is the last time of a row.
func end(row ostinatov1.RecentRun) time.Time {
	if row.Until != nil {
		return row.Until.Time
	}
	return row.ScheduledTime.Time
}

// jobs are the names of the rows' Jobs.
func jobs(rows []ostinatov1.RecentRun) []string {
	var shown []string
	for _, row := range rows {
		if row.JobName != "" {
			shown = append(shown, jobName(row.JobName))
		}
	}
	return shown
}

// maxFailed is how many rows of a CronJob are looked through for failures.
const maxFailed = 300

func (p *person) newFailed() *cobra.Command {
	cmd := &cobra.Command{
		Use: "failed [SPAN]", Short: "Runs that failed or could not be created; in the last 12 hours by default",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			span := "12h"
			if len(arguments) > 0 {
				span = arguments[0]
			}
			since, err := p.ago(span)
			if err != nil {
				return err
			}
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			cronJobs, err := cluster.CronJobs(cmd.Context())
			if err != nil {
				return err
			}
			failures := p.readFailures(cmd.Context(), cronJobs, since)
			answer.SortFailures(failures)
			return p.write(answer.FailureTable(p.clock(), failures, p.all), some(failures), failed(failures))
		}),
	}
	p.listFlags(cmd)
	p.tableFlags(cmd)
	return command.House(cmd)
}

// failed are the names of the Jobs that failed.
func failed(failures []answer.Failure) []string {
	var rows []ostinatov1.RecentRun
	for _, failure := range failures {
		rows = append(rows, failure.Run)
	}
	return jobs(rows)
}

func (p *person) newWhy() *cobra.Command {
	cmd := &cobra.Command{
		Use: "why NAME [TIME]", Short: "Whether it ran at a time, and why or why not; the last time by default",
		Long: "why says in one paragraph whether a CronJob ran at a time, why or why not, and what to do next. Its exit code is 1 unless the\n" +
			"answer is yes.",
		Args: cobra.RangeArgs(1, 2), ValidArgsFunction: p.completeCronJobs(1),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			clock := p.clock()
			if err := readable(arguments[1:]...); err != nil {
				return err
			}
			_, cronJob, err := p.cronJob(cmd.Context(), arguments[0])
			if err != nil {
				return err
			}
			at, came := answer.Last(cronJob, clock.Now)
			if len(arguments) > 1 {
				if at, err = parseTime(arguments[1], clock.Now, zone(cronJob, clock.Zone)); err != nil {
					return err
				}
			} else if !came {
				return p.verdict(answer.Nothing(clock, cronJob))
			}
			return p.verdict(answer.Why(clock, cronJob, p.readHistory(cmd.Context(), cronJob, 1, at, at), at))
		}),
	}
	p.outputFlag(cmd, "how the answer is written, in place of a paragraph", asJSON, asYAML)
	return command.House(cmd)
}

// verdict prints whether a CronJob ran. That it did not is exit code 1.
func (p *person) verdict(verdict answer.Verdict) error {
	done, err := p.encode(verdict, nil)
	if !done {
		_, err = fmt.Fprintln(p.out, verdict.Text)
	}
	if err == nil && !verdict.Ran {
		err = command.ErrNo
	}
	return err
}

// zone is that in which a person writes a time of a CronJob: the CronJob's, which its schedule is written in too.
func zone(cronJob *ostinatov1.CronJob, otherwise *time.Location) *time.Location {
	return answer.Clock{Zone: otherwise}.ZoneOf(cronJob)
}

func question(limit int, since, until time.Time) protocol.LedgerQuestion {
	return protocol.LedgerQuestion{Limit: limit, Since: since, Until: until}
}
