package cronjobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	core "ostinato.dev/ostinato/internal/schedule"
)

// ours is a CronJob under Ostinato: the planner, and of workflow, activities and bridge what carries its plans out. The bridge says
// at once which Jobs have ended, vanished or appeared; in a cluster that may take ten seconds.
type ours struct {
	t       *testing.T
	name    string
	now     time.Time
	state   core.State
	spec    core.Spec
	cronJob *ostinatov1.CronJob
	jobs    []batchv1.Job
	wake    time.Time
	// pause follows a call that has failed, as the workflow's does.
	pause  time.Duration
	down   bool
	refuse map[string]bool
	made   int
	lines  []line
}

// playOurs runs Ostinato through a scenario.
func playOurs(t *testing.T, s scenario) []line {
	o := &ours{t: t, name: s.Name, now: s.Begin, cronJob: k8s.FromNative(s.CronJob), jobs: slices.Clone(s.Jobs), refuse: map[string]bool{}}
	o.spec = core.SpecOf(o.cronJob)
	o.state = core.NewState(core.Identity{
		Namespace: o.cronJob.Namespace, Name: o.cronJob.Name, UID: string(o.cronJob.UID), Created: o.cronJob.CreationTimestamp.Time,
	}, o.cronJob.Status, ledger.Ledger{}, o.finished())
	o.miss()
	o.state = core.RecoverJobs(o.state, o.sightings())
	o.plan()
	o.hear()
	for _, one := range s.Steps {
		o.until(one.At)
		o.act(one)
	}
	o.until(s.End)
	return o.lines
}

// until plans whenever a wake comes.
func (o *ours) until(end time.Time) {
	for !o.down && !o.wake.IsZero() && !o.wake.After(end) {
		o.now = o.wake
		o.plan()
	}
	o.now = end
}

// act does what somebody else does.
func (o *ours) act(s step) {
	switch s.Action {
	case "appear":
		o.jobs = append(o.jobs, *s.Job.DeepCopy())
	case "vanish":
		o.remove(s.Name)
	case "finish":
		found := o.find(s.Name)
		if found == nil {
			o.t.Fatalf("%s: at %s there is no Job %s to finish", o.name, s.At, s.Name)
		}
		end(found, s.Condition, s.At)
	case "edit":
		edited := k8s.FromNative(s.CronJob)
		o.cronJob.Spec, o.cronJob.DeletionTimestamp = edited.Spec, edited.DeletionTimestamp
		o.cronJob.Generation++
	case "stop":
		o.down = true
	case "start":
		o.down = false
	default:
		verb, what, _ := strings.Cut(s.Action, " ")
		o.refuse[what] = verb == "refuse"
		return
	}
	o.hear()
}

// hear takes in what has happened to the CronJob and its Jobs, and plans.
func (o *ours) hear() {
	if o.down {
		return
	}
	if spec := core.SpecOf(o.cronJob); spec.Digest() != o.spec.Digest() {
		o.state = core.SpecChanged(o.state, o.spec, spec, o.now)
		o.state.Reported, o.spec = nil, spec
	}
	o.miss()
	for _, finished := range slices.Clone(o.state.Finished) {
		if o.find(finished.Run.Name) == nil {
			o.state = core.Missing(o.state, finished.Run, o.now)
		}
	}
	for _, sighting := range o.sightings() {
		switch {
		case o.state.Knows(sighting.Run) && sighting.Finished != nil:
			o.state = core.Finish(o.state, o.spec, *sighting.Finished)
		case !o.state.Knows(sighting.Run):
			o.state = core.RecoverJobs(o.state, []core.RecoveredJob{sighting})
		}
	}
	o.plan()
}

// miss takes in which active runs have no Job.
func (o *ours) miss() {
	for _, run := range slices.Clone(o.state.Active) {
		if found := o.find(run.Name); found == nil || string(found.UID) != run.UID {
			o.state = core.Missing(o.state, run, o.now)
		}
	}
}

