package jobs

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/jobwatch"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/starts"
	"ostinato.dev/ostinato/test/histories/play"
	"ostinato.dev/ostinato/workflows"
)

var reference = protocol.ObjectReference{Namespace: namespace, Name: jobName, UID: jobUID}

// world is everything around the Job's workflow.
type world struct {
	scenario scenario
	begin    time.Time
	cluster  *cluster
	kubelet  *kubelet
	watch    *podWatch
	temporal *play.Temporal[play.Signal]
	agenda   *play.Agenda
	// input is what the workflow was started with.
	input protocol.JobInput
	// begun says that the workflow was started, early that a worker was lost before.
	begun, early bool
	startedAt    time.Time
	// calm says that the scenario is over: Pods succeed soon from now on. over says that the workflow has ended.
	calm, over bool
	// forging are the attempts at forged requests.
	forging sync.WaitGroup
}

// anew is the panic that ends a workflow's run, if one runs: another is started with the input.
type anew struct{ input protocol.JobInput }

func endsRun(why any) bool {
	_, ends := why.(anew)
	return ends
}

// apart keeps what others do apart from what Ostinato does at the same time, nextStep one step from the next.
const (
	apart    = 130 * time.Millisecond
	nextStep = 11 * time.Millisecond
)

// restTime is how long a history goes on when the scenario is over, so that the Job comes to its end. After each failure the next Pod
// waits twice as long, and so does a delete that was refused.
const restTime = time.Hour

func newWorld(s scenario, loses int) *world {
	w := &world{scenario: s, begin: time.Now().UTC(), cluster: newCluster(s.Spec), agenda: play.NewAgenda()}
	w.kubelet = &kubelet{cluster: w.cluster, agenda: w.agenda, course: w.course, begun: map[types.UID]bool{}, terminating: map[types.UID]bool{}}
	watch := &podWatch{cluster: w.cluster, agenda: w.agenda, tell: w.tell, pods: map[types.UID]*watched{}, due: map[types.UID]*watched{}}
	w.watch = watch
	watch.compare()
	w.cluster.loses, w.cluster.lists = loses, s.Lists
	w.cluster.fails = func(write int) fault {
		if w.calm {
			return none
		}
		return s.Faults.of(write)
	}
	w.cluster.hangs = func(name string) time.Duration {
		if w.calm || !s.Faults.hangs(name) {
			return 0
		}
		return s.Hangs
	}
	w.cluster.later = func(after time.Duration, what func()) {
		w.agenda.Plan(time.Now().Add(after), func() { w.cluster.do(what) })
	}
	w.cluster.changed = func(pod *corev1.Pod) {
		w.kubelet.see(pod)
		watch.see(pod, false)
	}
	w.cluster.gone = func(pod *corev1.Pod) {
		w.cluster.record.went(pod)
		watch.see(pod, true)
	}
	w.cluster.record.edited(w.cluster.job())
	w.temporal = play.NewTemporal[play.Signal](w.agenda, w.cluster.isLost)
	for i, step := range s.Steps {
		if step.Does == "rights" {
			// Before anything else.
			w.perform(step)
			continue
		}
		w.agenda.Plan(w.begin.Add(step.At+apart+time.Duration(i)*nextStep), func() { w.perform(step) })
	}
	if s.Watched > 0 {
		w.agenda.Plan(w.begin.Add(s.Watched), func() { w.watches(false) })
		w.agenda.Plan(w.begin.Add(time.Minute), w.bridged)
	} else {
		w.bridged()
	}
	end := w.begin.Add(s.Lasts + apart)
	w.agenda.Plan(end, w.calmDown)
	w.agenda.Plan(end.Add(restTime), func() { panic(play.Over{}) })
	return w
}

// started is the input with which the bridge starts the workflow.
func (w *world) started() protocol.JobInput { return starts.JobInput(w.cluster.job(), job.Defaults{}) }

// watches has the watch of new Jobs begin with the Job. One that takes over has listed it.
func (w *world) watches(listed bool) {
	go func() {
		input := beginJob(w.cluster, listed)
		w.agenda.Plan(time.Now(), func() {
			switch {
			case w.cluster.isLost():
			case input == nil:
				w.bridged()
			case w.scenario.Starts >= 0:
				w.agenda.Plan(time.Now().Add(w.scenario.Starts), func() {
					if input.Late || jobwatch.IsNew(w.cluster.job()) {
						w.begins(*input)
					}
				})
			}
		})
	}()
}

// bridged starts the workflow as the bridge does, unless it runs.
func (w *world) bridged() {
	if !w.begun {
		w.begins(w.started())
	}
}

// begins starts the workflow. If it runs, it hears of the Job, and of the Pods that the watch has made.
func (w *world) begins(input protocol.JobInput) {
	switch {
	case !w.begun:
		w.begun, w.input, w.startedAt = true, input, time.Now().UTC()
		return
	case w.over:
		panic(anew{input})
	}
	w.tell(play.Signal{Name: protocol.JobSpecSignal, Argument: protocol.JobSpec{Input: input}})
	var facts []job.PodFact
	for _, made := range input.Pods {
		facts = append(facts, job.PodFact{Name: made.Name, UID: made.UID, Tracked: true})
	}
	w.tell(play.Signal{Name: protocol.PodsSignal, Argument: protocol.PodFacts{JobUID: jobUID, Facts: facts}})
}

