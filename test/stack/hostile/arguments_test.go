package hostile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// argument is what a client that knows nothing of Ostinato sends with a signal.
type argument struct {
	name     string
	payloads *commonpb.Payloads
	// unread: nothing is made of it, which is to be told. A trigger with it is refused.
	unread bool
}

func payload(encoding, data string) *commonpb.Payload {
	return &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: []byte(data)}
}

func plainJSON(data string) *commonpb.Payloads {
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{payload("json/plain", data)}}
}

var arguments = []argument{
	{"none", nil, false},
	{"an empty list", &commonpb.Payloads{}, false},
	{"a payload of nothing", &commonpb.Payloads{Payloads: []*commonpb.Payload{{}}}, false},
	{"null", plainJSON(`null`), false},
	{"not JSON", plainJSON(`not json`), false},
	{"half of JSON", plainJSON(`{"note":`), true},
	{"unknown fields", plainJSON(`{"unknown":1}`), true},
	{"a number", plainJSON(`42`), false},
	{"a text", plainJSON(`"maintenance"`), false},
	{"a list", plainJSON(`[1,{"note":"x"},null]`), true},
	{"other types", plainJSON(`{"note":{"a":[1]},"by":7}`), false},
	{"bytes", &commonpb.Payloads{Payloads: []*commonpb.Payload{payload("binary/plain", "\xff\x00\x01")}}, true},
	{"an unknown encoding", &commonpb.Payloads{Payloads: []*commonpb.Payload{payload("binary/unheard-of", "\x89\xfe")}}, true},
	{"bytes called encrypted", &commonpb.Payloads{Payloads: []*commonpb.Payload{payload("binary/encrypted", "\x89\xfe")}}, true},
	{"three arguments", &commonpb.Payloads{Payloads: []*commonpb.Payload{payload("json/plain", `"a"`), payload("json/plain", `7`), {}}}, false},
}

// say sends a signal as it is, past the SDK, which would encode an argument. As the SDK does, it sends it again where the
// workflow is about to continue as new, and the server takes none.
func say(t *testing.T, workflowID, signal string, payloads *commonpb.Payloads) {
	t.Helper()
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		_, err := stack.Temporal.WorkflowService().SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID},
			SignalName: signal, Input: payloads,
		})
		var busy *serviceerror.ResourceExhausted
		if err != nil && !errors.As(err, &busy) {
			t.Fatalf("signal %s: %v", signal, err)
		}
		return err
	})
}

const (
	// inARow is how many signals of a name come at once.
	inARow = 200
	// crowded bounds what so many signals bring about: each trigger may make a Job with a Pod.
	crowded = 2 * harness.Bulk
	// lastWord is the note of the last signal.
	lastWord = "that was all"
)

