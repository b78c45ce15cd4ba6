package histories

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// message is what a workflow hears of: a signal, or the end of a run, which the Job's workflow or the bridge tells.
type message struct {
	kind  string
	spec  schedule.Spec
	ended protocol.FinishedJob
}

// world is everything around the CronJob's workflow.
type world struct {
	scenario scenario
	begin    time.Time
	cluster  *cluster
	temporal *temporal
	workflow *workflow
	// ends are the messages of the ends of runs so far, triggers the number of triggers.
	ends     []told
	triggers int

	// mutex guards what follows, which an attempt writes too.
	mutex  sync.Mutex
	agenda []due
	// changed says that there is more on the agenda.
	changed chan struct{}
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

// due is something that happens at a time.
type due struct {
	at time.Time
	do func()
}

// What ends a workflow's process or its run, as panics: the end of the history, one that starts anew from the object, and one
// that goes on from a backup of Temporal's.
type (
	over     struct{}
	anew     struct{}
	restored struct{ since time.Time }
)

func newWorld(s scenario, loses int) *world {
	w := &world{scenario: s, begin: time.Now().UTC(), cluster: newCluster(s.Spec), changed: make(chan struct{}, 1)}
	w.cluster.loses, w.cluster.onCreate = loses, w.jobBegins
	w.temporal = &temporal{world: w, recorded: true, input: schedule.SpecOf(w.cluster.stored())}
	for _, step := range s.Steps {
		w.plan(w.begin.Add(step.At+apart), func() { w.perform(step) })
	}
	end := w.begin.Add(s.Lasts + apart)
	w.plan(end, w.calmDown)
	w.plan(end.Add(restTime), func() { panic(over{}) })
	return w
}

// restTime is how long a history goes on when the scenario is over, so that what waits comes to its end.
const restTime = 15 * time.Minute

// play plays a scenario to its end. Its process is lost after a write, unless loses is 0, and the next one is there some time later.
func (w *world) play(down time.Duration) (failure string) {
	for {
		process := newProcess(w.cluster, w.scenario.Lead)
		w.temporal.restart(process)
		why := w.run()
		w.stop(process)
		if _, lost := why.(lostProcess); lost {
			why = caught(func() { w.until(time.Now().Add(down), nil) })
		}
		switch why := why.(type) {
		case nil:
		case over:
			return ""
		case anew:
			w.temporal.history, w.temporal.recorded, w.temporal.inbox = nil, true, nil
			w.temporal.input = schedule.SpecOf(w.cluster.stored())
		case restored:
			w.temporal.forget(why.since)
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

// run has the workflow run until something ends its process.
func (w *world) run() any {
	return caught(func() {
		w.workflow = newWorkflow(w.temporal)
		w.workflow.run()
	})
}

// caught returns the panic of a function; nil for none.
func caught(do func()) (why any) {
	defer func() {
		switch why = recover(); why.(type) {
		case nil, over, anew, restored, lostProcess:
		default:
			why = fmt.Sprintf("%v\n%s", why, debug.Stack())
		}
	}()
	do()
	return nil
}

// stop ends a process.
func (w *world) stop(p *process) {
	w.cluster.lose(true)
	p.kill()
	if call := w.temporal.call; call != nil && call.running != nil {
		<-call.running.done
	}
	w.temporal.call = nil
	w.cluster.lose(false)
}

// plan puts something on the agenda.
func (w *world) plan(at time.Time, do func()) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.agenda = append(w.agenda, due{at, do})
	slices.SortStableFunc(w.agenda, func(a, b due) int { return a.at.Compare(b.at) })
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// first is what comes next.
func (w *world) first() due {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.agenda[0]
}

// happen does what comes next.
func (w *world) happen() {
	next := w.first()
	w.mutex.Lock()
	w.agenda = w.agenda[1:]
	w.mutex.Unlock()
	next.do()
}

// until lets happen what does until a time, zero for none, or until enough says so.
func (w *world) until(end time.Time, enough func() bool) {
	for enough == nil || !enough() {
		next := w.first()
		if !end.IsZero() && !next.at.Before(end) {
			time.Sleep(time.Until(end))
			return
		}
		time.Sleep(time.Until(next.at))
		w.happen()
	}
}

// answer lets happen what does until an attempt has ended; nil is returned where interrupted says that something else comes first.
func (w *world) answer(r *running, interrupted func() bool) *answer {
	for {
		timer := time.NewTimer(time.Until(w.first().at))
		select {
		case given := <-r.done:
			timer.Stop()
			return &given
		case <-w.changed:
			timer.Stop()
		case <-timer.C:
			w.happen()
			if interrupted != nil && interrupted() {
				return nil
			}
		}
	}
}

func (w *world) tell(one message) { w.temporal.inbox = append(w.temporal.inbox, one) }

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
	w.plan(time.Now().Add(goes.Takes+offset), func() {
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
	ended := protocol.FinishedJob{
		Run: schedule.Run{
			Name: one.Name, UID: string(one.UID), Scheduled: at, Manual: manual, Started: one.CreationTimestamp.UTC(), ResourceVersion: one.ResourceVersion,
		},
		Outcome: job.Deleted,
	}
	if condition := claim.Finished(one); condition != nil {
		ended.Outcome, ended.EndTime, ended.StartTime = job.Outcome(condition.Type), condition.LastTransitionTime.UTC(), one.Status.StartTime.UTC()
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
		w.plan(time.Now().Add(time.Duration(later+1)*time.Minute), w.resume)
	}
	for _, one := range w.running() {
		w.plan(time.Now().Add(offset), func() {
			if ended := w.cluster.end(one.Name, one.UID, batchv1.JobComplete); ended != nil {
				w.ended(ended)
			}
		})
	}
}
