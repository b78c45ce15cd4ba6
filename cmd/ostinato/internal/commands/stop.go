package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// wantedStop is what a person wants to stop.
type wantedStop struct {
	everything, waiting, dryRun bool
	of                          string
	stop                        job.Stop
}

func (p *person) newStop() *cobra.Command {
	wanted := wantedStop{stop: job.Stop{By: self()}}
	cmd := &cobra.Command{
		Use: "stop [RUN...]", Short: "End runs that are active, or take back those that wait",
		Long: "stop ends runs for good: their Pods are deleted, and their Jobs are Failed with the reason Stopped. A run has the\n" +
			"name of its Job; ostinato tree shows it. It needs your own right to patch Jobs.\n" +
			"With --waiting it takes names of CronJobs, and takes back the triggers and backfills that wait. Active runs go on.",
		ValidArgsFunction: func(cmd *cobra.Command, given []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return p.complete(cmd.Context(), !wanted.waiting, given, prefix), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: answering(func(cmd *cobra.Command, runs []string) error {
			if err := wanted.mistake(p, runs); err != nil {
				return command.Mistake(err)
			}
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			if wanted.waiting {
				return p.takeBack(cmd.Context(), cluster, runs, wanted)
			}
			jobs, err := wanted.jobs(cmd.Context(), cluster, runs)
			if err != nil {
				return err
			}
			return p.stop(cmd.Context(), cluster, jobs, wanted, len(runs) > 0)
		}),
	}
	p.listFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&wanted.everything, "all", false, "all active runs of the namespace, or with -A of all namespaces")
	flags.BoolVar(&wanted.waiting, "waiting", false, "take back what waits of the CronJobs that are named, or of --all or --selector")
	flags.StringVar(&wanted.of, "of", "", "all active runs of this CronJob")
	flags.StringVar(&wanted.stop.Note, "reason", "", "why, as the Job will say")
	flags.StringVar(&wanted.stop.By, "by", wanted.stop.By, "who asks, as the Job will say")
	flags.BoolVar(&wanted.dryRun, "dry-run", false, "say which runs would be stopped, and stop none")
	// The only error is that of a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("of", func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return p.complete(cmd.Context(), false, nil, prefix), cobra.ShellCompDirectiveNoFileComp
	})
	p.outputFlag(cmd, "how the answer is written, in place of a line each", asJSON, asYAML, asName)
	return command.House(cmd)
}

func (w wantedStop) mistake(p *person, runs []string) error {
	named, chosen := len(runs) > 0, w.everything || p.selector != ""
	switch {
	case w.waiting && w.dryRun:
		return errors.New("--dry-run: ostinato runs NAME lists what waits")
	case w.waiting && w.of != "":
		return errors.New("--of: with --waiting name the CronJob itself")
	case !named && !chosen && w.of == "":
		return errors.New("name the runs, choose their Jobs with --selector, or say --of a CronJob or --all")
	case named && (chosen || w.of != ""), w.of != "" && chosen:
		return errors.New("say which runs in one way: by name, with --of, or with --all or --selector")
	case p.all && (named || w.of != ""):
		return errors.New("--all-namespaces: it goes with --all or --selector; name the namespace with --namespace")
	}
	return nil
}

// jobs reads the Jobs that are meant.
func (w wantedStop) jobs(ctx context.Context, cluster *ask.Cluster, runs []string) ([]batchv1.Job, error) {
	switch {
	case len(runs) > 0:
		var found []batchv1.Job
		for _, run := range runs {
			one, err := cluster.Job(ctx, cluster.Namespace, run)
			if err != nil {
				return nil, fmt.Errorf("%w; a run that waits to start has no Job yet", err)
			}
			found = append(found, *one)
		}
		return found, nil
	case w.of != "":
		cronJob, err := cluster.CronJob(ctx, w.of)
		if err != nil {
			return nil, err
		}
		return cluster.JobsOf(ctx, cronJob)
	}
	return cluster.ChosenJobs(ctx)
}

// stopped says what has become of one run.
type stopped struct {
	Namespace string `json:"namespace"`
	Job       string `json:"job"`
	// Stopped is false for one that is left as it was; Why then says why.
	Stopped bool   `json:"stopped"`
	Why     string `json:"why,omitempty"`
}

