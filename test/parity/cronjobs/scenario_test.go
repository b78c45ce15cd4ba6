package cronjobs

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/names"
)

// scenario is a CronJob, the Jobs there are when a controller begins, and what happens while it runs.
type scenario struct {
	Name    string           `json:"name"`
	CronJob *batchv1.CronJob `json:"cronJob"`
	Jobs    []batchv1.Job    `json:"jobs"`
	Begin   time.Time        `json:"begin"`
	Steps   []step           `json:"steps"`
	End     time.Time        `json:"end"`
}

// step is what somebody else does.
type step struct {
	At time.Time `json:"at"`
	// Action is appear, vanish or finish, of a Job; edit, of the CronJob; refuse or accept, of creates or deletes by the
	// API server; stop or start, of the controller.
	Action    string                   `json:"action"`
	Job       *batchv1.Job             `json:"job,omitempty"`
	Name      string                   `json:"name,omitempty"`
	Condition batchv1.JobConditionType `json:"condition,omitempty"`
	CronJob   *batchv1.CronJob         `json:"cronJob,omitempty"`
}

const cronJobName, cronJobUID = "hello", "hello-uid"

// at reads a time: RFC 3339, or one of Thursday 2016-05-19, the day of upstream's own tables.
func at(text string) time.Time {
	for _, layout := range []string{time.RFC3339, "15:04:05", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			if layout != time.RFC3339 {
				t = t.AddDate(2016, 4, 18)
			}
			return t.UTC()
		}
	}
	panic("bad time in test: " + text)
}

func timestamp(text string) *metav1.Time { return ptr.To(metav1.NewTime(at(text))) }

// runName is the name of the run of a time.
func runName(text string) string { return names.ScheduledJob(cronJobName, at(text)) }

// option is a part of a scenario.
type option func(*scenario)

// newScenario makes a scenario of an hourly CronJob that was created at 09:30, with the API's defaults.
func newScenario(name string, options ...option) scenario {
	s := scenario{Name: name, CronJob: &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: cronJobName, UID: cronJobUID, Generation: 1,
			CreationTimestamp: *timestamp("09:30"),
		},
		Spec: batchv1.CronJobSpec{
			Schedule:                   "0 * * * *",
			ConcurrencyPolicy:          batchv1.AllowConcurrent,
			Suspend:                    ptr.To(false),
			SuccessfulJobsHistoryLimit: ptr.To[int32](3),
			FailedJobsHistoryLimit:     ptr.To[int32](1),
		},
	}}
	for _, o := range options {
		o(&s)
	}
	return s
}

func between(begin, end string) option {
	return func(s *scenario) { s.Begin, s.End = at(begin), at(end) }
}

func created(text string) option {
	return func(s *scenario) { s.CronJob.CreationTimestamp = *timestamp(text) }
}

// spec changes the spec from the beginning.
func spec(edits ...edit) option {
	return func(s *scenario) {
		for _, e := range edits {
			e(s.CronJob)
		}
	}
}

// edit is a change of the CronJob.
type edit func(*batchv1.CronJob)

func schedule(expression string) edit {
	return func(c *batchv1.CronJob) { c.Spec.Schedule = expression }
}
func zone(name string) edit      { return func(c *batchv1.CronJob) { c.Spec.TimeZone = &name } }
func noZone(c *batchv1.CronJob)  { c.Spec.TimeZone = nil }
func suspend(c *batchv1.CronJob) { c.Spec.Suspend = ptr.To(true) }
func resume(c *batchv1.CronJob)  { c.Spec.Suspend = ptr.To(false) }
func policy(p batchv1.ConcurrencyPolicy) edit {
	return func(c *batchv1.CronJob) { c.Spec.ConcurrencyPolicy = p }
}
func deadline(seconds int64) edit {
	return func(c *batchv1.CronJob) { c.Spec.StartingDeadlineSeconds = &seconds }
}
func limits(successful, failed int32) edit {
	return func(c *batchv1.CronJob) {
		c.Spec.SuccessfulJobsHistoryLimit, c.Spec.FailedJobsHistoryLimit = &successful, &failed
	}
}

// beingDeleted is a CronJob that waits for its Jobs to be deleted first.
func beingDeleted(c *batchv1.CronJob) {
	c.DeletionTimestamp, c.Finalizers = timestamp("09:31"), []string{metav1.FinalizerDeleteDependents}
}

