package workflows

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/packed"
)

func mailboxEnvironment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestWorkflowEnvironment()
	environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{Interceptor(Options{})}})
	return environment
}

// Many large signals take long to decode, and the SDK takes a coroutine that does not let others go on for a deadlock.
func TestOthersGoOnWhileManySignalsAreTaken(t *testing.T) {
	const signals = 100
	environment := mailboxEnvironment()
	taken, turns := 0, 0
	environment.RegisterDelayedCallback(func() {
		for range signals {
			environment.SignalWorkflow("any", nil)
		}
	}, time.Second)
	environment.ExecuteWorkflow(func(ctx workflow.Context) error {
		box := mailboxOf(ctx)
		if err := workflow.Sleep(ctx, 2*time.Second); err != nil {
			return err
		}
		over := false
		workflow.Go(ctx, func(ctx workflow.Context) {
			_ = workflow.Await(ctx, func() bool {
				turns++
				return over
			})
		})
		for range box.drain(ctx) {
			taken++
		}
		over = true
		return nil
	})
	if err := environment.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if taken != signals || turns < signals/drainAtATime-1 {
		t.Errorf("%d signals were taken, and another had %d turns meanwhile", taken, turns)
	}
}

// A turn that lasts longer than the SDK allows ends its workflow task with an error. The SDK's own way to stop its clock
// while a payload is decoded (workflow.DataConverterWithoutDeadlockDetection) can hold such a task, and the worker's place
// for it, for ever.
func TestASlowTurnDoesNotHoldItsWorkflowTask(t *testing.T) {
	payload, err := converter.GetDefaultDataConverter().ToPayload("x")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		environment := mailboxEnvironment()
		environment.SetWorkerOptions(worker.Options{
			Interceptors: []interceptor.WorkerInterceptor{Interceptor(Options{})}, DeadlockDetectionTimeout: time.Millisecond,
		})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			environment.ExecuteWorkflow(func(ctx workflow.Context) error {
				for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
					open[string](ctx, message{signal: "any", payload: payload})
				}
				return nil
			})
		}()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("the workflow task goes on")
		}
		if err := environment.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "deadlock") {
			t.Fatalf("the workflow ended with %v", err)
		}
	}
}

// Temporal gives a workflow task up after ten seconds: large signals are not all taken in one.
func TestLargeSignalsAreTakenInManyTasks(t *testing.T) {
	const signals = 50
	compressed, err := packed.Marshal(strings.Repeat("x", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		argument any
		tasks    int
	}{
		"small":      {"x", 1},
		"long":       {strings.Repeat("x", 100_000), signals / largeATask},
		"compressed": {json.RawMessage(compressed), signals / largeATask},
	} {
		t.Run(name, func(t *testing.T) {
			environment := mailboxEnvironment()
			environment.RegisterDelayedCallback(func() {
				for range signals {
					environment.SignalWorkflow("any", test.argument)
				}
			}, time.Second)
			taken, timers := 0, 0
			environment.SetOnTimerScheduledListener(func(string, time.Duration) { timers++ })
			environment.ExecuteWorkflow(func(ctx workflow.Context) error {
				box := mailboxOf(ctx)
				// All of them wait by then.
				if err := workflow.Sleep(ctx, 2*time.Second); err != nil {
					return err
				}
				timers = 0
				for range box.drain(ctx) {
					taken++
				}
				return nil
			})
			if err := environment.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if taken != signals || timers < test.tasks-1 || timers > test.tasks {
				t.Errorf("%d signals were taken, with %d timers in between", taken, timers)
			}
		})
	}
}

// unreadable is a payload that the data converter can't take.
const unreadable = "unreadable"

type converterOfMost struct{ converter.DataConverter }

func (c converterOfMost) FromPayload(payload *commonpb.Payload, value any) error {
	if strings.Contains(string(payload.GetData()), unreadable) {
		return errors.New(unreadable)
	}
	return c.DataConverter.FromPayload(payload, value)
}

func (c converterOfMost) FromPayloads(payloads *commonpb.Payloads, values ...any) error {
	for index, payload := range payloads.GetPayloads() {
		if err := c.FromPayload(payload, values[index]); err != nil {
			return err
		}
	}
	return nil
}

// callers puts into the header of each signal the name that its argument has.
type callers struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase
}

func (c *callers) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	c.Next = next
	return c
}

func (c *callers) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	argument := in.Arg.GetPayloads()[0].GetData()
	name, _, _ := strings.Cut(strings.Trim(string(argument), `"`), " ")
	payload, err := converter.GetDefaultDataConverter().ToPayload("kubernetes:" + name)
	interceptor.WorkflowHeader(ctx)[names.CallerHeader] = payload
	return errors.Join(err, c.Next.HandleSignal(ctx, in))
}

// The SDK drops a signal that can't be decoded: its sender is not to be taken for another's.
func TestASignalThatIsDroppedLeavesTheOthersTheirCallers(t *testing.T) {
	for name, test := range map[string]struct{ sent, want []string }{
		"none":    {[]string{"ada", "bob"}, []string{"ada: ada", "bob: bob"}},
		"first":   {[]string{"eve " + unreadable, "ada", "bob"}, []string{"ada: ada", "bob: bob"}},
		"between": {[]string{"ada", "eve " + unreadable, "eve " + unreadable, "bob"}, []string{"ada: ada", "bob: bob"}},
		"last":    {[]string{"ada", "eve " + unreadable}, []string{"ada: ada"}},
		"all":     {[]string{"eve " + unreadable, "eve " + unreadable}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			environment := mailboxEnvironment()
			environment.SetDataConverter(converterOfMost{converter.GetDefaultDataConverter()})
			environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&callers{}, Interceptor(Options{})}})
			send := func(arguments ...string) func() {
				return func() {
					for _, argument := range arguments {
						environment.SignalWorkflow("suspend", argument)
					}
				}
			}
			environment.RegisterDelayedCallback(send(test.sent...), time.Second)
			environment.RegisterDelayedCallback(send("zoe"), 3*time.Second)
			var taken []string
			environment.ExecuteWorkflow(func(ctx workflow.Context) error {
				box := mailboxOf(ctx)
				for range 2 {
					if err := workflow.Sleep(ctx, 2*time.Second); err != nil {
						return err
					}
					for received := range box.drain(ctx) {
						taken = append(taken, strings.Trim(string(received.payload.GetData()), `"`)+": "+received.caller)
					}
				}
				return nil
			})
			if err := environment.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if want := append(test.want, "zoe: zoe"); !slices.Equal(taken, want) {
				t.Errorf("taken %q, want %q", taken, want)
			}
		})
	}
}
