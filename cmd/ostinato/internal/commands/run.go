package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// wantedRun is a run that a person asks for.
type wantedRun struct {
	overrides          answer.Overrides
	overlap            batchv1.ConcurrencyPolicy
	by, note           string
	dryRun, wait, logs bool
	timeout            time.Duration
}

func (p *person) newRun() *cobra.Command {
	wanted := wantedRun{by: self()}
	cmd := &cobra.Command{
		Use: "run NAME [-- ARGS...]", Short: "Start a run now, as the template says or with other arguments",
		Long: "run starts a run now. Without overrides the CronJob's workflow starts it, by the concurrency policy or by --overlap-policy.\n" +
			"With overrides (arguments behind --, --env, --image) you create a Job of the CronJob with your own rights; the ledger\n" +
			"shows who did and what was changed.",
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: p.completeCronJobs(1),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			if dash := cmd.ArgsLenAtDash(); len(arguments) > 1 && dash != 1 {
				return command.Mistake(errors.New("write the arguments of the container behind --"))
			}
			wanted.overrides.Args = arguments[1:]
			if err := wanted.mistake(); err != nil {
				return command.Mistake(err)
			}
			cluster, cronJob, err := p.cronJob(cmd.Context(), arguments[0])
			if err != nil {
				return err
			}
			name, err := p.start(cmd.Context(), cluster, cronJob, wanted)
			if err != nil || wanted.dryRun || !wanted.wait && !wanted.logs {
				return err
			}
			return p.follow(cmd.Context(), cluster, cronJob, name, wanted)
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&wanted.overrides.Env, "env", nil, "NAME=value of the first container; repeat for more")
	flags.StringVar(&wanted.overrides.Image, "image", "", "image of the first container")
	overlapFlag(cmd, &wanted.overlap)
	flags.BoolVar(&wanted.wait, "wait", false, "wait for the end of the run; its failure is exit code 1")
	flags.BoolVar(&wanted.logs, "logs", false, "print the logs of the run's Pods until it ends; its failure is exit code 1")
	flags.DurationVar(&wanted.timeout, "timeout", 0, "the longest that --wait or --logs waits; exit code 124 when that is over")
	flags.BoolVar(&wanted.dryRun, "dry-run", false, "ask the API server whether it would take the Job, and create none")
	flags.StringVar(&wanted.by, "by", wanted.by, "who asks, as the ledger will say")
	flags.StringVar(&wanted.note, "note", "", "why, as the ledger will say")
	p.outputFlag(cmd, "how the answer is written, in place of a line", asJSON, asYAML, asName)
	return command.House(cmd)
}

// mistake says which flags do not go together; nil where all do.
func (w wantedRun) mistake() error {
	switch {
	case w.note != "" && w.overrides.Any():
		return errors.New("--note: a run with overrides is a Job of your own, and the ledger shows who made it and what was changed: leave the note out")
	case w.overrides.Any() && w.overlap != "" && w.overlap != batchv1.AllowConcurrent:
		return fmt.Errorf("--overlap-policy=%s: a run with overrides starts at once; only Allow goes with it", w.overlap)
	case w.timeout < 0:
		return errors.New("--timeout: set it to more than 0")
	case w.timeout > 0 && !w.wait && !w.logs:
		return errors.New("--timeout: it goes with --wait or --logs")
	case w.dryRun && (w.wait || w.logs):
		return errors.New("--dry-run: nothing starts, so there is nothing to wait for; leave --wait and --logs out")
	}
	return nil
}

// start starts the run, or asks whether it would, and returns the name that its Job has or will have.
func (p *person) start(ctx context.Context, cluster *ask.Cluster, cronJob *ostinatov1.CronJob, wanted wantedRun) (string, error) {
	started, err := protocol.TriggerAnswer{Runs: schedule.RunsNow}, error(nil)
	if wanted.overrides.Any() || wanted.dryRun {
		started.Job, err = p.create(ctx, cluster, cronJob, wanted)
	} else {
		started, err = p.trigger(ctx, cronJob, wanted)
	}
	if err != nil {
		return "", err
	}
	if done, err := p.encode(started, []string{jobName(started.Job)}); done {
		return started.Job, err
	}
	switch {
	case wanted.dryRun:
		fmt.Fprintf(p.out, "job.batch/%s would be created (dry run)\n", answer.Printable(started.Job))
	case started.Runs == schedule.RunsQueued:
		fmt.Fprintf(p.out, "The run waits: %s\n", answer.Printable(started.Reason))
	default:
		fmt.Fprintf(p.out, "job.batch/%s created\n", answer.Printable(started.Job))
	}
	return started.Job, nil
}

// trigger has the workflow start a run.
func (p *person) trigger(ctx context.Context, cronJob *ostinatov1.CronJob, wanted wantedRun) (started protocol.TriggerAnswer, err error) {
	workflows, err := p.workflows(ctx)
	if err != nil {
		return started, err
	}
	started, err = workflows.Trigger(ctx, cronJob, protocol.TriggerRequest{
		SignalNote: protocol.SignalNote{Note: wanted.note, By: wanted.by}, Overlap: wanted.overlap,
	})
	if err == nil && started.Runs != schedule.RunsNow && started.Runs != schedule.RunsQueued {
		err = fmt.Errorf("CronJob %s/%s: the run was refused: %s", cronJob.Namespace, cronJob.Name, cmp.Or(started.Reason, "no reason was given"))
	}
	return started, err
}

// create makes a Job of the CronJob with the person's own rights.
func (p *person) create(ctx context.Context, cluster *ask.Cluster, cronJob *ostinatov1.CronJob, wanted wantedRun) (string, error) {
	if refused := answer.Beside(cronJob); refused != "" && wanted.overlap == "" {
		return "", fmt.Errorf("CronJob %s/%s: %s", cronJob.Namespace, cronJob.Name, refused)
	}
	job, err := answer.Job(cronJob, fmt.Sprintf("%s-%s", cronJob.Name, rand.String(5)), wanted.overrides, wanted.by, p.now())
	if err != nil {
		return "", err
	}
	created, err := cluster.CreateJob(ctx, job, wanted.dryRun)
	if err != nil {
		return "", err
	}
	return created.Name, nil
}
