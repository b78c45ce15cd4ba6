package histories

import (
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/test/histories/play"
)

// message is what a workflow hears of: a signal, or the end of a run, which the Job's workflow or the bridge tells.
type message struct {
	kind  string
	spec  schedule.Spec
	ended schedule.Finished
}

// world is everything around the CronJob's workflow.
type world struct {
	scenario scenario
	begin    time.Time
	cluster  *cluster
	temporal *play.Temporal[message]
	// input is the spec with which the workflow was started.
	input    schedule.Spec
	workflow *workflow
	// ends are the messages of the ends of runs so far, triggers the number of triggers.
	ends     []told
	triggers int

	agenda *play.Agenda

	// mutex guards what follows, which an attempt writes too.
	mutex sync.Mutex
	// calm says that the scenario is over: runs are short from now on. begun is the number of Jobs that were created.
	calm  bool
	begun int
	// effects is the number of writes until then.
	effects int
}

// told is a message that was sent.
type told struct {
	at      time.Time
	message message
}

// What ends a workflow's run, as panics, besides the end of the history and the loss of its process: it starts anew from the object,
// or goes on from a backup of Temporal's.
type (
	anew     struct{}
	restored struct{ since time.Time }
)

func newWorld(s scenario, loses int) *world {
	w := &world{scenario: s, begin: time.Now().UTC(), cluster: newCluster(s.Spec), agenda: play.NewAgenda()}
	w.cluster.loses, w.cluster.onCreate = loses, w.jobBegins
	w.temporal, w.input = play.NewTemporal[message](w.agenda, w.cluster.isLost), schedule.SpecOf(w.cluster.stored())
	for _, step := range s.Steps {
		w.agenda.Plan(w.begin.Add(step.At+apart), func() { w.perform(step) })
	}
	end := w.begin.Add(s.Lasts + apart)
	w.agenda.Plan(end, w.calmDown)
	w.agenda.Plan(end.Add(restTime), func() { panic(play.Over{}) })
	return w
}

// restTime is how long a history goes on when the scenario is over, so that what waits comes to its end.
const restTime = 15 * time.Minute

// play plays a scenario to its end. Its process is lost after a write, unless loses is 0, and the next one is there some time later.
func (w *world) play(down time.Duration) (failure string) {
	for {
		process := newProcess(w.cluster, w.scenario.Lead)
		w.temporal.Restart(process.alive)
		why := play.Caught(endsRun, func() {
			w.workflow = newWorkflow(w, process)
			w.workflow.run()
		})
		w.stop(process)
		if _, lost := why.(play.LostProcess); lost {
			why = play.Caught(endsRun, func() { w.agenda.Until(time.Now().Add(down), nil) })
		}
		switch why := why.(type) {
		case nil:
		case play.Over:
			return ""
		case anew:
			w.temporal.Anew()
			w.input = schedule.SpecOf(w.cluster.stored())
		case restored:
			w.temporal.Forget(why.since)
			for _, one := range w.ends {
				if one.at.After(why.since) {
					w.tell(one.message)
				}
			}
		default:
			return fmt.Sprint(why)
		}
	}
}

// endsRun reports whether a panic ends a run.
func endsRun(why any) bool {
	switch why.(type) {
	case anew, restored:
		return true
	}
	return false
}

// stop ends a process.
func (w *world) stop(p *process) {
	w.cluster.lose(true)
	p.kill()
	w.temporal.End()
	w.cluster.lose(false)
}

func (w *world) tell(one message) { w.temporal.Inbox = append(w.temporal.Inbox, one) }

// tellSpec tells what the bridge does of the CronJob.
func (w *world) tellSpec() { w.tell(message{kind: "spec", spec: schedule.SpecOf(w.cluster.stored())}) }

// jobBegins has a Job go its course.
func (w *world) jobBegins(begun *batchv1.Job) {
	name, uid, goes := begun.Name, begun.UID, course{Takes: 5 * time.Second}
	if !w.calm {
		goes = w.scenario.course(w.begun)
	}
	w.begun++
	condition := batchv1.JobComplete
	if goes.Fails {
		condition = batchv1.JobFailed
	}
	w.agenda.Plan(time.Now().Add(goes.Takes+offset), func() {
		if ended := w.cluster.end(name, uid, condition); ended != nil {
			w.ended(ended)
		}
	})
}

// apart keeps what others do apart from what Ostinato does at the same time, offset ends of Jobs from both.
const (
	apart  = 30 * time.Millisecond
	offset = 370 * time.Millisecond
)

// ended tells that a Job has ended, or is gone.
func (w *world) ended(one *batchv1.Job) {
	at, manual := scheduledTime(one)
	ended := schedule.Finished{
		Run: schedule.Run{
			Name: one.Name, UID: string(one.UID), Scheduled: at, Manual: manual, Started: one.CreationTimestamp.UTC(), ResourceVersion: one.ResourceVersion,
		},
		Condition: schedule.JobDeleted,
	}
	if condition := claim.Finished(one); condition != nil {
		ended.Condition, ended.EndTime, ended.StartTime = condition.Type, condition.LastTransitionTime.UTC(), one.Status.StartTime.UTC()
		if one.Status.CompletionTime != nil {
			ended.CompletionTime = one.Status.CompletionTime.UTC()
		}
	}
	told := told{time.Now(), message{kind: "ended", ended: ended}}
	w.ends = append(w.ends, told)
	w.tell(told.message)
}

// resume has the CronJob run, and the workflow know it.
func (w *world) resume() {
	if stored := w.cluster.stored(); stored.Spec.Suspend != nil && *stored.Spec.Suspend {
		w.cluster.edit(suspend(false))
	}
	w.tellSpec()
}

// running are the Jobs that have not ended, the latest last.
func (w *world) running() []batchv1.Job {
	all := slices.DeleteFunc(w.cluster.jobs(), func(one batchv1.Job) bool { return claim.Finished(&one) != nil })
	slices.SortStableFunc(all, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return all
}

// calmDown ends what the scenario has brought about: the API server takes everything, the CronJob runs, Jobs end, and the bridge
// has told of all that has happened.
func (w *world) calmDown() {
	w.mutex.Lock()
	w.calm = true
	w.mutex.Unlock()
	w.effects = w.cluster.writes()
	w.cluster.answers(nil)
	w.resume()
	// A signal may wait for a call that the API server has not answered yet.
	for later := range 3 {
		w.agenda.Plan(time.Now().Add(time.Duration(later+1)*time.Minute), w.resume)
	}
	for _, one := range w.running() {
		w.agenda.Plan(time.Now().Add(offset), func() {
			if ended := w.cluster.end(one.Name, one.UID, batchv1.JobComplete); ended != nil {
				w.ended(ended)
			}
		})
	}
}
