package commands

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/command"
)

func (p *person) newLogs() *cobra.Command {
	var run, at string
	var follow bool
	cmd := &cobra.Command{
		Use: "logs NAME|job/NAME", Short: "The logs of a run's Pods, or what was kept of Pods that failed and are gone",
		Args: cobra.ExactArgs(1), ValidArgsFunction: p.completeRuns,
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			if at != "" {
				if err := readable(at); err != nil {
					return err
				}
			}
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			if name, isJob := strings.CutPrefix(arguments[0], "job/"); isJob {
				return p.logs(cmd.Context(), cluster, nil, name, follow)
			}
			cronJob, err := cluster.CronJob(cmd.Context(), arguments[0])
			if err != nil {
				return err
			}
			job, err := p.jobOf(cmd.Context(), cronJob, run, at)
			if err != nil {
				return err
			}
			return p.logs(cmd.Context(), cluster, cronJob, job, follow)
		}),
	}
	cmd.Flags().StringVar(&run, "run", "", "name of the run's Job; the last run by default")
	_ = cmd.RegisterFlagCompletionFunc("run", p.completeJobs) // the only error is that of a flag that is not there
	cmd.Flags().StringVar(&at, "at", "", "time of the run, such as 02:00")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on while the containers run")
	return command.House(cmd)
}

// jobOf is the Job that is asked for.
func (p *person) jobOf(ctx context.Context, cronJob *ostinatov1.CronJob, run, at string) (string, error) {
	if run != "" {
		return run, nil
	}
	clock := p.clock()
	var wanted time.Time
	rows := cronJob.Status.RecentRuns
	if at != "" {
		var err error
		if wanted, err = parseTime(at, clock.Now, zone(cronJob, clock.Zone)); err != nil {
			return "", err
		}
		rows = p.readLedger(ctx, cronJob, 1, wanted, wanted).Rows
	}
	for _, row := range rows {
		if row.JobName != "" && (wanted.IsZero() || row.ScheduledTime.Truncate(time.Second).Equal(wanted)) {
			return row.JobName, nil
		}
	}
	if at == "" {
		return "", fmt.Errorf("CronJob %s/%s has no run that is known; see ostinato why %s", cronJob.Namespace, cronJob.Name, cronJob.Name)
	}
	return "", fmt.Errorf("CronJob %s/%s has no run of %s that is known; see ostinato why %s %q", cronJob.Namespace, cronJob.Name, clock.Time(wanted), cronJob.Name, at)
}

// logs prints what the Pods of a Job have written, how they ended or why they have not started, and what its workflow has kept of Pods
// that are gone. There may be no CronJob.
func (p *person) logs(ctx context.Context, cluster *ask.Cluster, cronJob *ostinatov1.CronJob, job string, follow bool) error {
	pods, err := cluster.Pods(ctx, cluster.Namespace, job)
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return p.evidence(ctx, cluster, cronJob, job)
	}
	for n := range pods {
		sources := answer.LogSources(&pods[n])
		for _, container := range sources {
			if len(pods) > 1 || len(sources) > 1 {
				fmt.Fprintf(p.out, "==> %s %s <==\n", pods[n].Name, container)
			}
			err := p.log(ctx, cluster, &pods[n], container, follow)
			if err != nil && pods[n].Status.Phase == corev1.PodFailed {
				p.note("%v", err)
				return p.evidence(ctx, cluster, cronJob, job)
			}
			if err != nil {
				return err
			}
		}
		fmt.Fprint(p.out, answer.PodEnd(p.clock(), &pods[n]))
	}
	return p.former(ctx, cluster, cronJob, job, pods)
}

// former prints what the Job's workflow has kept of Pods that failed and are gone, if the Job counts more than are left.
func (p *person) former(ctx context.Context, cluster *ask.Cluster, cronJob *ostinatov1.CronJob, name string, pods []corev1.Pod) error {
	job, err := cluster.Job(ctx, cluster.Namespace, name)
	if err != nil || job == nil {
		return nil // The logs of what is there were printed, and the Job is gone or may not be read.
	}
	left := map[string]bool{}
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil {
			left[string(pod.UID)] = true
		}
	}
	if int(job.Status.Failed) <= len(left) {
		return nil
	}
	workflows, err := p.workflows(ctx)
	if err != nil {
		return err
	}
	kept, err := workflows.Evidence(ctx, ask.JobWorkflow(cronJob, job, cluster.Namespace, name))
	if err != nil {
		p.note("Other Pods have failed and are gone, and the workflow could not be asked what it has kept of them: %v", err)
		return nil
	}
	for _, attempt := range kept.Attempts {
		if !left[attempt.UID] {
			fmt.Fprint(p.out, answer.Attempt(p.clock(), attempt))
		}
	}
	return nil
}

func (p *person) log(ctx context.Context, cluster *ask.Cluster, pod *corev1.Pod, container string, follow bool) error {
	stream, err := cluster.Logs(ctx, pod, container, follow)
	if err != nil {
		return err
	}
	defer stream.Close()
	_, err = io.Copy(p.out, stream)
	return err
}

// evidence prints what the Job's workflow has kept of the Pods that failed.
func (p *person) evidence(ctx context.Context, cluster *ask.Cluster, cronJob *ostinatov1.CronJob, name string) error {
	job, err := cluster.Job(ctx, cluster.Namespace, name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	workflows, err := p.workflows(ctx)
	if err != nil {
		return err
	}
	kept, err := workflows.Evidence(ctx, ask.JobWorkflow(cronJob, job, cluster.Namespace, name))
	if err != nil {
		return fmt.Errorf("job %s/%s has no logs of Pods any more, and its workflow could not be asked: %w", cluster.Namespace, name, err)
	}
	p.note("This is what the workflow of Job %s has kept of its Pods that failed or were ended.", name)
	if len(kept.Attempts) == 0 {
		p.note("There is none.")
	}
	for _, attempt := range kept.Attempts {
		fmt.Fprint(p.out, answer.Attempt(p.clock(), attempt))
	}
	return nil
}