// plan plans until there is nothing more to do.
func (o *ours) plan() {
	for range 1000 {
		if core.NeedsEvaluation(o.state, o.spec, o.now) {
			o.state = core.Take(o.state, o.spec, core.Evaluate(o.spec, o.state, o.now))
		}
		plan := core.Decide(o.state, o.spec, o.now)
		if plan.Idle() {
			o.state, o.wake = plan.Next, plan.Wake
			return
		}
		if !o.execute(plan) {
			// The call is repeated after a pause.
			o.pause = min(max(2*o.pause, time.Second), time.Minute)
			o.wake = o.now.Add(o.pause)
			return
		}
		o.pause = 0
	}
	o.t.Fatalf("%s: at %s the planner does not come to rest", o.name, o.now)
}

// execute carries a plan out as the activities StartRun and WriteStatus do.
func (o *ours) execute(plan core.Plan) bool {
	var report core.Report
	if plan.Start != nil {
		if why := core.Prescribed(o.cronJob, *plan.Start, o.now); why != "" {
			o.t.Fatalf("%s: at %s the activity refuses %s: %s", o.name, o.now, plan.Start.Name, why)
		}
	}
	for _, wanted := range plan.Deletes {
		deleted, fails := o.delete(wanted)
		if fails {
			return false
		}
		if deleted {
			report.Deleted = append(report.Deleted, wanted.Name)
		}
	}
	if plan.Start != nil {
		report.Started, report.Refusal, report.Message = o.start(*plan.Start)
	}
	if report.Refusal == "" {
		if plan.Judge {
			report.Judgement = &core.Judgement{Generation: o.spec.Generation, At: o.now}
		}
		if plan.Status != nil {
			o.writeStatus(plan, report)
		}
	}
	for _, e := range plan.Events {
		o.say(e)
	}
	o.state = core.Apply(plan, report, o.now)
	return true
}

// delete deletes a Job; it fails where a Job that is to be replaced stays.
func (o *ours) delete(wanted core.Delete) (gone, fails bool) {
	found := o.find(wanted.Name)
	if found == nil || string(found.UID) != wanted.UID {
		return true, false
	}
	why := ""
	if claim.Finished(found) == nil {
		why = core.Replaceable(o.cronJob, nil)
	}
	if why != "" {
		o.t.Fatalf("%s: at %s the activity does not delete %s: %s", o.name, o.now, wanted.Name, why)
	}
	if o.refuse["delete"] {
		o.say(event.Warning("FailedDelete", fmt.Sprintf("Deleted job: %v", refusal(wanted.Name))))
		return false, wanted.Replaced
	}
	o.write("delete %s", wanted.Name)
	o.remove(wanted.Name)
	o.say(event.Normal("SuccessfulDelete", "Deleted job "+wanted.Name))
	return true, false
}

// start creates the run's Job, or finds it.
func (o *ours) start(start core.Start) (started *core.Run, refused, message string) {
	found := o.find(start.Name)
	switch {
	case o.refuse["create"]:
		err := refusal(start.Name)
		o.say(event.Warning("FailedCreate", fmt.Sprintf("Error creating job: %v", err)))
		return nil, "Forbidden", err.Error()
	case found != nil && !claim.OfCronJob(found, o.cronJob.Name, o.cronJob.UID):
		message := fmt.Sprintf("Job %q exists and is not controlled by CronJob %q", start.Name, o.cronJob.Name)
		o.say(event.Warning("FailedCreate", "Error creating job: "+message))
		return nil, "ForeignObject", message
	case found == nil:
		o.made++
		rendered := k8s.RenderJob(o.cronJob, start, "")
		rendered.UID, rendered.CreationTimestamp = types.UID(fmt.Sprintf("made-%d", o.made)), metav1.NewTime(o.now.Truncate(time.Second))
		o.write("create %s for %s", start.Name, rendered.Annotations[names.ScheduledTimestampAnnotation])
		o.jobs = append(o.jobs, *rendered)
		found = &o.jobs[len(o.jobs)-1]
		o.say(event.Normal("SuccessfulCreate", "Created job "+start.Name))
	}
	run := runOf(o.cronJob, found)
	run.Scheduled, run.Manual = start.Scheduled, start.Manual
	return &run, "", ""
}