// last says which run was started last.
func last(text string) option {
	return func(s *scenario) { s.CronJob.Status.LastScheduleTime = timestamp(text) }
}

// active lists the run of a time in the status.
func active(text string) option {
	return func(s *scenario) {
		s.CronJob.Status.Active = append(s.CronJob.Status.Active, corev1.ObjectReference{
			APIVersion: "batch/v1", Kind: "Job", Namespace: metav1.NamespaceDefault, Name: runName(text), UID: uidOf(runName(text)),
		})
	}
}

func uidOf(name string) types.UID { return types.UID(name + "-uid") }

// job adds the Job of the run of a time.
func job(text string, options ...jobOption) option {
	return func(s *scenario) {
		one := newJob(runName(text), text)
		one.Annotations = map[string]string{batchv1.CronJobScheduledTimestampAnnotation: at(text).Format(time.RFC3339)}
		for _, o := range options {
			o(&one)
		}
		s.Jobs = append(s.Jobs, one)
	}
}

type jobOption func(*batchv1.Job)

// newJob is a Job that the CronJob controls.
func newJob(name, start string) batchv1.Job {
	owner := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: cronJobName, UID: cronJobUID}}
	return batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, UID: uidOf(name), ResourceVersion: "1", CreationTimestamp: *timestamp(start),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Status: batchv1.JobStatus{StartTime: timestamp(start)},
	}
}

func ended(condition batchv1.JobConditionType, text string) jobOption {
	return func(j *batchv1.Job) { end(j, condition, at(text)) }
}

// end ends a Job as the job controller does.
func end(j *batchv1.Job, condition batchv1.JobConditionType, now time.Time) {
	if j.Status.StartTime == nil {
		j.Status.StartTime = &j.CreationTimestamp
	}
	if condition == batchv1.JobComplete {
		j.Status.CompletionTime = ptr.To(metav1.NewTime(now))
	}
	j.Status.Conditions = []batchv1.JobCondition{{
		Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
	}}
}

func terminating(j *batchv1.Job) {
	j.DeletionTimestamp, j.Finalizers = timestamp("09:59"), []string{metav1.FinalizerDeleteDependents}
}

func ofAnother(j *batchv1.Job) {
	j.OwnerReferences[0].Name, j.OwnerReferences[0].UID = "other", "other-uid"
}

func (s *scenario) add(text string, one step) {
	one.At = at(text)
	s.Steps = append(s.Steps, one)
}

// finish ends the run of a scheduled time.
func finish(text, scheduled string, condition batchv1.JobConditionType) option {
	return finishJob(text, runName(scheduled), condition)
}

func finishJob(text, name string, condition batchv1.JobConditionType) option {
	return func(s *scenario) { s.add(text, step{Action: "finish", Name: name, Condition: condition}) }
}

// vanish deletes the Job of a scheduled time.
func vanish(text, scheduled string) option {
	return func(s *scenario) { s.add(text, step{Action: "vanish", Name: runName(scheduled)}) }
}

// appear starts a Job by hand, as kubectl create job --from does.
func appear(text, name string) option {
	return func(s *scenario) {
		one := newJob(name, text)
		one.Annotations = map[string]string{names.InstantiateAnnotation: "manual"}
		s.add(text, step{Action: "appear", Job: &one})
	}
}

// edited changes the CronJob while the controller runs.
func edited(text string, edits ...edit) option {
	return func(s *scenario) {
		latest := s.CronJob
		for _, one := range s.Steps {
			if one.CronJob != nil {
				latest = one.CronJob
			}
		}
		latest = latest.DeepCopy()
		for _, e := range edits {
			e(latest)
		}
		s.add(text, step{Action: "edit", CronJob: latest})
	}
}

// does is a step without an object: stop, start, refuse create, accept create, refuse delete, accept delete.
func does(text, action string) option {
	return func(s *scenario) { s.add(text, step{Action: action}) }
}

// title joins the words of a name.
func title(words ...any) string {
	text := ""
	for _, word := range words {
		if one := fmt.Sprint(word); one != "" {
			if text != "" {
				text += ", "
			}
			text += one
		}
	}
	return text
}
