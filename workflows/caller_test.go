package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/workflows"
)

// headed puts a header on signals and updates, as the test environment does not.
type headed struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase
	caller any
}

func (h *headed) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &headed{caller: h.caller}
	inbound.Next = next
	return inbound
}

func (h *headed) stamp(ctx workflow.Context) {
	if made, ok := h.caller.(*commonpb.Payload); ok {
		interceptor.WorkflowHeader(ctx)[names.CallerHeader] = made
		return
	}
	if payload, err := converter.GetDefaultDataConverter().ToPayload(h.caller); err == nil && h.caller != nil {
		interceptor.WorkflowHeader(ctx)[names.CallerHeader] = payload
	}
}

func (h *headed) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	h.stamp(ctx)
	return h.Next.HandleSignal(ctx, in)
}

func (h *headed) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	h.stamp(ctx)
	return h.Next.ExecuteUpdate(ctx, in)
}

// newHeadedKube is one whose signals and updates come with a header. Where it is believed the activities do so, too.
func newHeadedKube(t *testing.T, caller any, believed bool) *cronJobKube {
	options := workflows.Options{CallerHeader: believed}
	k := newCronJobKubeWith(t, client.MetricsNopHandler, options)
	k.believes = believed
	k.environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&headed{caller: caller}, workflows.Interceptor(options)}})
	return k
}

// What the header names reaches the activities, which decide. Its value is whatever a writer of Temporal likes.
func TestTheHeaderOfASignalNamesAUser(t *testing.T) {
	blanks := callerHeader(t, "kubernetes:ada").GetFields()[names.CallerHeader]
	blanks.Data = append([]byte(strings.Repeat(" ", 1<<20)), blanks.GetData()...)
	encoded := callerHeader(t, "kubernetes:ada").GetFields()[names.CallerHeader]
	encoded.Metadata[converter.MetadataEncoding] = []byte("binary/unknown")
	for name, test := range map[string]struct {
		caller any
		want   string
	}{
		"a person":                {"kubernetes:ada@example.com", "ada@example.com"},
		"a service account":       {"kubernetes:system:serviceaccount:shop:robot", "system:serviceaccount:shop:robot"},
		"no header":               {nil, ""},
		"a program":               {"certificate:bridge", ""},
		"Temporal itself":         {"temporal-internal:temporal-system", ""},
		"a name of no kind":       {"ada", ""},
		"no name":                 {"kubernetes:", ""},
		"a megabyte":              {"kubernetes:" + strings.Repeat("x", 1<<20), ""},
		"as long as a name is":    {"kubernetes:" + strings.Repeat("x", 512), strings.Repeat("x", 512)},
		"longer than a name is":   {"kubernetes:" + strings.Repeat("x", 513), ""},
		"a megabyte of blanks":    {blanks, ""},
		"an unknown encoding":     {encoded, ""},
		"a number":                {7, ""},
		"an object":               {map[string]string{"user": "ada"}, ""},
		"bytes":                   {[]byte("kubernetes:ada"), ""},
		"control characters":      {"kubernetes:ada\x1b[2J", ""},
		"a line's end":            {"kubernetes:ada\nbob", ""},
		"a zero-width space":      {"kubernetes:ada\u200b", ""},
		"text that runs leftward": {"kubernetes:\u202eada", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := newHeadedKube(t, test.caller, true)
			k.signal(5*time.Second, protocol.TriggerSignal, nil)
			k.signal(8*time.Second, protocol.SuspendSignal, nil)
			k.updateOf(protocol.TriggerUpdate, 11*time.Second)
			k.update(14*time.Second, hours(3, 3))
			k.runUntil(2*time.Minute, cron("0 * * * *", allow))
			var callers []string
			for _, request := range k.requests {
				if start := request.Start; start != nil && start.Manual {
					callers = append(callers, start.Caller+start.User)
				}
			}
			expectList(t, "callers of a signal, an update and a backfill", callers, test.want, test.want, clip.Message(test.want))
			assert.Equal(t, test.want, k.suspends[0].Caller)
		})
	}
}

