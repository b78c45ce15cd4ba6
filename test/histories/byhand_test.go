package histories

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// madeByHand makes a Job by hand for the scheduled time that has come last.
func (w *world) madeByHand() {
	stored := w.cluster.peek()
	come := timesOf(schedule.SpecOf(stored), time.Now().Add(-time.Hour).UTC(), time.Now().UTC())
	at := come[len(come)-1]
	made := k8s.RenderJob(stored, schedule.Start{Name: names.ScheduledJob(cronJob, at), Scheduled: at}, "")
	w.cluster.mutex.Lock()
	w.cluster.identify(made)
	made.Namespace = w.cluster.namespace
	must(w.cluster.objects.Create(jobs, made, made.Namespace))
	w.cluster.note(taken{what: "by hand", job: made})
	w.cluster.mutex.Unlock()
	w.jobGoes(made, course{Takes: 5 * time.Minute})
	w.agenda.Plan(time.Now().Add(unlistedGrace+offset), w.bridge.looks)
}

// endsMeanwhile has a run end right before the next delete of it is taken.
type endsMeanwhile struct{}

func (endsMeanwhile) String() string { return "a run is Complete right before it is deleted" }
func (endsMeanwhile) trait() trait   { return trait{requests: true} }

func (endsMeanwhile) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() {
		w.cluster.mutex.Lock()
		defer w.cluster.mutex.Unlock()
		w.cluster.beforeDelete = func(one *batchv1.Job) {
			ended := w.cluster.ends(one.Name, one.UID, batchv1.JobComplete)
			if ended == nil {
				panic(fmt.Sprintf("Job %s has ended already", one.Name))
			}
			w.agenda.Plan(time.Now().Add(offset), func() { w.jobEnded(ended) })
		}
	})
}
