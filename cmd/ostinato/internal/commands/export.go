package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/exported"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
)

// exportedEvidence is of how many failed runs of a CronJob, the newest, the evidence is exported: each is a question.
const exportedEvidence = 20

func (p *person) newExport() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use: "export", Short: "What Temporal alone holds of CronJobs: their ledgers, what waits, and evidence of failed runs",
		Long: "export writes what would be lost with Temporal's data, as a file of JSON with one CronJob a line: the whole ledger, triggers and\n" +
			"backfills that wait, and what was kept of the Pods of the last 20 runs that failed. import gives ledgers and what waits back. The\n" +
			"file holds names, notes, and logs of failed Pods.",
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: answering(func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return p.export(cmd.Context(), p.out)
			}
			return whole(file, func(out io.Writer) error { return p.export(cmd.Context(), out) })
		}),
	}
	p.listFlags(cmd)
	cmd.Flags().StringVarP(&file, "output", "o", "", "where the file is written, in place of standard output")
	return command.House(cmd)
}

// errPart says that a file lacks CronJobs. It is good for the others.
var errPart = errors.New("CronJobs are not in the export")

// whole writes a file that is there only when it is whole, or lacks CronJobs that could not be read. What is no file, such as a pipe, is
// written to as it is.
func whole(name string, write func(io.Writer) error) error {
	if found, err := os.Stat(name); err == nil && !found.Mode().IsRegular() {
		pipe, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(pipe), pipe.Close())
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".ostinato-export-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	written := write(file)
	if err := file.Close(); err != nil || written != nil && !errors.Is(written, errPart) {
		return errors.Join(written, err)
	}
	return errors.Join(written, os.Rename(file.Name(), name))
}

func (p *person) export(ctx context.Context, out io.Writer) error {
	cluster, err := p.cluster()
	if err != nil {
		return err
	}
	workflows, err := p.workflows(ctx)
	if err != nil {
		return err
	}
	file, err := exported.NewWriter(out, p.now())
	if err != nil {
		return err
	}
	written, missing, unread := 0, 0, 0
	err = cluster.EachCronJob(ctx, func(cronJob *ostinatov1.CronJob) error {
		one, without, err := exportOf(ctx, workflows, cronJob)
		switch {
		case ask.Unreachable(err):
			return err
		case err != nil:
			p.note("%s/%s is not in the export: %v", cronJob.Namespace, cronJob.Name, err)
			missing++
			return nil
		}
		written, unread = written+1, unread+without
		return file.Add(one)
	})
	if err != nil {
		return err
	}
	p.note("%d CronJobs exported.", written)
	if unread > 0 {
		p.note("The evidence of %d failed runs could not be read: Temporal keeps it no longer, or you may not read logs of Pods.", unread)
	}
	if missing > 0 {
		return fmt.Errorf("%d %w", missing, errPart)
	}
	return nil
}

// exportOf reads what Temporal holds of a CronJob, and how many failed runs have no evidence that can be read.
func exportOf(ctx context.Context, workflows *ask.Workflows, cronJob *ostinatov1.CronJob) (one exported.CronJob, unread int, err error) {
	// What is settled meanwhile is in the ledger, which is read after it.
	description, err := workflows.Describe(ctx, cronJob)
	if err != nil {
		return one, 0, err
	}
	rows, dropped, err := workflows.Rows(ctx, cronJob)
	if err != nil {
		return one, 0, err
	}
	one = exported.CronJob{
		Namespace: cronJob.Namespace, Name: cronJob.Name, UID: string(cronJob.UID),
		Schedule: cronJob.Spec.Schedule, TimeZone: ptr.Deref(cronJob.Spec.TimeZone, ""), Ledger: rows, Dropped: dropped,
		Triggers: description.Triggers, Backfills: description.Backfills, Evidence: map[string][]job.Attempt{},
	}
	asked := 0
	for _, row := range rows {
		if row.Result != ledger.Failed || asked == exportedEvidence {
			continue
		}
		asked++
		kept, err := workflows.Evidence(ctx, ask.JobWorkflow(cronJob, nil, cronJob.Namespace, row.Job))
		switch {
		case ask.Unreachable(err):
			return one, 0, err
		case err != nil:
			unread++
		case len(kept.Attempts) > 0:
			one.Evidence[row.Job] = kept.Attempts
		}
	}
	return one, unread, nil
}