// The ledger, the status and what the Temporal UI shows name the user where an activity has believed the header, and only there.
func TestTheLedgerNamesTheUserWhereTheHeaderIsBelieved(t *testing.T) {
	var commands []int
	for believed, want := range map[bool]struct {
		trigger, backfill ledger.Asked
		details           string
	}{
		true: {
			ledger.Asked{By: "bob", User: "ada", Through: "signal"}, ledger.Asked{User: "ada", Through: "update"},
			"(by ada (claims to be bob))",
		},
		false: {ledger.Asked{By: "bob", Through: "signal"}, ledger.Asked{Through: "update"}, "(by bob (claimed))"},
	} {
		k := newHeadedKube(t, "kubernetes:ada", believed)
		k.signal(5*time.Second, protocol.TriggerSignal, map[string]string{"by": "bob"})
		k.update(30*time.Second, hours(3, 3))
		k.after(50*time.Second, func() {
			rows := k.ledger().Rows
			if len(rows) != 3 || rows[2].Asked != want.trigger || rows[0].Asked != want.backfill {
				t.Errorf("believed %t: rows %+v", believed, rows)
			}
			described := k.described()
			assert.Equal(t, want.trigger, described.Ledger[0].Asked)
			assert.Contains(t, k.details(), want.details)
		})
		k.signal(55*time.Second, protocol.SuspendSignal, map[string]string{"by": "bob"})
		k.runUntil(2*time.Minute, cron("0 * * * *", allow))
		last := k.suspenders[len(k.suspenders)-1]
		assert.Equal(t, schedule.Suspender{By: "bob", User: want.trigger.User}, last)
		row := k.status.RecentRuns[len(k.status.RecentRuns)-1]
		assert.Equal(t, want.trigger, ledger.Asked{By: row.By, User: row.User, Through: row.Through})
		commands = append(commands, len(k.requests)+len(k.suspends)+k.timers)
	}
	assert.Equal(t, commands[0], commands[1], "no more is done for a name")
}

// Where people can start workflows, they can make up a state: the worker shows no name in it for a user's.
func TestAMadeUpStateNamesNoUser(t *testing.T) {
	for believed, want := range map[bool]ledger.Asked{true: {User: "root", Through: "job"}, false: {By: "root", Through: "job"}} {
		k := newHeadedKube(t, nil, believed)
		spec := cron("0 * * * *", allow)
		row := ledger.Entry{Scheduled: cronStart.Add(-time.Hour), Outcome: ledger.Started, Job: "hello-x", Manual: true, Asked: ledger.Asked{User: "root", Through: "job"}}
		state := schedule.State{
			Identity: schedule.Identity{Namespace: hello.Namespace, Name: hello.Name, UID: hello.UID},
			Ledger:   ledger.Ledger{Entries: []ledger.Entry{row}}, Settled: cronStart, LastScheduled: cronStart,
		}
		k.after(5*time.Second, func() {
			assert.Equal(t, want, k.described().Ledger[0].Asked)
			assert.Equal(t, want.By, k.described().Status.RecentRuns[0].By)
			assert.Equal(t, want, k.ledger().Rows[0].Asked)
		})
		k.signal(10*time.Second, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
		if err := k.runInput(protocol.CronJobInput{CronJob: hello, Spec: spec, State: &state}); err != nil {
			t.Error(err)
		}
	}
}

// The answer to an attempt may be lost. Then the bridge tells the workflow of the suspension before the attempt is repeated.
func TestASuspensionThatWasHeardOfBeforeItsAnswerNamesItsUser(t *testing.T) {
	k := newHeadedKube(t, "kubernetes:ada", true)
	k.after(5*time.Second, func() {
		k.stayAwake, k.object.Suspend = true, true
		k.object.Generation++
		k.send(protocol.CronJobSpecSignal, protocol.CronJobSpec{CronJob: hello, Spec: k.object})
	})
	k.signal(10*time.Second, protocol.SuspendSignal, map[string]string{"by": "oncall"})
	k.after(15*time.Second, func() { k.send(protocol.CronJobSpecSignal, protocol.CronJobSpec{CronJob: hello, Spec: k.object}) })
	k.runUntil(time.Minute, cron("0 * * * *", allow))
	assert.Equal(t, schedule.Suspender{By: "oncall", User: "ada"}, k.suspenders[len(k.suspenders)-1])
}