// TestEveryArgumentIsAnswered: people type signals by hand. Whatever they give, a suspend and a resume do what they say and have
// an Event, a trigger has a row in the ledger and is refused where its argument can't be read, and the CronJob fires on.
func TestEveryArgumentIsAnswered(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	stack.AddCronJob(t, harness.NewCronJob(namespace, "typed", harness.Minutely, harness.JobSpec(harness.RunSeconds(1))))
	held := victim(t, namespace, "held", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	cronJob, job := harness.CronJobWorkflow(namespace, "typed"), harness.JobWorkflow(namespace, held.Name)

	began, unread := time.Now(), 0
	since := func(what string) { t.Logf("%s after %s", what, time.Since(began).Round(100*time.Millisecond)) }
	for n, argument := range arguments {
		for _, signal := range []string{protocol.SuspendSignal, protocol.TriggerSignal, protocol.ResumeSignal} {
			say(t, cronJob, signal, argument.payloads)
		}
		say(t, job, protocol.SuspendSignal, argument.payloads)
		say(t, job, protocol.ResumeSignal, argument.payloads)
		if argument.unread {
			unread++
		}
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			for kind, name := range map[string]string{"CronJob": "typed", "Job": held.Name} {
				reasons, err := stack.EventReasons(ctx, namespace, kind, name)
				if err != nil {
					return err
				}
				if taken, without := reasons["SignalTaken"], reasons["SignalArgumentUnread"]; taken != 2*(n+1-unread) || without != 2*unread {
					return fmt.Errorf("%s, %s: %d Events SignalTaken, %d SignalArgumentUnread, want %d and %d",
						argument.name, kind, taken, without, 2*(n+1-unread), 2*unread)
				}
			}
			return nil
		})
	}
	since("each argument is answered")

	for range inARow {
		say(t, cronJob, protocol.TriggerSignal, nil)
	}
	for n := range inARow {
		signal := []string{protocol.SuspendSignal, protocol.ResumeSignal}[n%2]
		say(t, cronJob, signal, nil)
		say(t, job, signal, nil)
	}
	say(t, cronJob, protocol.ResumeSignal, plainJSON(`"`+lastWord+`"`))
	say(t, job, protocol.ResumeSignal, plainJSON(`"`+lastWord+`"`))
	since("the signals in a row are sent")
	var rows []protocol.LedgerRow
	harness.Eventually(t, crowded, func(ctx context.Context) (err error) {
		found, err := stack.CronJob(ctx, namespace, "typed")
		if err != nil {
			return err
		}
		if found.Annotations[names.SuspendNoteAnnotation] != lastWord || *found.Spec.Suspend {
			return fmt.Errorf("the last resume is not taken yet: suspend %v, %v", *found.Spec.Suspend, found.Annotations)
		}
		pausable, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, held.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pausable.Annotations[names.SuspendNoteAnnotation] != lastWord || *pausable.Spec.Suspend {
			return fmt.Errorf("the Job's last resume is not taken yet: suspend %v, %v", *pausable.Spec.Suspend, pausable.Annotations)
		}
		if err := stack.PodsAre(ctx, namespace, held.Name, corev1.PodRunning, 1); err != nil {
			return err
		}
		if rows, err = stack.Ledger(ctx, namespace, "typed"); err != nil {
			return err
		}
		return everyTriggerAnswered(rows)
	})
	since("each of the signals in a row is answered")
	unreadRows := 0
	for _, row := range rows {
		if row.Manual && row.Reason == ledger.ReasonInvalidSignal && strings.HasPrefix(row.Message, "the signal's argument can't be read") {
			unreadRows++
		}
	}
	if unreadRows != unread {
		t.Errorf("%d rows say that an argument can't be read, want %d", unreadRows, unread)
	}
	jobsMatch(t, record, rows)

	next := time.Now().UTC().Truncate(time.Minute).Add(time.Minute)
	harness.Eventually(t, time.Until(next)+harness.Prompt, func(ctx context.Context) error {
		rows, err := stack.Ledger(ctx, namespace, "typed")
		if err != nil {
			return err
		}
		for _, row := range rows {
			if !row.Manual && row.Scheduled.Equal(next) {
				if row.Outcome != ledger.Started {
					return fmt.Errorf("the run of %s: %+v", next, row)
				}
				return stack.JobHas(ctx, namespace, row.Job, batchv1.JobComplete)
			}
		}
		return fmt.Errorf("the ledger has nothing for %s", next)
	})
	stack.LetGo(t, namespace, held.Name, 0)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, held.Name, batchv1.JobComplete) })
}

// everyTriggerAnswered returns nil when each trigger has its row.
func everyTriggerAnswered(rows []protocol.LedgerRow) error {
	count := map[string]int{}
	for _, row := range rows {
		switch {
		case !row.Manual:
		case row.Outcome == ledger.Started, row.Outcome == ledger.StartedLate:
			count["started"]++
		case row.Outcome == ledger.SkippedOverlap && row.Reason == ledger.ReasonTooManyTriggers:
			count["too many"]++
		case row.Outcome == ledger.FailedToCreate && row.Reason == ledger.ReasonInvalidSignal:
			count["refused"]++
		default:
			return fmt.Errorf("a trigger has the row %+v", row)
		}
	}
	if got, want := count["started"]+count["too many"]+count["refused"], len(arguments)+inARow; got != want {
		return fmt.Errorf("%d triggers have a row, want %d: %v", got, want, count)
	}
	if want := len(arguments) - count["refused"]; count["started"] < want {
		return fmt.Errorf("%d triggers started a run, want %d at least", count["started"], want)
	}
	return nil
}

// jobsMatch checks that the Jobs that were ever seen are those that the ledger names.
func jobsMatch(t *testing.T, record *harness.Record, rows []protocol.LedgerRow) {
	t.Helper()
	var told, made []string
	for _, row := range rows {
		if row.Manual && row.Outcome.HasJob() {
			told = append(told, row.Job)
		}
	}
	for _, job := range record.Jobs("typed") {
		if job.Annotations[names.InstantiateAnnotation] != "" {
			made = append(made, job.Name)
		}
	}
	slices.Sort(told)
	slices.Sort(made)
	if !slices.Equal(told, made) {
		t.Errorf("the ledger names %d Jobs, %d were made:\n%v\n%v", len(told), len(made), told, made)
	}
}
