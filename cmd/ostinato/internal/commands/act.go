package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

func (p *person) newSuspend() *cobra.Command {
	return p.newSteer(steering.Suspend, "Stop scheduled runs of CronJobs")
}

func (p *person) newResume() *cobra.Command {
	return p.newSteer(steering.Resume, "Let scheduled runs of CronJobs start again")
}

// newSteer returns suspend or resume, which need the person's own right to patch CronJobs.
func (p *person) newSteer(name, short string) *cobra.Command {
	var everything bool
	by, why := self(), ""
	suspend := name == steering.Suspend
	cmd := &cobra.Command{
		Use: name + " [NAME...]", Short: short,
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			if len(arguments) == 0 && p.selector == "" && !everything {
				return errors.New("name the CronJobs, choose them with --selector, or say --all")
			}
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			cronJobs, err := cluster.CronJobs(cmd.Context(), arguments...)
			if err != nil {
				return err
			}
			wanted := ask.Suspension{Suspend: suspend, By: by, Why: why, At: p.now()}
			return p.each(cronJobs, func(cronJob *ostinatov1.CronJob) error {
				return p.steer(cmd.Context(), cluster, cronJob, wanted, len(arguments) > 0)
			})
		}),
	}
	p.listFlags(cmd)
	cmd.Flags().BoolVar(&everything, "all", false, "all CronJobs of the namespace, or with -A of all namespaces")
	cmd.Flags().StringVar(&by, "by", by, "who asks, as the object will say")
	if suspend {
		cmd.Flags().StringVar(&why, "reason", "", "why, as the object will say")
	} else {
		cmd.Flags().StringVar(&why, "reason", "", "take back only suspensions that --by made for this reason")
	}
	return command.House(cmd)
}

// each does something with every CronJob, and goes on after an error.
func (p *person) each(cronJobs []ostinatov1.CronJob, do func(*ostinatov1.CronJob) error) error {
	var failed []error
	for n := range cronJobs {
		if err := do(&cronJobs[n]); err != nil {
			failed = append(failed, err)
		}
	}
	if len(cronJobs) == 0 {
		p.note("Nothing found.")
	}
	return errors.Join(failed...)
}

// steer suspends or resumes one CronJob. One that was not named, and that somebody else has suspended, stays suspended.
func (p *person) steer(ctx context.Context, cluster *ask.Cluster, cronJob *ostinatov1.CronJob, wanted ask.Suspension, named bool) error {
	id := cronJob.Namespace + "/" + cronJob.Name
	if ptr.Deref(cronJob.Spec.Suspend, false) == wanted.Suspend {
		fmt.Fprintf(p.out, "%s unchanged: it is %s already\n", id, state(wanted.Suspend))
		return nil
	}
	if refused := answer.NotTakenBack(cronJob, wanted.By, wanted.Why, named); !wanted.Suspend && refused != "" {
		fmt.Fprintf(p.out, "%s left suspended: %s\n", id, answer.Printable(refused))
		return nil
	}
	if err := cluster.Suspend(ctx, cronJob, wanted); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s %s\n", id, state(wanted.Suspend))
	return nil
}

func state(suspended bool) string {
	if suspended {
		return "suspended"
	}
	return "resumed"
}

func (p *person) newRun() *cobra.Command {
	var overrides answer.Overrides
	var wait, dryRun bool
	by, note, overlap := self(), "", ""
	cmd := &cobra.Command{
		Use: "run NAME [-- ARGS...]", Short: "Start a run now, as the template says or with other arguments",
		Long: "run starts a run now. Without overrides the CronJob's workflow starts it, by the concurrency policy or by --overlap-policy.\n" +
			"With overrides (arguments behind --, --env, --image) you create a Job of the CronJob with your own rights; the ledger\n" +
			"shows who did and what was changed.",
		Args: cobra.MinimumNArgs(1),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			if dash := cmd.ArgsLenAtDash(); len(arguments) > 1 && dash != 1 {
				return errors.New("write the arguments of the container behind --")
			}
			overrides.Args = arguments[1:]
			if note != "" && overrides.Any() {
				return errors.New("--note: a run with overrides is a Job of your own, and the ledger shows who made it and what was changed: leave the note out")
			}
			cluster, cronJob, err := p.cronJob(cmd.Context(), arguments[0])
			if err != nil {
				return err
			}
			name := ""
			if overrides.Any() || dryRun {
				name, err = p.create(cmd.Context(), cluster, cronJob, overrides, by, overlap, dryRun)
			} else {
				name, err = p.trigger(cmd.Context(), cronJob, protocol.TriggerRequest{
					SignalNote: protocol.SignalNote{Note: note, By: by}, Overlap: batchv1.ConcurrencyPolicy(overlap),
				})
			}
			if err != nil || name == "" || dryRun || !wait {
				return err
			}
			return p.wait(cmd.Context(), cluster, cronJob.Namespace, name)
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&overrides.Env, "env", nil, "NAME=value of the first container; repeat for more")
	flags.StringVar(&overrides.Image, "image", "", "image of the first container")
	flags.StringVar(&overlap, "overlap-policy", "", "Allow, Forbid, Replace or Queue, in place of the CronJob's concurrencyPolicy")
	flags.BoolVar(&wait, "wait", false, "wait for the end of the run; its failure is exit code 1")
	flags.BoolVar(&dryRun, "dry-run", false, "ask the API server whether it would take the Job, and create none")
	flags.StringVar(&by, "by", by, "who asks, as the ledger will say")
	flags.StringVar(&note, "note", "", "why, as the ledger will say")
	return command.House(cmd)
}

