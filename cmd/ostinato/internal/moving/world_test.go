package moving_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/moving"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// world is a cluster with one minutely CronJob, second by second: the built-in controller and Ostinato start its runs, each by
// its own rules.
type world struct {
	now    time.Time
	native *batchv1.CronJob
	ours   *ostinatov1.CronJob
	// jobs are all that there ever were, by name; ends says when one ends.
	jobs map[string]batchv1.Job
	ends map[string]time.Time
	// stalled: the built-in controller found a Job of somebody else, and looks at the object again only when it has changed.
	stalled types.UID
	// lag is how late a controller notices what is due, and lasts how long a run takes.
	lag, lasts func() time.Duration
	due        map[string]time.Time
	uids       int
}

func (w *world) uid() types.UID {
	w.uids++
	return types.UID(fmt.Sprintf("uid-%d", w.uids))
}

// tick lets a second pass.
func (w *world) tick() {
	w.now = w.now.Add(time.Second)
	for name, job := range w.jobs {
		if !w.now.Before(w.ends[name]) && len(job.Status.Conditions) == 0 {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
			w.jobs[name] = job
		}
	}
	if w.native != nil && !*w.native.Spec.Suspend && w.stalled != w.native.UID {
		last := w.native.CreationTimestamp.Time
		if status := w.native.Status.LastScheduleTime; status != nil {
			last = status.Time
		}
		if due, started := w.start("native", &w.native.ObjectMeta, w.native.Spec.ConcurrencyPolicy, last); started {
			w.native.Status.LastScheduleTime = ptr.To(metav1.NewTime(due))
		} else if !due.IsZero() {
			w.stalled = w.native.UID
		}
	}
	if w.ours == nil {
		return
	}
	w.ours.Status.LastScheduleTime = schedule.LastScheduleTime(w.ours, w.now)
	w.ours.Status.ObservedGeneration = w.ours.Generation
	if *w.ours.Spec.Suspend {
		return
	}
	last := w.ours.CreationTimestamp.Time
	if status := w.ours.Status.LastScheduleTime; status != nil {
		last = status.Time
	}
	if due, _ := w.start("ours", &w.ours.ObjectMeta, w.ours.Spec.ConcurrencyPolicy, last); !due.IsZero() {
		w.ours.Status.LastScheduleTime = ptr.To(metav1.NewTime(due))
	}
}

// start starts the run of the last minute after another, once the controller has noticed. It returns the minute where it was
// tried, and whether there was no Job of its name.
func (w *world) start(controller string, meta *metav1.ObjectMeta, policy batchv1.ConcurrencyPolicy, last time.Time) (due time.Time, started bool) {
	minute := w.now.Truncate(time.Minute)
	if !minute.After(last) {
		return time.Time{}, false
	}
	key := controller + names.ScheduledJob("report", minute)
	if w.due[key].IsZero() {
		w.due[key] = w.now.Add(w.lag())
	}
	if w.now.Before(w.due[key]) || policy == batchv1.ForbidConcurrent && w.active(meta) {
		return time.Time{}, false
	}
	made := job(minute.Format("15:04:05"), string(meta.UID))
	if _, there := w.jobs[made.Name]; there {
		return minute, false
	}
	w.jobs[made.Name], w.ends[made.Name] = made, w.now.Add(w.lasts())
	return minute, true
}

func (w *world) active(meta *metav1.ObjectMeta) bool {
	for _, job := range w.jobs {
		if metav1.IsControlledBy(&job, meta) && len(job.Status.Conditions) == 0 {
			return true
		}
	}
	return false
}

// view is what a look sees.
func (w *world) view(undo bool) moving.View {
	view := moving.View{Name: "report", Undo: undo, Jobs: map[string]bool{}}
	var jobs []batchv1.Job
	for name, job := range w.jobs {
		view.Jobs[name] = true
		jobs = append(jobs, job)
	}
	view.From, view.To = moving.Native(w.native, jobs), moving.Ours(w.ours, jobs)
	if undo {
		view.From, view.To = view.To, view.From
	}
	return view
}

