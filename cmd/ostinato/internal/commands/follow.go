package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/ledger"
)

// followed is a run whose end is waited for.
type followed struct {
	*person
	cluster *ask.Cluster
	cronJob *ostinatov1.CronJob
	job     string
	by      string
	logs    bool
	// seen: the Job has been there. That of a run that waits for others is not there yet.
	seen bool
	// shown are the containers whose logs have been printed.
	shown map[string]bool
}

// follow waits for the end of a run, prints its logs where they are wanted, and says how it has ended.
func (p *person) follow(ctx context.Context, cluster *ask.Cluster, cronJob *ostinatov1.CronJob, job string, wanted wantedRun) error {
	run := &followed{person: p, cluster: cluster, cronJob: cronJob, job: job, by: wanted.by, logs: wanted.logs, shown: map[string]bool{}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if wanted.timeout > 0 {
		// With a deadline of the context, the client would give up before, in words of its own.
		over := command.TimedOut(fmt.Errorf("job %s/%s has not ended within %s", cronJob.Namespace, job, wanted.timeout))
		defer time.AfterFunc(wanted.timeout, func() { cancel(over) }).Stop()
	}
	if err := run.toTheEnd(ctx); err == nil || ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

func (f *followed) toTheEnd(ctx context.Context) error {
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	for {
		job, err := f.cluster.Job(ctx, f.cronJob.Namespace, f.job)
		switch {
		case err == nil:
			f.seen = true
		case !apierrors.IsNotFound(err):
			return err
		case f.seen:
			return fmt.Errorf("job %s/%s was deleted before its end was seen", f.cronJob.Namespace, f.job)
		default:
			if err := f.stillWanted(ctx); err != nil {
				return err
			}
		}
		if f.seen && f.logs {
			if err := f.show(ctx); err != nil {
				return err
			}
		}
		if f.seen {
			if ended, err := f.ended(job); ended {
				if f.logs && len(f.shown) == 0 {
					f.note("No Pod of the run was seen while it was there: see ostinato logs job/%s", f.job)
				}
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// stillWanted returns an error where a run that waits for others has been given up: its row, which names no Job, was not in
// the status when the run was asked for.
func (f *followed) stillWanted(ctx context.Context) error {
	cronJob, err := f.cluster.CronJob(ctx, f.cronJob.Name)
	if err != nil {
		return err
	}
	for _, row := range cronJob.Status.RecentRuns {
		same := func(known ostinatov1.RecentRun) bool {
			return known.Manual && known.ScheduledTime.Equal(&row.ScheduledTime)
		}
		if givenUp := row.Manual && row.JobName == "" && ledger.Outcome(row.Outcome) != ledger.Queued; givenUp &&
			row.By == f.by && row.Through == ledger.ThroughUpdate && !slices.ContainsFunc(f.cronJob.Status.RecentRuns, same) {
			return fmt.Errorf("the run was given up: %s", strings.Join([]string{row.Outcome, row.Reason, row.Message}, " "))
		}
	}
	return nil
}

// ended reports whether the Job has ended, and says how. A failure is an error.
func (f *followed) ended(job *batchv1.Job) (bool, error) {
	switch condition := claim.Finished(job); {
	case condition == nil:
		return false, nil
	case condition.Type == batchv1.JobFailed:
		return true, fmt.Errorf("job %s/%s failed: %s: %s", job.Namespace, f.job, condition.Reason, condition.Message)
	case f.output == "":
		fmt.Fprintf(f.out, "job.batch/%s complete\n", answer.Printable(f.job))
	}
	return true, nil
}

// show prints the logs of the containers that have begun since it was called last, each to its end.
func (f *followed) show(ctx context.Context) error {
	pods, err := f.cluster.Pods(ctx, f.cronJob.Namespace, f.job)
	if err != nil {
		return err
	}
	for n := range pods {
		for _, container := range pods[n].Status.ContainerStatuses {
			key := pods[n].Name + " " + container.Name
			if f.shown[key] || container.State.Running == nil && container.State.Terminated == nil {
				continue
			}
			f.shown[key] = true
			fmt.Fprintf(f.out, "==> %s <==\n", answer.Printable(key))
			f.print(ctx, &pods[n], container)
		}
	}
	return nil
}

// print prints the log of a container, as long as it runs. What can't be read is a note.
func (f *followed) print(ctx context.Context, pod *corev1.Pod, container corev1.ContainerStatus) {
	following, stop := context.WithCancel(ctx)
	defer stop()
	runs := container.State.Terminated == nil
	if runs {
		go f.stopAfterTheEnd(following, stop)
	}
	if err := f.log(following, f.cluster, pod, container.Name, runs); err != nil && following.Err() == nil {
		f.note("%v", err)
	}
}

// lastWords is how long a log may go on after its Job has ended.
const lastWords = 2 * time.Second

// stopAfterTheEnd stops a log when its Job has ended: a simulated node never ends one that is followed, nor does a lost one.
func (f *followed) stopAfterTheEnd(ctx context.Context, stop func()) {
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		job, err := f.cluster.Job(ctx, f.cronJob.Namespace, f.job)
		over = apierrors.IsNotFound(err) || err == nil && claim.Finished(job) != nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(lastWords):
		stop()
	}
}