func (o *ours) writeStatus(plan core.Plan, report core.Report) {
	status := *plan.Status
	if report.Started != nil {
		status = core.StatusStarted(status, *report.Started, o.cronJob.Namespace)
		status = core.StatusRecorded(status, *plan.Start, *report.Started)
	}
	o.cronJob.Status = status
	o.write("%s", statusLine(status.Active, status.LastScheduleTime, status.LastSuccessfulTime))
}

func (o *ours) write(format string, arguments ...any) {
	o.lines = append(o.lines, line{At: o.now, Text: fmt.Sprintf(format, arguments...)})
}

func (o *ours) say(e event.Event) { o.write("event %s %s %s", e.Type, e.Reason, e.Message) }

func (o *ours) find(name string) *batchv1.Job {
	index := slices.IndexFunc(o.jobs, func(one batchv1.Job) bool { return one.Name == name })
	if index < 0 {
		return nil
	}
	return &o.jobs[index]
}

func (o *ours) remove(name string) {
	o.jobs = slices.DeleteFunc(o.jobs, func(one batchv1.Job) bool { return one.Name == name })
}

// sightings are the Jobs that the CronJob controls.
func (o *ours) sightings() []core.RecoveredJob {
	var all []core.RecoveredJob
	for i := range o.jobs {
		if one := &o.jobs[i]; claim.OfCronJob(one, o.cronJob.Name, o.cronJob.UID) {
			all = append(all, core.RecoveredJob{Run: runOf(o.cronJob, one), Finished: finishedOf(o.cronJob, one)})
		}
	}
	return all
}

// finished are the finished ones among them.
func (o *ours) finished() []core.Finished {
	var all []core.Finished
	for _, sighting := range o.sightings() {
		if sighting.Finished != nil {
			all = append(all, *sighting.Finished)
		}
	}
	return all
}

// runOf is the run that a Job says to be, as the activity reads it.
func runOf(cronJob *ostinatov1.CronJob, one *batchv1.Job) core.Run {
	run := core.Run{Name: one.Name, UID: string(one.UID), Started: one.CreationTimestamp.UTC(), Scheduled: k8s.ScheduledTime(one)}
	_, byHand := one.Annotations[names.InstantiateAnnotation]
	run.Manual = byHand || run.Scheduled.IsZero() || names.ScheduledJob(cronJob.Name, run.Scheduled) != one.Name
	if run.Scheduled.IsZero() {
		run.Scheduled = run.Started
	}
	return run
}

func finishedOf(cronJob *ostinatov1.CronJob, one *batchv1.Job) *core.Finished {
	condition := claim.Finished(one)
	if condition == nil {
		return nil
	}
	finished := &core.Finished{Run: runOf(cronJob, one), Condition: condition.Type, EndTime: condition.LastTransitionTime.UTC()}
	if one.Status.StartTime != nil {
		finished.StartTime = one.Status.StartTime.UTC()
	}
	if one.Status.CompletionTime != nil {
		finished.CompletionTime = one.Status.CompletionTime.UTC()
	}
	return finished
}

func refusal(name string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, name, errors.New("by policy"))
}

// statusLine is how both sides write what is compared of a status.
func statusLine(active []corev1.ObjectReference, scheduled, successful *metav1.Time) string {
	var jobs []string
	for _, reference := range active {
		jobs = append(jobs, reference.Name)
	}
	return fmt.Sprintf("status active [%s] last %s successful %s", strings.Join(jobs, " "), instant(scheduled), instant(successful))
}

func instant(t *metav1.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
