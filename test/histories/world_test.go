package histories

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/test/histories/play"
	"ostinato.dev/ostinato/workflows"
)

const temporalNamespace = "temporal-namespace"

// world is everything around the CronJob's workflow.
type world struct {
	scenario scenario
	begin    time.Time
	cluster  *cluster
	temporal *play.Temporal[play.Signal]
	agenda   *play.Agenda
	// input is what the workflow was started with, and started when its first run was.
	input   protocol.CronJobInput
	started time.Time
	// reset is when its run was begun by a reset; zero if it was not.
	reset time.Time
	// past are the runs that have continued as new since the workflow began, the first one first.
	past []past
	// run is the workflow as the process has it; nil where none has.
	run *play.Run
	// process is the one that is there, or was there last.
	process *process
	// over says that the workflow has ended, and nothing has started another one.
	over     bool
	children map[types.UID]child
	bridge   bridge
	// neighbours are CronJobs of another namespace that the same process serves, by their names; host is the process of another
	// world that serves this one.
	neighbours map[string]*world
	host       *process
	beside     sync.WaitGroup
	// processes are those that stand still, each until it goes on.
	processes []*process
	record    account

	// mutex guards what follows, which an attempt writes too.
	mutex sync.Mutex
	// calm says that the scenario is over: runs are short from now on. begun is the number of Jobs that were created.
	calm  bool
	begun int
	// effects is the number of writes until then.
	effects int
}

// account is what is known of a history besides what the API server has taken.
type account struct {
	// requests are the signals and updates that were sent, in their order, nameless the Jobs of whose senders nothing tells.
	requests []request
	nameless map[string]bool
	// heard are the specs before each edit, up to when the workflow has heard of that, known is the one that it knows.
	heard []stretch
	known *schedule.Spec
	// cancels are those of triggers.
	cancels []*sentCancel
	// ledger is what the workflow says at the end, lost what it said right before each time that it lost its memory.
	ledger []ledger.Entry
	lost   []ledger.Entry
	// forgot are the times at which Temporal has forgotten something.
	forgot []time.Time
	// away are the times at which no process was there, or at which Temporal has heard of none.
	away []stretch
}

// past is a run of the workflow that is over.
type past struct {
	history []*play.Task[play.Signal]
	input   protocol.CronJobInput
	started time.Time
	reset   time.Time
}

// child is a Job's workflow that the CronJob's has started.
type child struct {
	id string
	at time.Time
}

// What ends a workflow's run, as panics, besides the end of the history and the loss of its process: Temporal has forgotten what has
// come since, or the workflow is reset to what it was, or starts anew from the object, or its process stands still.
type (
	anew      struct{}
	forgotten struct {
		since time.Time
		reset bool
	}
	stopped struct{ until time.Time }
)

func newWorld(namespace, name string, s scenario, loses int) *world {
	w := &world{
		scenario: s, begin: time.Now().UTC(), cluster: newCluster(namespace, name, s.Spec, s.Notes), agenda: play.NewAgenda(), children: map[types.UID]child{},
	}
	w.bridge, w.record.nameless = bridge{world: w}, map[string]bool{}
	w.cluster.loses, w.cluster.onCreate = loses, w.jobBegins
	w.temporal, w.started = play.NewTemporal[play.Signal](w.agenda, w.cluster.isLost), w.begin
	w.input = w.fresh()
	for _, step := range s.Steps {
		at := w.begin.Add(step.At + apart)
		if step.Fault != nil {
			step.Fault.plan(w, at)
			continue
		}
		w.agenda.Plan(at, func() { w.perform(step) })
	}
	w.bridge.watches()
	end := w.begin.Add(s.Lasts + apart)
	w.agenda.Plan(end, w.calmDown)
	w.agenda.Plan(end.Add(restTime), w.ends)
	return w
}

// restTime is how long a history goes on when the scenario is over, so that what waits comes to its end.
const restTime = 15 * time.Minute

// ends ends the history, as soon as the workflow can be asked what has become of it.
func (w *world) ends() {
	if w.run == nil {
		w.agenda.Plan(time.Now().Add(time.Second), w.ends)
		return
	}
	w.record.ledger = w.description().Ledger
	panic(play.Over{})
}