// act does what a step says.
func (w *world) act(t *rapid.T, step moving.Step, view moving.View) {
	hold := func(meta *metav1.ObjectMeta, suspend **bool, held bool) {
		*suspend = ptr.To(held)
		delete(meta.Annotations, names.SuspendedForMoveAnnotation)
		if held {
			annotate(meta, names.SuspendedForMoveAnnotation, w.now.Format(time.RFC3339Nano))
		}
		if w.native != nil && w.native.UID == meta.UID {
			w.stalled = ""
		}
	}
	holdNative := func(held bool) { hold(&w.native.ObjectMeta, &w.native.Spec.Suspend, held) }
	holdOurs := func(held bool) { hold(&w.ours.ObjectMeta, &w.ours.Spec.Suspend, held); w.ours.Generation++ }
	switch {
	case step.Do == moving.SuspendFrom && view.Undo:
		holdOurs(true)
	case step.Do == moving.SuspendFrom:
		holdNative(true)
	case step.Do == moving.ResumeFrom, step.Do == moving.ResumeTo && !view.Undo:
		holdOurs(false)
	case step.Do == moving.ResumeTo:
		holdNative(false)
	case step.Do == moving.CreateTo && view.Undo:
		made, err := moving.ToNative(w.ours, w.now)
		require.NoError(t, err)
		made.UID, made.CreationTimestamp = w.uid(), metav1.NewTime(w.now)
		w.native = made
	case step.Do == moving.CreateTo:
		w.ours = moving.ToOurs(w.native, view.LastScheduleTime(w.now), w.now)
		w.ours.UID, w.ours.CreationTimestamp, w.ours.Generation = w.uid(), metav1.NewTime(w.now), 1
	case step.Do == moving.DeleteTo && view.Undo, step.Do == moving.DeleteFrom && !view.Undo:
		w.native = nil
	case step.Do == moving.DeleteTo, step.Do == moving.DeleteFrom:
		w.ours = nil
	default:
		t.Fatalf("step %+v", step)
	}
}

// Moves there and back, begun at any moment and interrupted once each, under controllers that notice late: each minute has its
// run, and the built-in controller never stumbles over a Job of ours.
func TestNoMinuteIsMissedOnTheWayThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(low, high int, what string) func() time.Duration {
			return func() time.Duration { return time.Duration(rapid.IntRange(low, high).Draw(t, what)) * time.Second }
		}
		w := &world{
			now: at("08:00:30"), jobs: map[string]batchv1.Job{}, ends: map[string]time.Time{}, due: map[string]time.Time{},
			lag: seconds(0, 3, "lag"), lasts: seconds(1, 40, "lasts"),
		}
		policy := rapid.SampledFrom([]batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent}).Draw(t, "policy")
		w.native = native(neverRan, runsUnder(policy))
		w.native.UID, w.native.CreationTimestamp = w.uid(), metav1.NewTime(w.now)
		wait := func(span time.Duration) {
			for range int(span / time.Second) {
				w.tick()
			}
		}
		begin := w.now
		undo := false
		for range rapid.IntRange(1, 4).Draw(t, "moves") {
			wait(seconds(0, 150, "before")())
			interruption := rapid.IntRange(0, 6).Draw(t, "interrupted after")
			for steps, over := 0, w.now.Add(10*time.Minute); ; {
				view := w.view(undo)
				step := view.Next(w.now)
				if step.Do == moving.Done {
					break
				}
				require.NotEqual(t, moving.Refuse, step.Do, step.Why)
				require.True(t, w.now.Before(over), "the move does not end: %+v", step)
				if step.Do != moving.Wait {
					w.act(t, step, view)
					if steps++; steps == interruption {
						wait(seconds(1, 40, "interruption")())
						continue
					}
				}
				if !step.AtOnce {
					w.tick()
				}
			}
			undo = !undo
		}
		wait(2 * time.Minute)
		for minute := begin.Truncate(time.Minute).Add(time.Minute); minute.Before(w.now.Add(-time.Minute)); minute = minute.Add(time.Minute) {
			require.Contains(t, w.jobs, names.ScheduledJob("report", minute), "the run of %s", minute.Format("15:04"))
		}
		require.Empty(t, w.stalled)
	})
}
