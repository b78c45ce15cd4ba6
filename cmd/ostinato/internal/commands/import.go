package commands

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/exported"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

func (p *person) newImport() *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Give ledgers back what export wrote, and ask again for what waited",
		Long: "import reads a file of export (- for standard input) after Temporal's data was lost. It gives each ledger the rows that it lacks,\n" +
			"marked as imported, and asks again for triggers and backfills that waited, unless they have run. Importing a file again changes\n" +
			"nothing. A CronJob that is gone, or is another object now, is skipped. With a door before Temporal, it is for its administrators.",
		Args: cobra.ExactArgs(1),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			in := cmd.InOrStdin()
			if arguments[0] != "-" {
				file, err := os.Open(arguments[0])
				if err != nil {
					return err
				}
				defer file.Close()
				in = file
			}
			return p.importAll(cmd.Context(), in, dryRun)
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be given back, and give nothing back")
	return command.House(cmd)
}

// importer gives back one CronJob after the other.
type importer struct {
	*person
	cluster   *ask.Cluster
	workflows *ask.Workflows
	file      *exported.Reader
	dryRun    bool
	// failed counts CronJobs for which not all was done.
	failed int
}

func (p *person) importAll(ctx context.Context, in io.Reader, dryRun bool) error {
	file, err := exported.NewReader(in)
	if err != nil {
		return err
	}
	cluster, err := p.cluster()
	if err != nil {
		return err
	}
	workflows, err := p.workflows(ctx)
	if err != nil {
		return err
	}
	i := importer{p, cluster, workflows, file, dryRun, 0}
	for {
		one, err := file.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = i.one(ctx, one)
		}
		if err != nil {
			return err
		}
	}
	if i.failed > 0 {
		return fmt.Errorf("%d CronJobs could not be given back all that the file has", i.failed)
	}
	return nil
}

// one gives back a line. Its error is one after which no other would fare better.
func (i *importer) one(ctx context.Context, one exported.CronJob) error {
	of := *i.cluster
	of.Namespace = one.Namespace
	cronJob, err := of.CronJob(ctx, one.Name)
	switch {
	case apierrors.IsNotFound(err):
		i.say(one, "skipped: there is no such CronJob")
		return nil
	case err == nil && string(cronJob.UID) != one.UID:
		i.say(one, "skipped: it is another object, made at %s", cronJob.CreationTimestamp.UTC().Format("2006-01-02 15:04:05"))
		return nil
	case err == nil:
		err = i.rows(ctx, one, cronJob)
	}
	if err == nil && len(one.Triggers)+len(one.Backfills) > 0 {
		err = i.waiting(ctx, &of, one, cronJob)
	}
	if err != nil && !ask.Unreachable(err) {
		i.failed++
		i.say(one, "failed: %v", err)
		return nil
	}
	return err
}

func (i *importer) say(one exported.CronJob, format string, arguments ...any) {
	fmt.Fprintln(i.out, answer.Printable(fmt.Sprintf("%s/%s: ", one.Namespace, one.Name)+fmt.Sprintf(format, arguments...)))
}

// rows gives the ledger its rows back. It sends a message also where there are none: who may not send it may not ask for what waited.
func (i *importer) rows(ctx context.Context, one exported.CronJob, cronJob *ostinatov1.CronJob) error {
	rows := slices.DeleteFunc(slices.Clone(one.Ledger), func(row ledger.Entry) bool { return row.Outcome == ledger.Queued })
	var sum protocol.RestoreLedgerAnswer
	for first := true; first || len(rows) > 0; first = false {
		some := rows[:min(len(rows), protocol.MaxRestoredRows)]
		rows = rows[len(some):]
		answered, err := i.workflows.RestoreLedger(ctx, cronJob, some, i.dryRun)
		if err != nil {
			return err
		}
		sum.Imported, sum.Known, sum.NoRoom = sum.Imported+answered.Imported, sum.Known+answered.Known, sum.NoRoom+answered.NoRoom
		if answered.Refused > 0 {
			sum.Refused, sum.Why = sum.Refused+answered.Refused, answered.Why
		}
	}
	done := "given back"
	if i.dryRun {
		done = "would be given back"
	}
	text := fmt.Sprintf("%d rows %s, %d are there", sum.Imported, done, sum.Known)
	if sum.NoRoom > 0 {
		text += fmt.Sprintf(", %d are older than the ledger keeps", sum.NoRoom)
	}
	if sum.Refused > 0 {
		text += fmt.Sprintf(", %d refused: %s", sum.Refused, sum.Why)
	}
	i.say(one, "%s", text)
	return nil
}

// waiting asks again for what waited.
func (i *importer) waiting(ctx context.Context, cluster *ask.Cluster, one exported.CronJob, cronJob *ostinatov1.CronJob) error {
	known := exported.Known{Object: cronJob}
	var err error
	if known.Description, err = i.workflows.Describe(ctx, cronJob); err != nil {
		return err
	}
	if known.Rows, known.Dropped, err = i.workflows.Rows(ctx, cronJob); err != nil {
		return err
	}
	if known.Jobs, err = cluster.JobsOf(ctx, cronJob); err != nil {
		return err
	}
	requests, left := one.Waiting(known)
	for _, waited := range left {
		i.say(one, "%s %s", waited.What, waited.Why)
	}
	for _, request := range requests {
		if i.dryRun {
			i.say(one, "%s would be asked for again", request.What)
			continue
		}
		said, err := i.again(ctx, cronJob, request)
		if err != nil {
			return fmt.Errorf("%s: %w", request.What, err)
		}
		i.say(one, "%s %s", request.What, said)
	}
	return nil
}

// again asks for a run or runs, and has the ledger say so, by which another import knows.
func (i *importer) again(ctx context.Context, cronJob *ostinatov1.CronJob, request exported.Request) (said string, err error) {
	if request.Trigger != nil {
		var answered protocol.TriggerAnswer
		err = i.workflows.Update(ctx, cronJob, request.ID, protocol.TriggerUpdate, request.Trigger, &answered)
		if err == nil && answered.Runs != schedule.RunsNow && answered.Runs != schedule.RunsQueued {
			return "was asked for again and refused: " + answered.Reason, nil
		}
		said = "is asked for again: Job " + answered.Job
	} else {
		var answered protocol.BackfillAnswer
		err = i.workflows.Update(ctx, cronJob, request.ID, protocol.BackfillUpdate, request.Backfill, &answered)
		said = fmt.Sprintf("is asked for again: %d runs", answered.Runs)
	}
	if err != nil {
		return "", err
	}
	noted, err := i.workflows.RestoreLedger(ctx, cronJob, []ledger.Entry{request.Asked}, false)
	if err == nil && noted.Refused+noted.NoRoom > 0 {
		err = fmt.Errorf("the ledger does not take the row: %s", noted.Why)
	}
	if err != nil {
		return "", fmt.Errorf("%s; but it could not be noted, so do not import the file again: %w", said, err)
	}
	return said, nil
}