// description is what the workflow says; empty where none runs.
func (w *world) description() (described protocol.CronJobDescription) {
	if w.run == nil {
		return described
	}
	if err := w.run.Query(protocol.DescribeQuery, nil, &described); err != nil {
		panic(err)
	}
	return described
}

// fresh is the input with which the bridge starts the workflow.
func (w *world) fresh() protocol.CronJobInput {
	stored := w.cluster.peek()
	return protocol.CronJobInput{CronJob: w.reference(stored), Spec: schedule.SpecOf(stored)}
}

// play plays a scenario to its end. Its process is lost after a write, unless loses is 0, and the next one is there some time later.
func (w *world) play(down time.Duration) (failure string) {
	// A Job that a later attempt has made is kept a while: a crash that costs no time is to change nothing.
	w.temporal.Counts = down > 0
	for {
		process := newProcess(w)
		w.process = process
		w.hosts(process)
		w.temporal.Restart(process.alive)
		var err error
		why := play.Caught(endsRun, func() { err = w.runs(process) })
		w.run = nil
		why = w.stop(process, why, down)
		if why == nil {
			why = w.ended(err)
		}
		switch why := why.(type) {
		case nil, play.Unheard:
		case play.Over:
			w.cluster.lose(true)
			for _, one := range w.processes {
				one.kill()
			}
			w.temporal.End()
			return ""
		case anew:
			w.begins()
		case forgotten:
			w.forgets(why)
		default:
			return fmt.Sprint(why)
		}
	}
}

// runs has the workflow run until it ends, or something ends its process.
func (w *world) runs(p *process) error {
	options := workflows.Options{StartLead: w.scenario.Lead, CallerHeader: w.scenario.Believes}
	w.run = &play.Run{
		Temporal: w.temporal, Attempt: p.attempt, Child: w.childBegins, Interceptor: workflows.Interceptor(options),
		Register: func(registry worker.WorkflowRegistry) { workflows.Register(registry, options) },
		Started:  w.started, Reset: w.isReset(), Rests: w.rests,
	}
	return w.run.Execute(protocol.CronJobWorkflow, w.input.CronJob.CronJobWorkflowID(""), w.input)
}

// endsRun reports whether a panic ends a run.
func endsRun(why any) bool {
	switch why.(type) {
	case anew, forgotten, stopped:
		return true
	}
	return false
}

// stop ends a process, and lets pass what time its successor takes to come.
func (w *world) stop(p *process, why any, down time.Duration) any {
	if still, stands := why.(stopped); stands {
		p.still.Store(&still.until)
		w.processes = append(w.processes, p)
		w.temporal.Leave()
		return w.passes(taskTimeout)
	}
	w.cluster.lose(true)
	p.kill()
	w.temporal.End()
	w.cluster.lose(false)
	if _, lost := why.(play.LostProcess); lost {
		return w.passes(down)
	}
	return why
}

// taskTimeout is how long Temporal waits for the answer to a workflow task.
const taskTimeout = 10 * time.Second

// passes lets time pass while no process is there.
func (w *world) passes(duration time.Duration) any {
	now := time.Now().UTC()
	w.record.away = append(w.record.away, stretch{from: now, to: now.Add(duration)})
	if why := play.Caught(endsRun, func() { w.agenda.Until(now.Add(duration), nil) }); why != nil {
		return why
	}
	return play.Unheard{}
}

// ended takes the end of the workflow: it may continue as new, and otherwise the bridge starts another one for a CronJob.
func (w *world) ended(err error) any {
	var continues *workflow.ContinueAsNewError
	if errors.As(err, &continues) {
		w.past = append(w.past, past{w.temporal.History, w.input, w.started, w.reset})
		w.temporal.Anew()
		w.children, w.started, w.input = map[types.UID]child{}, time.Now().UTC(), protocol.CronJobInput{}
		w.reset = time.Time{}
		if err := converter.GetDefaultDataConverter().FromPayloads(continues.Input, &w.input); err != nil {
			return err
		}
		return nil
	}
	if err != nil {
		return fmt.Sprintf("the workflow fails: %v", err)
	}
	w.over = true
	ended := time.Now().UTC()
	defer func() { w.record.away = append(w.record.away, stretch{from: ended, to: time.Now().UTC()}) }()
	if why := play.Caught(endsRun, func() { w.agenda.Until(time.Time{}, func() bool { return !w.over }) }); why != nil {
		return why
	}
	w.begins()
	return nil
}

