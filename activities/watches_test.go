package activities_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/protocol"
)

var onlyShard = protocol.PodWatchInput{Shard: 0, Shards: 1}

// genuine is what Temporal says of an activity of the one shard's own workflow.
func genuine(info *activity.Info) {
	info.Namespace, info.TaskQueue = "temporal-namespace", "ostinato-watch"
	info.WorkflowExecution.ID, info.WorkflowExecution.RunID = "podwatch/0-of-1", "run-1"
	info.WorkflowType = &workflow.Type{Name: protocol.PodWatchWorkflow}
	info.ActivityID, info.ActivityRunID, info.Attempt = "5", "", 1
}

// but is genuine, with something of it changed.
func but(change func(*activity.Info)) func(*activity.Info) {
	return func(info *activity.Info) {
		genuine(info)
		change(info)
	}
}

// asker makes an activity learn what Temporal says of it.
type asker struct {
	interceptor.WorkerInterceptorBase
	says func(*activity.Info)
}

func (a *asker) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &askedInbound{interceptor.ActivityInboundInterceptorBase{Next: next}, a.says}
}

type askedInbound struct {
	interceptor.ActivityInboundInterceptorBase
	says func(*activity.Info)
}

func (i *askedInbound) Init(outbound interceptor.ActivityOutboundInterceptor) error {
	return i.Next.Init(&askedOutbound{interceptor.ActivityOutboundInterceptorBase{Next: outbound}, i.says})
}

type askedOutbound struct {
	interceptor.ActivityOutboundInterceptorBase
	says func(*activity.Info)
}

func (o *askedOutbound) GetInfo(ctx context.Context) activity.Info {
	info := o.Next.GetInfo(ctx)
	o.says(&info)
	return info
}

// watch is an activity that was asked for: it has begun when it heartbeats, and ended with an error. Stopping its worker
// ends it as well as cancelling it.
type watch struct {
	begun        chan struct{}
	ended        chan error
	cancel, stop func()
}

// watch asks a process for the watch of a shard.
func (s *stage) watch(input protocol.PodWatchInput, says func(*activity.Info)) *watch {
	ctx, cancel := context.WithCancel(s.t.Context())
	stopped := make(chan struct{})
	made := &watch{begun: make(chan struct{}), ended: make(chan error, 1), cancel: cancel, stop: func() { close(stopped) }}
	environment := s.environment()
	environment.SetWorkerOptions(worker.Options{
		BackgroundActivityContext: ctx, Interceptors: []interceptor.WorkerInterceptor{&asker{says: says}},
	})
	environment.SetWorkerStopChannel(stopped)
	var heard atomic.Bool
	environment.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) {
		if !heard.Swap(true) {
			close(made.begun)
		}
	})
	go func() {
		_, err := environment.ExecuteActivity(protocol.WatchPodsActivity, input)
		made.ended <- err
	}()
	return made
}

// patience is how long a test waits for what takes milliseconds.
const patience = 20 * time.Second

// begins returns when the watch has begun.
func (w *watch) begins(t *testing.T) {
	t.Helper()
	select {
	case <-w.begun:
	case err := <-w.ended:
		t.Fatalf("the watch ended with %v before it began", err)
	case <-time.After(patience):
		t.Fatal("the watch does not begin")
	}
}

// ends returns the error of a watch, which has ended.
func (w *watch) ends(t *testing.T) error {
	t.Helper()
	select {
	case err := <-w.ended:
		return err
	case <-time.After(patience):
		t.Fatal("the watch does not end")
		return nil
	}
}

// refused returns the error of a watch that does not begin.
func (w *watch) refused(t *testing.T) error {
	t.Helper()
	select {
	case err := <-w.ended:
		return err
	case <-w.begun:
		t.Error("the watch begins")
	case <-time.After(patience):
		t.Error("the watch neither begins nor is refused")
	}
	return nil
}

// goesOn checks that a watch that has begun has not ended.
func (w *watch) goesOn(t *testing.T) {
	t.Helper()
	select {
	case err := <-w.ended:
		t.Errorf("the watch ended with %v", err)
	default:
	}
}