// waits lets pass what happens until the workflow is started. The watch may be lost meanwhile: another one begins after a while.
func (w *world) waits(down time.Duration) any {
	return play.Caught(endsRun, func() {
		for !w.begun {
			w.agenda.Until(time.Time{}, func() bool { return w.begun || w.cluster.isLost() })
			if w.cluster.isLost() {
				w.early = true
				w.agenda.Until(time.Now().Add(down), nil)
				w.cluster.lose(false)
				w.watches(true)
			}
		}
	})
}

func (w *world) course(attempt int64) course {
	if w.calm {
		return course{Takes: 5 * time.Second, Grace: 2 * time.Second}
	}
	return w.scenario.course(attempt)
}

// play plays a scenario to its end. Its worker is lost after a write, and its successor begins after a while.
func (w *world) play(down time.Duration) (failure string) {
	defer w.forging.Wait()
	for {
		why := w.waits(down)
		process := newProcess(w.cluster, w.temporal)
		w.temporal.Restart(process.alive)
		var err error
		if why == nil {
			why = play.Caught(endsRun, func() { err = w.run(process) })
		}
		w.stop(process)
		if _, lost := why.(play.LostProcess); lost {
			why = play.Caught(endsRun, func() { w.agenda.Until(time.Now().Add(down), nil) })
		} else if why == nil {
			why = w.ended(err)
		}
		switch why := why.(type) {
		case nil, play.Unheard:
		case play.Over:
			if !w.over {
				return "the Job has not ended"
			}
			return ""
		case anew:
			w.temporal.Anew()
			w.input, w.over = why.input, false
		default:
			return fmt.Sprint(why)
		}
	}
}

// run has the workflow run until it ends, or something ends its process.
func (w *world) run(p *process) error {
	options := workflows.Options{}
	r := &play.Run{
		Temporal: w.temporal, Attempt: p.attempt, Interceptor: workflows.Interceptor(options),
		Register: func(registry worker.WorkflowRegistry) { workflows.Register(registry, options) },
	}
	return r.Execute(protocol.JobWorkflow, names.Cluster("").JobWorkflowID(namespace, jobName), w.input)
}

// ended takes the end of the workflow: it may continue as new.
func (w *world) ended(err error) any {
	var continues *workflow.ContinueAsNewError
	var failed *sdk.ApplicationError
	switch {
	case errors.As(err, &continues):
		w.temporal.Anew()
		w.input = protocol.JobInput{}
		if err := converter.GetDefaultDataConverter().FromPayloads(continues.Input, &w.input); err != nil {
			return err
		}
		return nil
	case err == nil, errors.As(err, &failed) && failed.Type() == protocol.JobFailedErrorType:
		w.over = true
		return play.Caught(endsRun, func() { w.agenda.Until(time.Now().Add(afterEnd), nil); panic(play.Over{}) })
	}
	return fmt.Sprintf("the workflow fails: %v", err)
}

// afterEnd is how long a history goes on when the workflow has ended, so that what it has left shows.
const afterEnd = time.Minute

// stop ends a process.
func (w *world) stop(p *process) {
	w.cluster.lose(true)
	p.kill()
	w.temporal.End()
	w.cluster.lose(false)
}

// tell tells the workflow, as long as it runs.
func (w *world) tell(signal play.Signal) {
	if !w.over {
		w.temporal.Inbox = append(w.temporal.Inbox, signal)
	}
}

// tellSpec tells what the bridge does of the Job, whose workflow it starts for that unless it leaves that to the watch.
func (w *world) tellSpec() {
	if !w.begun && jobwatch.IsNew(w.cluster.job()) {
		return
	}
	w.bridged()
	w.tell(play.Signal{Name: protocol.JobSpecSignal, Argument: protocol.JobSpec{Input: w.started()}})
}

// calmDown ends what the scenario has brought about: the API server takes everything, the Job runs, its Pods succeed, and the bridge has
// told of all that has happened.
func (w *world) calmDown() {
	w.calm = true
	w.cluster.do(func() {
		w.cluster.refuses, w.cluster.lists = refusals{deletes: map[string]bool{}}, 0
		w.watch.start()
		stored := w.cluster.job()
		before := stored.DeepCopy()
		stored.Spec.Suspend = ptr.To(false)
		stored.Spec.Parallelism = ptr.To(max(ptr.Deref(stored.Spec.Parallelism, 1), 1))
		w.cluster.edited(before, stored)
	})
	w.tellSpec()
	// A signal may wait for a call that the API server has not answered yet.
	for later := range 3 {
		w.agenda.Plan(time.Now().Add(time.Duration(later+1)*time.Minute), func() {
			w.cluster.do(func() {
				stored := w.cluster.job()
				before := stored.DeepCopy()
				stored.Spec.Suspend = ptr.To(false)
				w.cluster.edited(before, stored)
			})
			w.tellSpec()
		})
	}
}