// begins has the workflow begin anew from the object.
func (w *world) begins() {
	w.temporal.Anew()
	w.past = nil
	w.children, w.started, w.over = map[types.UID]child{}, time.Now().UTC(), false
	w.input, w.reset = w.fresh(), time.Time{}
}

// isReset reports whether the workflow's run is the one that a reset has begun.
func (w *world) isReset() bool { return !w.reset.IsZero() }

// forgets takes Temporal back to what it was.
func (w *world) forgets(what forgotten) {
	lost := w.temporal.Forget(what.since)
	for len(w.temporal.History) == 0 && len(w.past) > 0 && !what.reset {
		// It was another run then, which has continued as new since.
		before := w.past[len(w.past)-1]
		w.past = w.past[:len(w.past)-1]
		w.temporal.History, w.input, w.started, w.reset = before.history, before.input, before.started, before.reset
		w.temporal.Forget(what.since)
	}
	if len(w.temporal.History) == 0 && !what.reset {
		w.begins()
	}
	switch {
	case what.reset:
		w.reset = time.Now().UTC()
	case w.reset.After(what.since):
		w.reset = time.Time{}
	}
	for uid, one := range w.children {
		if one.at.After(what.since) || what.reset {
			delete(w.children, uid)
		}
	}
	if what.reset {
		for _, signal := range lost {
			if signal.Name != "" {
				w.tell(signal)
			}
		}
		return
	}
	// The workflows of Jobs were taken back too, and find out what has become of those.
	soon := time.Now().Add(time.Second + offset)
	for uid, one := range w.children {
		w.agenda.Plan(soon, func() { w.childLooks(uid, one) })
	}
}

// rests notes what the workflow knows whenever it waits.
func (w *world) rests() {
	if w.run == nil || w.host != nil {
		return
	}
	knows := w.description().Spec
	now := time.Now().UTC()
	if before := w.record.known; before != nil && before.Digest() != knows.Digest() {
		w.record.heard = append(w.record.heard, stretch{to: now, spec: *before})
	}
	w.record.known = &knows
}

// tell tells the workflow, as long as it runs.
func (w *world) tell(signal play.Signal) {
	if !w.over {
		w.temporal.Inbox = append(w.temporal.Inbox, signal)
	}
}

// jobBegins has a Job go its course.
func (w *world) jobBegins(begun *batchv1.Job) {
	goes := course{Takes: 5 * time.Second}
	if !w.calm {
		goes = w.scenario.course(w.begun)
	}
	w.begun++
	w.jobGoes(begun, goes)
	w.agenda.Plan(time.Now().Add(unlistedGrace+offset), w.bridge.looks)
}

func (w *world) jobGoes(begun *batchv1.Job, goes course) {
	name, uid, condition := begun.Name, begun.UID, batchv1.JobComplete
	if goes.Fails {
		condition = batchv1.JobFailed
	}
	w.agenda.Plan(time.Now().Add(goes.Takes+offset), func() {
		if ended := w.cluster.end(name, uid, condition); ended != nil {
			w.jobEnded(ended)
		}
	})
}

// apart keeps what others do apart from what Ostinato does at the same time, offset ends of Jobs from both.
const (
	apart  = 30 * time.Millisecond
	offset = 370 * time.Millisecond
)

// jobEnded tells that a Job has ended, or is gone.
func (w *world) jobEnded(one *batchv1.Job) {
	if known, isChild := w.children[one.UID]; isChild {
		w.tell(childEnded(known.id, one))
		return
	}
	w.agenda.Plan(time.Now().Add(closedGrace), w.bridge.looks)
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
	w.cluster.calm()
	w.resume()
	// A signal may wait for a call that the API server has not answered yet.
	for later := range 3 {
		w.agenda.Plan(time.Now().Add(time.Duration(later+1)*time.Minute), w.resume)
	}
	for _, one := range w.running() {
		w.agenda.Plan(time.Now().Add(offset), func() {
			if ended := w.cluster.end(one.Name, one.UID, batchv1.JobComplete); ended != nil {
				w.jobEnded(ended)
			}
		})
	}
}

// resume has the CronJob run, and the workflow know it.
func (w *world) resume() {
	if stored := w.cluster.peek(); stored.Spec.Suspend != nil && *stored.Spec.Suspend {
		w.cluster.edit(suspend(false))
	}
	w.bridge.tells(false)
}
