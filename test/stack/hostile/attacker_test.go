package hostile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// answers bounds how long an activity of the attacker's may wait for its answer: a worker
// polls all the time, and the activities ask the API server a few things.
const answers = 20 * time.Second

// attacker has a worker of his own, on a task queue of his own, and schedules Ostinato's activities on Ostinato's queues.
// Activities serve an object's own workflow alone, so he takes its place: his has its ID and its type.
type attacker struct {
	queue string
	count atomic.Int64
}

// attack is what an attacker asks for; answer what comes back.
type (
	attack struct {
		Activity, Queue string
		Request         json.RawMessage
		// Heartbeat is the activity's heartbeat timeout; 0 for answers/2.
		Heartbeat time.Duration
	}
	answer struct {
		Result json.RawMessage
		// Error and Type are those of the activity's error; empty when there was none.
		Error, Type string
	}
)

// newAttacker starts the attacker's worker.
func newAttacker(t *testing.T) *attacker {
	t.Helper()
	a := &attacker{queue: "attacker-" + strings.ToLower(t.Name())}
	own := worker.New(stack.Temporal, a.queue, worker.Options{DisableRegistrationAliasing: true})
	for _, name := range []string{"Attack", protocol.JobWorkflow, protocol.CronJobWorkflow} {
		own.RegisterWorkflowWithOptions(attackWorkflow, workflow.RegisterOptions{Name: name})
	}
	if err := own.Start(); err != nil {
		t.Fatalf("start the attacker's worker: %v", err)
	}
	t.Cleanup(own.Stop)
	return a
}

func attackWorkflow(ctx workflow.Context, attack attack) (answer, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: attack.Queue, StartToCloseTimeout: answers / 2, ScheduleToCloseTimeout: answers,
		HeartbeatTimeout: cmp.Or(attack.Heartbeat, answers/2), RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var result json.RawMessage
	err := workflow.ExecuteActivity(ctx, attack.Activity, attack.Request).Get(ctx, &result)
	return answered(result, err), nil
}

func answered(result json.RawMessage, err error) answer {
	if err == nil {
		return answer{Result: result}
	}
	given := answer{Error: err.Error(), Type: fmt.Sprintf("%T", err)}
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		given.Type = application.Type()
	}
	return given
}

// queueOf is the task queue on which an activity is served.
func queueOf(activity string) string {
	cluster := names.Cluster("")
	switch activity {
	case protocol.WatchPodsActivity:
		return cluster.WatchTaskQueue()
	}
	return cluster.ControlTaskQueue()
}

// ask asks for an activity in the place of the workflow of the object that the request is about.
func (a *attacker) ask(t *testing.T, activity string, request any) answer {
	t.Helper()
	request = current(t, request)
	return a.askAs(t, asking.Own(request), activity, request)
}

// current returns the request with the basis of the CronJob's present status, which Temporal's histories tell.
func current(t *testing.T, request any) any {
	t.Helper()
	basis := func(reference protocol.ObjectReference) schedule.Basis {
		found, err := stack.CronJob(t.Context(), reference.Namespace, reference.Name)
		if err != nil {
			// The attack names no CronJob.
			return schedule.Basis{}
		}
		return schedule.Basis{Revision: found.Status.Revision}
	}
	switch request := request.(type) {
	case protocol.StartRunRequest:
		request.Basis = cmp.Or(request.Basis, basis(request.CronJob))
		return request
	case protocol.WriteStatusRequest:
		request.Basis = cmp.Or(request.Basis, basis(request.CronJob))
		return request
	case protocol.SetSuspendRequest:
		request.Basis = cmp.Or(request.Basis, basis(request.Object))
		return request
	}
	return request
}

// usurpations is how often the attacker takes the place of a workflow that is given back before he has his answer.
const usurpations = 3

// askAs asks for an activity from a workflow of the attacker's of this type and under this ID.
func (a *attacker) askAs(t *testing.T, as asking.Workflow, activity string, request any) answer {
	t.Helper()
	given, err := a.usurp(t.Context(), as, attack{Activity: activity, Queue: queueOf(activity), Request: json.RawMessage(text(t, request))})
	if err != nil {
		t.Fatal(err)
	}
	return given
}

// usurp runs an attack in the place of a workflow, which is terminated. The bridge gives the place back within a minute.
func (a *attacker) usurp(ctx context.Context, as asking.Workflow, attack attack) (given answer, err error) {
	for range usurpations {
		var run client.WorkflowRun
		run, err = stack.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: as.ID, TaskQueue: a.queue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
		}, as.Type, attack)
		if err != nil {
			return given, fmt.Errorf("start the attacker's workflow: %w", err)
		}
		if err = run.Get(ctx, &given); err == nil {
			return given, nil
		}
	}
	return given, fmt.Errorf("the attacker's workflow: %w", err)
}

// schedule asks for an activity from a workflow of the attacker's that takes no other's place.
func (a *attacker) schedule(t *testing.T, activity string, request any) answer {
	t.Helper()
	return a.askAs(t, asking.Workflow{Type: "Attack", ID: fmt.Sprintf("%s-%d", a.queue, a.count.Add(1))}, activity, request)
}

// standalone asks for an activity without any workflow.
func (a *attacker) standalone(t *testing.T, activity string, request any) answer {
	t.Helper()
	encoded, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := stack.Temporal.ExecuteActivity(t.Context(), client.StartActivityOptions{
		ID: fmt.Sprintf("%s-%d", a.queue, a.count.Add(1)), TaskQueue: queueOf(activity),
		StartToCloseTimeout: answers / 2, ScheduleToCloseTimeout: answers, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	}, activity, json.RawMessage(encoded))
	if err != nil {
		t.Fatalf("start a standalone activity: %v", err)
	}
	var result json.RawMessage
	err = handle.Get(t.Context(), &result)
	return answered(result, err)
}

// both asks for an activity in both ways that take no workflow's place.
func (a *attacker) both(t *testing.T, activity string, request any, check func(t *testing.T, given answer)) {
	t.Helper()
	for how, ask := range map[string]func(*testing.T, string, any) answer{"scheduled": a.schedule, "standalone": a.standalone} {
		t.Run(how, func(t *testing.T) { check(t, ask(t, activity, request)) })
	}
}

// tells decodes the answer of an activity that did not fail.
func tells[Result any](t *testing.T, given answer) (result Result) {
	t.Helper()
	if given.Error != "" {
		t.Fatalf("error %s: %s", given.Type, given.Error)
	}
	if err := json.Unmarshal(given.Result, &result); err != nil {
		t.Fatalf("result %s: %v", given.Result, err)
	}
	return result
}

// wantInvalid checks that the request was refused as one that nobody of Ostinato makes.
func wantInvalid(t *testing.T, given answer) {
	t.Helper()
	wantRefused(t, given, protocol.InvalidRequestErrorType)
}

// wantRefused checks that the request was refused, with an error of that type.
func wantRefused(t *testing.T, given answer, kind string) {
	t.Helper()
	if given.Type != kind {
		t.Errorf("answer %s, error %s %q, want %s", given.Result, given.Type, given.Error, kind)
	}
}

// wantSilence checks that nothing comes back of what only Pods of others say.
func wantSilence(t *testing.T, given answer) {
	t.Helper()
	if strings.Contains(string(given.Result)+given.Error, secret) {
		t.Errorf("the answer gives away what another's Pod says: %s%s", given.Result, given.Error)
	}
}