func TestAProcessWatchesAShardOnce(t *testing.T) {
	s := newStage(t, nil, nil)
	first := s.watch(onlyShard, genuine)
	first.begins(t)
	// The first watch may still ask for Jobs.
	aboutPods := func() (count int) {
		for _, action := range s.kubernetes.Actions() {
			if action.GetResource().Resource == "pods" {
				count++
			}
		}
		return count
	}
	asked := aboutPods()
	for who, says := range map[string]func(*activity.Info){
		"another activity of its run":      but(func(info *activity.Info) { info.ActivityID = "6" }),
		"the next attempt":                 but(func(info *activity.Info) { info.Attempt = 2 }),
		"the next run of its workflow":     but(func(info *activity.Info) { info.WorkflowExecution.RunID = "run-2" }),
		"the same again, by a lost answer": genuine,
	} {
		err := s.watch(onlyShard, says).refused(t)
		var refused *temporal.ApplicationError
		if !errors.As(err, &refused) || refused.Type() != activities.AlreadyWatchedErrorType {
			t.Errorf("%s: error %v", who, err)
			continue
		}
		// It may be the genuine one, whose turn comes when the first has ended.
		if refused.NonRetryable() || refused.NextRetryDelay() != time.Second {
			t.Errorf("%s: non-retryable %v, else after %v", who, refused.NonRetryable(), refused.NextRetryDelay())
		}
	}
	first.goesOn(t)
	if now := aboutPods(); now != asked {
		t.Errorf("the API server was asked for Pods %d times", now-asked)
	}
	if got := s.metric(requestsRefused, protocol.WatchPodsActivity, activities.AlreadyWatchedErrorType); got != 4 {
		t.Errorf("counted %v times", got)
	}
}

func TestOfManyWatchesOfAShardThatAreAskedForAtOnceOneBegins(t *testing.T) {
	const count = 40
	s := newStage(t, nil, nil)
	begun, refused := make(chan struct{}, count), make(chan struct{}, count)
	for range count {
		one := s.watch(onlyShard, genuine)
		go func() {
			select {
			case <-one.begun:
				begun <- struct{}{}
			case <-one.ended:
				refused <- struct{}{}
			}
		}()
	}
	deadline := time.After(patience)
	for range count - 1 {
		select {
		case <-refused:
		case <-deadline:
			t.Fatalf("%d watches have begun", len(begun))
		}
	}
	select {
	case <-begun:
	case <-refused:
		t.Error("none has begun")
	case <-deadline:
		t.Error("the last one neither begins nor is refused")
	}
}

func TestTheNextWatchOfAShardBeginsWhenTheOneBeforeHasEnded(t *testing.T) {
	for how, end := range map[string]func(*watch){
		"cancelled, or lost to Temporal": func(w *watch) { w.cancel() },
		"given up by its worker":         func(w *watch) { w.stop() },
	} {
		t.Run(how, func(t *testing.T) {
			s := newStage(t, nil, nil)
			before := s.watch(onlyShard, genuine)
			before.begins(t)
			end(before)
			if err := before.ends(t); err == nil {
				t.Error("it ended without an error")
			}
			s.watch(onlyShard, but(func(info *activity.Info) { info.Attempt = 2 })).begins(t)
		})
	}
	t.Run("of a shard that can't be", func(t *testing.T) {
		s := newStage(t, nil, nil)
		for range 2 {
			impossible := but(func(info *activity.Info) { info.WorkflowExecution.ID = "podwatch/7-of-2" })
			wantInvalid(t, s.watch(protocol.PodWatchInput{Shard: 7, Shards: 2}, impossible).refused(t))
		}
	})
}

func TestAProcessWatchesAllShards(t *testing.T) {
	s := newStage(t, nil, nil, func(options *activities.Options) { options.WatchShards = 2 })
	for shard, id := range []string{"podwatch/0-of-2", "podwatch/1-of-2"} {
		s.watch(protocol.PodWatchInput{Shard: shard, Shards: 2}, but(func(info *activity.Info) { info.WorkflowExecution.ID = id })).begins(t)
	}
}

func TestOnlyTheShardsOwnWorkflowHasItWatched(t *testing.T) {
	for who, says := range map[string]func(*activity.Info){
		"a workflow of another ID":        but(func(info *activity.Info) { info.WorkflowExecution.ID = "podwatch/mine" }),
		"a workflow of another type":      but(func(info *activity.Info) { info.WorkflowType = &workflow.Type{Name: "Watches"} }),
		"a workflow of another namespace": but(func(info *activity.Info) { info.Namespace = "tenant" }),
		"a local activity":                but(func(info *activity.Info) { info.IsLocalActivity = true }),
		"an activity of no workflow": but(func(info *activity.Info) {
			info.WorkflowType, info.WorkflowExecution = nil, workflow.Execution{}
		}),
		"a workflow of no type": but(func(info *activity.Info) { info.WorkflowType = nil }),
	} {
		t.Run(who, func(t *testing.T) {
			s := newStage(t, nil, nil)
			wantInvalid(t, s.watch(onlyShard, says).refused(t))
			if asked := s.kubernetes.Actions(); len(asked) != 0 {
				t.Errorf("the API server was asked: %v", asked)
			}
		})
	}
}