// trigger has the workflow start a run; name is empty where there is no Job yet.
func (p *person) trigger(ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.TriggerRequest) (name string, err error) {
	workflows, err := p.workflows()
	if err != nil {
		return "", err
	}
	started, err := workflows.Trigger(ctx, cronJob, request)
	if err != nil {
		return "", err
	}
	switch started.Runs {
	case schedule.RunsNow:
		fmt.Fprintf(p.out, "job.batch/%s created\n", answer.Printable(started.Job))
		return started.Job, nil
	case schedule.RunsQueued:
		fmt.Fprintf(p.out, "The run waits: %s\n", answer.Printable(started.Reason))
		return "", nil
	}
	return "", fmt.Errorf("CronJob %s/%s: the run was refused: %s", cronJob.Namespace, cronJob.Name, started.Reason)
}

// create makes a Job of the CronJob with the person's own rights.
func (p *person) create(
	ctx context.Context, cluster *ask.Cluster, cronJob *ostinatov1.CronJob, overrides answer.Overrides, by, overlap string, dryRun bool,
) (string, error) {
	switch batchv1.ConcurrencyPolicy(overlap) {
	case "":
		if refused := answer.Beside(cronJob); refused != "" {
			return "", fmt.Errorf("CronJob %s/%s: %s", cronJob.Namespace, cronJob.Name, refused)
		}
	case batchv1.AllowConcurrent:
	default:
		return "", fmt.Errorf("--overlap-policy=%s: a run with overrides starts at once; only Allow goes with it", overlap)
	}
	job, err := answer.Job(cronJob, fmt.Sprintf("%s-%s", cronJob.Name, rand.String(5)), overrides, by, p.now())
	if err != nil {
		return "", err
	}
	created, err := cluster.CreateJob(ctx, job, dryRun)
	if err != nil {
		return "", err
	}
	if dryRun {
		fmt.Fprintf(p.out, "job.batch/%s would be created (dry run)\n", created.Name)
	} else {
		fmt.Fprintf(p.out, "job.batch/%s created\n", created.Name)
	}
	return created.Name, nil
}

// waitEvery is how often wait looks at the Job.
const waitEvery = time.Second

// wait waits for the end of a Job.
func (p *person) wait(ctx context.Context, cluster *ask.Cluster, namespace, name string) error {
	ticker := time.NewTicker(waitEvery)
	defer ticker.Stop()
	for {
		job, err := cluster.Job(ctx, namespace, name)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("job %s/%s was deleted before its end was seen", namespace, name)
		case err != nil:
			return err
		}
		for _, condition := range job.Status.Conditions {
			switch {
			case condition.Status != "True":
			case condition.Type == batchv1.JobComplete:
				fmt.Fprintf(p.out, "job.batch/%s complete\n", name)
				return nil
			case condition.Type == batchv1.JobFailed:
				return fmt.Errorf("job %s/%s failed: %s: %s", namespace, name, condition.Reason, answer.Printable(condition.Message))
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func (p *person) newBackfill() *cobra.Command {
	request := schedule.BackfillRequest{By: self()}
	overlap := ""
	cmd := &cobra.Command{
		Use: "backfill NAME FROM [TO]", Short: "Run the times of the schedule in a range of the past, both ends included",
		Args: cobra.RangeArgs(2, 3),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
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
			request.Overlap = batchv1.ConcurrencyPolicy(overlap)
			workflows, err := p.workflows()
			if err != nil {
				return err
			}
			done, err := workflows.Backfill(cmd.Context(), cronJob, request)
			if err != nil {
				return err
			}
			fmt.Fprintln(p.out, answer.Backfill(clock, done))
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&request.DryRun, "dry-run", false, "say which runs there would be, and start none")
	flags.StringVar(&overlap, "overlap-policy", "", "Allow, Forbid, Replace or Queue, in place of the CronJob's concurrencyPolicy")
	flags.StringVar(&request.By, "by", request.By, "who asks, as the ledger will say")
	flags.StringVar(&request.Note, "note", "", "why, as the ledger will say")
	return command.House(cmd)
}