// stop stops Jobs, and goes on after an error. Those that were not named and can't be stopped are left out. One that
// was named and goes on is a no.
func (p *person) stop(ctx context.Context, cluster *ask.Cluster, jobs []batchv1.Job, wanted wantedStop, named bool) error {
	var done []stopped
	var changed []string
	var failed []error
	refused := false
	for n := range jobs {
		one := stopped{Namespace: jobs[n].Namespace, Job: jobs[n].Name, Why: answer.NotStopped(&jobs[n])}
		switch {
		case one.Why != "" && !named:
			continue
		case one.Why != "":
			refused = true
		default:
			if err := cluster.Stop(ctx, &jobs[n], wanted.stop, wanted.dryRun); err != nil {
				failed = append(failed, err)
				continue
			}
			one.Stopped = true
			changed = append(changed, jobName(one.Job))
		}
		done = append(done, one)
	}
	if written, err := p.encode(some(done), changed); err != nil {
		failed = append(failed, err)
	} else if !written {
		p.tellStopped(done, wanted.dryRun, len(failed) == 0)
	}
	if len(failed) == 0 && refused {
		return command.ErrNo
	}
	return errors.Join(failed...)
}

// tellStopped prints a line for each run.
func (p *person) tellStopped(done []stopped, dryRun, all bool) {
	if all && len(done) == 0 {
		p.note("Nothing found.")
	}
	for _, one := range done {
		line := fmt.Sprintf("%s/%s stopped", one.Namespace, one.Job)
		switch {
		case one.Why != "":
			line = fmt.Sprintf("%s/%s left as it is: %s", one.Namespace, one.Job, one.Why)
		case dryRun:
			line = fmt.Sprintf("%s/%s would be stopped (dry run)", one.Namespace, one.Job)
		}
		fmt.Fprintln(p.out, answer.Printable(line))
	}
}

// takenBack says what was taken back of one CronJob.
type takenBack struct {
	Namespace string `json:"namespace"`
	CronJob   string `json:"cronJob"`
	// Triggers and Times are how many triggers, and times of backfills, had not started.
	Triggers int `json:"triggers"`
	Times    int `json:"times"`
}

// takeBack takes back what waits of CronJobs, and goes on after an error. Of those that were not named it asks the ones
// whose status says that something waits.
func (p *person) takeBack(ctx context.Context, cluster *ask.Cluster, names []string, wanted wantedStop) error {
	cronJobs, err := p.chosen(ctx, cluster, names)
	if err != nil {
		return err
	}
	workflows, err := p.workflows(ctx)
	if err != nil {
		return err
	}
	var done []takenBack
	var changed []string
	var failed []error
	for n := range cronJobs {
		cronJob := &cronJobs[n]
		if len(names) == 0 && cronJob.Status.Queued == 0 {
			continue
		}
		one := takenBack{Namespace: cronJob.Namespace, CronJob: cronJob.Name}
		note := protocol.SignalNote{By: wanted.stop.By, Note: wanted.stop.Note}
		triggers, err := workflows.Trigger(ctx, cronJob, protocol.TriggerRequest{Cancel: true, SignalNote: note})
		if err == nil && triggers.Runs != schedule.RunsNone {
			err = fmt.Errorf("CronJob %s/%s: %s", cronJob.Namespace, cronJob.Name, triggers.Reason)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		one.Triggers = triggers.Cancelled
		backfills, err := workflows.Backfill(ctx, cronJob, schedule.BackfillRequest{Cancel: true, By: note.By, Note: note.Note})
		if err != nil {
			failed = append(failed, err)
		}
		one.Times = backfills.Cancelled
		done = append(done, one)
		changed = append(changed, cronJobName(one.CronJob))
	}
	written, err := p.encode(some(done), changed)
	if err != nil {
		return err
	}
	for _, one := range done {
		if !written {
			fmt.Fprintln(p.out, answer.Printable(fmt.Sprintf("%s/%s: %s", one.Namespace, one.CronJob, answer.TakenBack(one.Triggers+one.Times, "run"))))
		}
	}
	if !written && len(done)+len(failed) == 0 {
		p.note("Nothing found.")
	}
	return errors.Join(failed...)
}
