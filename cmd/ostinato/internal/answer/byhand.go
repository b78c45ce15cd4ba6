package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// Overrides are what a run made by hand has in place of what the template says. They are for the first container.
type Overrides struct {
	Args  []string
	Env   []string
	Image string
}

// Any reports whether something is overridden.
func (o Overrides) Any() bool { return len(o.Args) > 0 || len(o.Env) > 0 || o.Image != "" }

// String says what is overridden, for the annotation that the ledger shows. Values of variables, which may be secret, are not
// in it.
func (o Overrides) String() string {
	var parts []string
	if o.Image != "" {
		parts = append(parts, "image "+o.Image)
	}
	if len(o.Args) > 0 {
		parts = append(parts, "args "+strings.Join(o.Args, " "))
	}
	for _, variable := range o.Env {
		name, _, _ := strings.Cut(variable, "=")
		parts = append(parts, "env "+name)
	}
	return clip.Message(strings.Join(parts, "; "))
}

// Job returns the Job of a run made by hand: the template, as a scheduled run has it, with the overrides. by is a claim.
func Job(cronJob *ostinatov1.CronJob, name string, overrides Overrides, by string, now time.Time) (*batchv1.Job, error) {
	workflow := ""
	if reference := cronJob.Status.Workflow; reference != nil {
		prefix, _, _ := strings.Cut(reference.ID, "cronjob/")
		workflow = reference.Namespace + "/" + prefix + "job/" + cronJob.Namespace + "/" + name
	}
	job := k8s.RenderJob(cronJob, schedule.Start{Name: name, Scheduled: now.Truncate(time.Second), Manual: true}, workflow)
	// As of kubectl create job --from: one that says a time is a run that the CronJob's workflow has made, and the bridge would
	// wait for that workflow to start the Job's.
	delete(job.Annotations, names.ScheduledTimestampAnnotation)
	if by != "" {
		job.Annotations[names.AskedByAnnotation] = clip.Message(by)
	}
	if !overrides.Any() {
		return job, nil
	}
	job.Annotations[names.ChangedAnnotation] = overrides.String()
	containers := job.Spec.Template.Spec.Containers
	if len(containers) == 0 {
		return nil, fmt.Errorf("the template of CronJob %s/%s has no container", cronJob.Namespace, cronJob.Name)
	}
	containers = slices.Clone(containers)
	job.Spec.Template.Spec.Containers = containers
	first := &containers[0]
	if overrides.Image != "" {
		first.Image = overrides.Image
	}
	if len(overrides.Args) > 0 {
		first.Args = overrides.Args
	}
	first.Env = slices.Clone(first.Env)
	for _, variable := range overrides.Env {
		name, value, ok := strings.Cut(variable, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--env: %q; write NAME=value", variable)
		}
		first.Env = slices.DeleteFunc(first.Env, func(known corev1.EnvVar) bool { return known.Name == name })
		first.Env = append(first.Env, corev1.EnvVar{Name: name, Value: value})
	}
	return job, nil
}

// Beside says why a run made by hand may not start beside those that are active; empty where it may.
func Beside(cronJob *ostinatov1.CronJob) string {
	if cronJob.Status.ActiveCount == 0 || len(cronJob.Status.Active) == 0 {
		return ""
	}
	active := cronJob.Status.Active[len(cronJob.Status.Active)-1].Name
	switch cronJob.Spec.ConcurrencyPolicy {
	case batchv1.ForbidConcurrent:
		return fmt.Sprintf("run %s is active and concurrencyPolicy is Forbid: wait for it, or start beside it with --overlap-policy=Allow", active)
	case batchv1.ReplaceConcurrent, ostinatov1.QueueConcurrent:
		return fmt.Sprintf("run %s is active and concurrencyPolicy is %s: say with --overlap-policy=Allow to start beside it, or leave the overrides out and say Replace or Queue",
			active, cronJob.Spec.ConcurrencyPolicy)
	}
	return ""
}

// Backfill says what becomes of a backfill.
func Backfill(clock Clock, done protocol.BackfillAnswer) string {
	verb := "will start"
	if done.DryRun {
		verb = "would start"
	}
	switch done.Runs {
	case 0:
		return "The schedule names no time in that range."
	case 1:
		return fmt.Sprintf("1 run %s, of %s.", verb, clock.Time(done.First))
	}
	return fmt.Sprintf("%d runs %s, from %s to %s.", done.Runs, verb, clock.Time(done.First), clock.Time(done.Last))
}

// Progress says how far a backfill has come.
func Progress(clock Clock, backfill protocol.Backfill) string {
	text := fmt.Sprintf("%d of %d times have started; the next is %s, the last %s", backfill.Total-backfill.Times, backfill.Total,
		clock.Time(backfill.Next), clock.Time(backfill.Last))
	if backfill.Parallelism > 1 {
		text += fmt.Sprintf("; %d at once", backfill.Parallelism)
	}
	if who := ledger.Who(backfill.User, backfill.By); who != "" {
		text += "; asked for by " + who
	}
	if backfill.Note != "" {
		text += ": " + backfill.Note
	}
	if backfill.Refused != "" {
		text += "; the API server refuses the next: " + backfill.Refused
	}
	return text
}

// TakenBack says how many runs that had not started were taken back.
func TakenBack(count int, what string) string {
	switch count {
	case 0:
		return "Nothing waited."
	case 1:
		return fmt.Sprintf("1 %s was taken back.", what)
	}
	first, rest, _ := strings.Cut(what, " ")
	return fmt.Sprintf("%d %s were taken back.", count, strings.TrimSpace(first+"s "+rest))
}
