package deploy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// TestHowMuchOstinatosTokensWrite: who has a token of Ostinato's fills etcd by no Event and no status, and what Ostinato
// writes is admitted.
func TestHowMuchOstinatosTokensWrite(t *testing.T) {
	h := newHands(t)
	bridge, err := deployment.Clients(t.Context(), stack.Stack, deployment.BridgeAccount)
	fatal(t, err)
	// As somebody else's controller would: it stays where Ostinato writes.
	_, err = stack.Kubernetes.BatchV1().Jobs(h.namespace).Patch(t.Context(), h.second.Name, types.MergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"example.com/seen","status":"True","message":"`+strings.Repeat("x", 5000)+`"}]}}`), metav1.PatchOptions{}, "status")
	fatal(t, err)
	const now = `"2026-01-01T00:00:00Z"`
	condition := func(kind, message string) string {
		return `{"conditions":[{"type":"` + kind + `","status":"True","reason":"ByHand","message":"` + message + `","lastTransitionTime":` + now + `}]}`
	}
	emit := func(client kubernetes.Interface, kind, reason, message string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := client.CoreV1().Events(h.namespace).Create(ctx, &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{GenerateName: "by-hand-"},
				InvolvedObject: corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: h.namespace, Name: h.ours.Name, UID: h.ours.UID},
				Type:           kind, Reason: reason, Message: message,
			}, metav1.CreateOptions{DryRun: dryRun})
			return err
		}
	}
	job := func(status string) func(context.Context) error {
		return func(ctx context.Context) error { return h.patchJob(ctx, h.ours, `{"status":`+status+`}`, "status") }
	}
	cronJob := func(clients k8s.CronJobsGetter, status string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := clients.CronJobs(h.namespace).Patch(ctx, h.cronJob.Name, types.MergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{DryRun: dryRun}, "status")
			return err
		}
	}
	// Others' conditions are not the bridge's to leave out.
	apply := func(message string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := bridge.CronJobs.CronJobs(h.namespace).Patch(ctx, h.cronJob.Name, types.ApplyPatchType, []byte(`{"apiVersion":"batch.ostinato.dev/v1","kind":"CronJob","status":`+
				condition("WorkflowPaused", message)+`}`), metav1.PatchOptions{DryRun: dryRun, FieldManager: k8s.BridgeFieldManager, Force: ptr.To(true)}, "status")
			return err
		}
	}
	var indexes, uids []string
	for i := range 75_000 {
		indexes = append(indexes, strconv.Itoa(1_000_000+2*i))
	}
	for i := range 1001 {
		uids = append(uids, strconv.Quote(strconv.Itoa(i)))
	}
	indexed := stack.CreateJob(t, h.namespace, "indexed", harness.JobSpec(suspended, harness.Indexed(10_000_000), func(spec *batchv1.JobSpec) { spec.Parallelism = ptr.To[int32](1) }))
	long := strings.Repeat("x", 900_000)
	run := func(fields string) string { return `{"recentRuns":[{"scheduledTime":` + now + fields + `}]}` }
	many := func(item string, count int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", count), ",") + "]"
	}
	reference := `{"kind":"Job","namespace":"` + h.namespace + `","name":"x","uid":"y","apiVersion":"batch/v1"}`
	type attempt struct {
		act func(context.Context) error
		// refused is part of what the API server says; empty: admitted.
		refused string
	}
	attempts := map[string]attempt{
		"an Event of 900 kB":                   {emit(h.worker, "Warning", "FailedCreate", long), "1056 characters at most"},
		"an Event of 900 kB, by the bridge":    {emit(bridge.Kubernetes, "Warning", "RunOverdue", long), "1056 characters at most"},
		"an Event with a reason of one's own":  {emit(h.worker, "Warning", "Evil1", "x"), "no Event of this type and reason"},
		"an Event of another type":             {emit(h.worker, "Normal", "FailedCreate", "x"), "no Event of this type and reason"},
		"the longest Event, combined":          {emit(h.worker, "Warning", "FailedCreate", "(combined from similar events): "+strings.Repeat("x", event.MaxMessage)), ""},
		"a condition of 900 kB":                {job(`{"conditions":[{"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded","message":"` + long + `"}]}`), "1024 characters at most"},
		"a Job's condition for another reason": {job(condition("FailureTarget", "x")), "reasons of its own"},
		"a condition of one's own":             {job(condition("evil.example/x", "x")), "its own conditions of Jobs"},
		"a condition of Ostinato's":            {job(`{"conditions":[{"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded","message":"x"}]}`), ""},
		"a condition's status of 900 kB":       {job(`{"conditions":[{"type":"FailureTarget","status":"` + long + `"}]}`), "its own conditions of Jobs"},
		"900 conditions of one type":           {job(`{"conditions":` + many(`{"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded","message":"`+long[:1000]+`"}`, 900) + `}`), "conditions of Jobs at most"},
		"another's condition, twice": {func(ctx context.Context) error {
			another := `{"type":"example.com/seen","status":"True","message":"` + strings.Repeat("x", 5000) + `"}`
			return h.patchJob(ctx, h.second, `{"status":{"conditions":`+many(another, 100)+`}}`, "status")
		}, "conditions of Jobs at most"},
		"an Event of a component of 900 kB": {func(ctx context.Context) error {
			_, err := h.worker.CoreV1().Events(h.namespace).Create(ctx, &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "by-hand-"}, InvolvedObject: corev1.ObjectReference{Namespace: h.namespace},
				Type: "Warning", Reason: "FailedCreate", Source: corev1.EventSource{Component: long},
			}, metav1.CreateOptions{DryRun: dryRun})
			return err
		}, "253 characters at most"},
		"an Event with a related object": {func(ctx context.Context) error {
			_, err := h.worker.CoreV1().Events(h.namespace).Create(ctx, &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "by-hand-"}, InvolvedObject: corev1.ObjectReference{Namespace: h.namespace},
				Type: "Warning", Reason: "FailedCreate", Related: &corev1.ObjectReference{Name: long},
			}, metav1.CreateOptions{DryRun: dryRun})
			return err
		}, "253 characters at most"},
		"indexes of 900 kB": {func(ctx context.Context) error {
			return h.patchJob(ctx, indexed, `{"status":{"completedIndexes":"`+strings.Join(indexes, ",")+`"}}`, "status")
		}, "524288 characters at most"},
		"a thousand uncounted Pods":            {job(`{"uncountedTerminatedPods":{"failed":[` + strings.Join(uids, ",") + `]}}`), "uncounted Pods at most"},
		"an uncounted Pod of 900 kB":           {job(`{"uncountedTerminatedPods":{"failed":["` + long + `"]}}`), "uncounted Pods at most"},
		"a counter":                            {job(`{"failed":1}`), ""},
		"a counter beside another's condition": {func(ctx context.Context) error { return h.patchJob(ctx, h.second, `{"status":{"failed":1}}`, "status") }, ""},
		"lastOutcome of 900 kB":                {cronJob(h.cronJobs, `{"lastOutcome":"`+long+`"}`), "Unsupported value"},
		"an outcome of one's own":              {cronJob(h.cronJobs, run(`,"outcome":"Evil"`)), "Unsupported value"},
		"a run's reason of one's own":          {cronJob(h.cronJobs, run(`,"outcome":"Started","reason":"Evil"`)), "Unsupported value"},
		"a last result of one's own":           {cronJob(h.cronJobs, `{"lastResult":"Evil"}`), "should match"},
		"a word of one's own for next":         {cronJob(h.cronJobs, `{"next":"Evil"}`), "should match"},
		"a way to ask of one's own":            {cronJob(h.cronJobs, run(`,"outcome":"Started","through":"Evil"`)), "Unsupported value"},
		"a claimed name of 900 kB":             {cronJob(h.cronJobs, run(`,"outcome":"Started","by":"`+long+`"`)), "Too long"},
		"who has asked":                        {cronJob(h.cronJobs, run(`,"outcome":"Started","by":"ada","through":"update","changed":"concurrencyPolicy Allow"`)), ""},
		"a negative activeCount":               {cronJob(h.cronJobs, `{"activeCount":-1}`), "greater than or equal to 0"},
		"what sums a status up":                {cronJob(h.cronJobs, `{"activeCount":1,"lastResult":"Failed x2","next":"2026-01-02T03:04:05Z"}`), ""},
		"a message of 900 kB":                  {cronJob(h.cronJobs, run(`,"outcome":"Started","message":"`+long+`"`)), "Too long"},
		"eleven recent runs":                   {cronJob(h.cronJobs, `{"recentRuns":`+many(`{"scheduledTime":`+now+`,"outcome":"Started"}`, 11)+`}`), "Too many"},
		"1,001 active Jobs":                    {cronJob(h.cronJobs, `{"active":`+many(reference, 1001)+`}`), "Too many"},
		"an active Job with a name of 900 kB":  {cronJob(h.cronJobs, `{"active":[{"kind":"Job","name":"`+long+`"}]}`), "Too long"},
		"a CronJob's condition of 30 kB":       {cronJob(h.cronJobs, condition("Suspended", long[:30_000])), "1024 characters at most"},
		"a CronJob's condition of one's own":   {cronJob(h.cronJobs, condition("Evil", "x")), "its own conditions of CronJobs"},
		"a reason of one's own":                {cronJob(h.cronJobs, condition("Ready", "x")), "with reasons of its own"},
		"the bridge's condition of 30 kB":      {apply(long[:30_000]), "1024 characters at most"},
		"the bridge's condition":               {apply("x"), ""},
		"a workflow with an ID of 900 kB":      {cronJob(h.cronJobs, `{"workflow":{"namespace":"default","id":"`+long+`"}}`), "Too long"},
		"what a workflow writes":               {cronJob(h.cronJobs, `{"lastOutcome":"Started","active":[`+reference+`]}`), ""},
	}
	for _, outcome := range ledger.Outcomes {
		attempts["outcome "+string(outcome)] = attempt{cronJob(h.cronJobs, run(fmt.Sprintf(`,"outcome":%q,"result":"Deleted","jobName":"y"`, outcome))), ""}
	}
	for _, reason := range ledger.Reasons {
		attempts["a run's reason "+reason] = attempt{cronJob(h.cronJobs, run(fmt.Sprintf(`,"outcome":"StartedLate","reason":%q`, reason))), ""}
	}
	for _, kind := range []string{"Normal", "Warning"} {
		for _, reason := range event.Reasons(kind) {
			attempts[kind+" "+reason] = attempt{emit(h.worker, kind, reason, "x"), ""}
		}
	}
	for _, reason := range event.OfBridge {
		attempts["the bridge's "+reason] = attempt{emit(bridge.Kubernetes, "Warning", reason, "x"), ""}
	}
	// A policy is in force a moment after it is stored.
	for _, name := range []string{"an Event with a reason of one's own", "a condition of one's own", "a CronJob's condition of one's own"} {
		harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
			if err := attempts[name].act(ctx); err == nil {
				return fmt.Errorf("%s is admitted", name)
			}
			return nil
		})
	}
	for name, attempt := range attempts {
		t.Run(name, func(t *testing.T) {
			err := attempt.act(t.Context())
			switch {
			case attempt.refused == "" && err != nil:
				t.Errorf("refused: %.300s", err)
			case attempt.refused != "" && (!apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), attempt.refused)):
				t.Errorf("%.300v, want it to be refused with %q", err, attempt.refused)
			}
		})
	}
}
