package integration

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// Budgets of DESIGN: raise one only with its reason.
const (
	jobEventBudget = 13
	// One of them is the write of the status after the start, which nothing of the run waits for, and one sets the search
	// attributes at its end.
	fireEventBudget = 23
)

// A one-Pod run stays within the history budgets and the budget of writes.
func TestHistoryBudgetsOfAOnePodRun(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "hello", harness.Minutely, harness.JobSpec()))
	// The first run may have come due before the workflow began, which then waits for no timer. A call that has no answer in time
	// goes on as a regular activity, so one run may cost more than another.
	harness.Eventually(t, 4*harness.NextMinute, func(ctx context.Context) error {
		recorded, err := stack.History(ctx, harness.CronJobWorkflow(namespace, "hello"))
		if err != nil {
			return err
		}
		fires := firesOf(recorded.Events)
		// The last one goes on.
		for _, fire := range fires[:max(len(fires)-1, 0)] {
			if len(fire) <= fireEventBudget {
				return nil
			}
			err = fmt.Errorf("no fire is within the budget of %d events; one has %d: %v", fireEventBudget, len(fire), kinds(fire))
		}
		return cmp.Or(err, errors.New("the history shows no whole fire"))
	})
	harness.Eventually(t, harness.NextMinute, func(ctx context.Context) error { return complete(ctx, namespace, 2) })
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return onlyActive(ctx, namespace, "hello", 0) })
	jobs, err := stack.Jobs(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(jobs, func(job batchv1.Job) bool {
		events := historyOf(t, harness.JobWorkflow(namespace, job.Name)).Events
		t.Logf("%s has %d events: %v", job.Name, len(events), kinds(events))
		return len(events) <= jobEventBudget
	}) {
		t.Errorf("no Job is within the budget of %d events", jobEventBudget)
	}
	// A write that had no answer in time is repeated, so one run may cost more.
	var beyond []string
	for _, job := range jobs {
		over := overBudget(writesTo(t, namespace, job))
		if len(over) == 0 {
			return
		}
		beyond = append(beyond, fmt.Sprintf("%s: %s", job.Name, strings.Join(over, ", ")))
	}
	t.Errorf("no run is within the budget of writes: %v", beyond)
}

// overBudget lists the writes of a run that are beyond its budget.
func overBudget(writes map[string]int) []string {
	budget := map[string]int{
		"create jobs": 1, "create pods": 1, "update jobs/status": 2, "patch pods": 1, "update cronjobs/status": 2,
	}
	var over []string
	for kind, count := range writes {
		if count > budget[kind] {
			over = append(over, fmt.Sprintf("%d x %s, the budget is %d", count, kind, budget[kind]))
		}
	}
	return over
}

func historyOf(t *testing.T, workflowID string) *history.History {
	t.Helper()
	recorded, err := stack.History(t.Context(), workflowID)
	if err != nil {
		t.Fatal(err)
	}
	return recorded
}

func kinds(events []*history.HistoryEvent) []string {
	names := make([]string, len(events))
	for i, event := range events {
		names[i] = event.EventType.String()
	}
	return names
}

// firesOf cuts a CronJob's history at the firing of the timers with which runs start. What another timer wakes the workflow
// for belongs to the run before.
func firesOf(events []*history.HistoryEvent) [][]*history.HistoryEvent {
	var fires [][]*history.HistoryEvent
	for n, event := range events {
		if event.EventType == enums.EVENT_TYPE_TIMER_FIRED && startsRun(events[n+1:]) {
			fires = append(fires, nil)
		}
		if len(fires) > 0 && !ofVersion(event) {
			fires[len(fires)-1] = append(fires[len(fires)-1], event)
		}
	}
	return fires
}

// startsRun reports whether a run starts before the next timer fires.
func startsRun(events []*history.HistoryEvent) bool {
	for _, event := range events {
		switch event.EventType {
		case enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
			return true
		case enums.EVENT_TYPE_TIMER_FIRED:
			return false
		}
	}
	return false
}

// ofVersion reports whether an event notes a version of the workflow's code, once in a run of the workflow.
func ofVersion(event *history.HistoryEvent) bool {
	return event.GetMarkerRecordedEventAttributes().GetMarkerName() == "Version" || event.EventType == enums.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES
}

// writesTo counts the accepted writes of Ostinato for one run, Events and dry runs left
// out, as "verb resource". Writes to the CronJob's status count when they fall
// between the Job's creation and two seconds after its end.
func writesTo(t *testing.T, namespace string, job batchv1.Job) map[string]int {
	t.Helper()
	end := job.Status.CompletionTime.Add(3 * time.Second)
	writes := map[string]int{}
	for _, entry := range auditEntries(t) {
		object := entry.ObjectRef
		if object.Namespace != namespace || object.Resource == "events" || !strings.Contains(entry.UserAgent, "ostinato") || entry.ResponseStatus.Code >= 300 ||
			strings.Contains(entry.RequestURI, "dryRun=") {
			continue
		}
		aboutRun := object.Name == job.Name || strings.HasPrefix(object.Name, job.Name+"-")
		aboutCronJob := object.Resource == "cronjobs" && !entry.StageTimestamp.Time.Before(job.CreationTimestamp.Time) && entry.StageTimestamp.Time.Before(end)
		if aboutRun || aboutCronJob {
			resource := object.Resource
			if object.Subresource != "" {
				resource += "/" + object.Subresource
			}
			writes[entry.Verb+" "+resource]++
		}
	}
	return writes
}

type auditEntry struct {
	Verb           string           `json:"verb"`
	UserAgent      string           `json:"userAgent"`
	RequestURI     string           `json:"requestURI"`
	StageTimestamp metav1.MicroTime `json:"stageTimestamp"`
	User           struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func auditEntries(t *testing.T) []auditEntry {
	t.Helper()
	file, err := os.Open(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var entries []auditEntry
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry auditEntry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Fatalf("audit log: %v", err)
		}
		entries = append(entries, entry)
	}
	return entries
}

// scenarios are what TestHistory drives, each under a CronJob or Job name.
var scenarios = map[string]func(t *testing.T, namespace string) (workflowIDs map[string]string){
	"cronjob-triggered-suspended-resumed": func(t *testing.T, namespace string) map[string]string {
		stack.CreateCronJob(t, harness.NewCronJob(namespace, "recorded", harness.Yearly, harness.JobSpec()))
		awaitWorkflow(t, namespace, "recorded")
		id := harness.CronJobWorkflow(namespace, "recorded")
		stack.Signal(t, id, protocol.TriggerSignal, protocol.SignalNote{Note: "record"})
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return complete(ctx, namespace, 1) })
		stack.Signal(t, id, protocol.SuspendSignal, nil)
		harness.Eventually(t, harness.Prompt, suspended(namespace, "recorded", true))
		stack.Signal(t, id, protocol.ResumeSignal, nil)
		harness.Eventually(t, harness.Prompt, suspended(namespace, "recorded", false))
		jobs, err := stack.Jobs(t.Context(), namespace)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"cronjob-signals": id, "job-success": harness.JobWorkflow(namespace, jobs[0].Name)}
	},
	"cronjob-scheduled": func(t *testing.T, namespace string) map[string]string {
		// Its first run is to be prepared ahead, and has time to end before the next.
		if now := time.Now(); now.Second() > 40 {
			time.Sleep(time.Until(now.Truncate(time.Minute).Add(time.Minute + time.Second)))
		}
		stack.CreateCronJob(t, harness.NewCronJob(namespace, "minutely", harness.Minutely, harness.JobSpec()))
		harness.Eventually(t, 2*harness.NextMinute, func(ctx context.Context) error { return complete(ctx, namespace, 1) })
		return map[string]string{"cronjob-scheduled": harness.CronJobWorkflow(namespace, "minutely")}
	},
	"cronjob-replace": func(t *testing.T, namespace string) map[string]string {
		stack.CreateCronJob(t, harness.NewCronJob(namespace, "replacing", harness.Yearly,
			harness.JobSpec(harness.RunSeconds(600)), harness.Policy(batchv1.ReplaceConcurrent)))
		awaitWorkflow(t, namespace, "replacing")
		for run := range 2 {
			stack.Signal(t, harness.CronJobWorkflow(namespace, "replacing"), protocol.TriggerSignal, nil)
			harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
				reasons, err := stack.EventReasons(ctx, namespace, "CronJob", "replacing")
				if err == nil && reasons["SuccessfulCreate"] != run+1 {
					err = fmt.Errorf("Events: %v", reasons)
				}
				return err
			})
		}
		return map[string]string{"cronjob-replace": harness.CronJobWorkflow(namespace, "replacing")}
	},
	// A Job that somebody has made by hand, found when it has ended, and deleted for the history limit in the same moment.
	"cronjob-by-hand": func(t *testing.T, namespace string) map[string]string {
		cronJob := harness.NewCronJob(namespace, "limited", harness.Yearly, harness.JobSpec())
		cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(int32(0))
		cronJob = stack.CreateCronJob(t, cronJob)
		awaitWorkflow(t, namespace, "limited")
		spec := harness.JobSpec()
		spec.ManagedBy = ptr.To(names.JobController)
		owner := metav1.NewControllerRef(cronJob, ostinatov1.GroupVersion.WithKind("CronJob"))
		byHand := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "by-hand", OwnerReferences: []metav1.OwnerReference{*owner}}, Spec: spec}
		if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(), byHand, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, 2*harness.Prompt, func(ctx context.Context) error {
			return stack.HasEvent(ctx, namespace, "CronJob", "limited", "SuccessfulDelete")
		})
		return map[string]string{"cronjob-by-hand": harness.CronJobWorkflow(namespace, "limited")}
	},
	// A dry run, a backfill beside a run that it does not replace, and its end.
	"cronjob-backfilled": func(t *testing.T, namespace string) map[string]string {
		stack.CreateCronJob(t, harness.NewCronJob(namespace, "annual", harness.Yearly, harness.JobSpec(harness.RunSeconds(1)), harness.Policy(batchv1.ForbidConcurrent)))
		awaitWorkflow(t, namespace, "annual")
		id := harness.CronJobWorkflow(namespace, "annual")
		stack.Signal(t, id, protocol.TriggerSignal, protocol.TriggerRequest{Overlap: "Queue"})
		for _, request := range []protocol.BackfillRequest{
			{From: newYear(2020), To: newYear(2021), DryRun: true},
			{From: newYear(2020), To: newYear(2021), Note: "record"},
			{From: newYear(2020), To: newYear(2024), Overlap: "Allow", Parallelism: 2},
		} {
			if _, err := backfill(t, namespace, "annual", request); err != nil {
				t.Fatal(err)
			}
		}
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			return stack.HasEvent(ctx, namespace, "CronJob", "annual", "SawCompletedJob")
		})
		if _, err := backfill(t, namespace, "annual", protocol.BackfillRequest{Cancel: true}); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return onlyActive(ctx, namespace, "annual", 0) })
		return map[string]string{"cronjob-backfill": id}
	},
	"job-backoff": func(t *testing.T, namespace string) map[string]string {
		stack.CreateJob(t, namespace, "failing", harness.JobSpec(harness.ExitCode(1), harness.BackoffLimit(1)))
		harness.Eventually(t, harness.PodBackoff+harness.Prompt, func(ctx context.Context) error {
			return stack.JobHas(ctx, namespace, "failing", batchv1.JobFailed)
		})
		return map[string]string{"job-backoff": harness.JobWorkflow(namespace, "failing")}
	},
	"job-bulk": func(t *testing.T, namespace string) map[string]string {
		stack.CreateJob(t, namespace, "bulk", harness.JobSpec(harness.Parallelism(30), harness.Completions(30)))
		harness.Eventually(t, harness.Bulk, func(ctx context.Context) error {
			return stack.JobHas(ctx, namespace, "bulk", batchv1.JobComplete)
		})
		return map[string]string{"job-bulk": harness.JobWorkflow(namespace, "bulk")}
	},
	// Bulk creates and releases, a back-off of single indexes, and evidence.
	"job-indexed": func(t *testing.T, namespace string) map[string]string {
		stack.CreateJob(t, namespace, "indexed", harness.JobSpec(harness.Indexed(30), harness.BackoffLimitPerIndex(1),
			harness.FailEvery(5, 1), harness.PodAnnotation(names.BackoffBaseAnnotation, "1")))
		harness.Eventually(t, harness.Bulk, func(ctx context.Context) error {
			return stack.JobHas(ctx, namespace, "indexed", batchv1.JobComplete)
		})
		return map[string]string{"job-indexed": harness.JobWorkflow(namespace, "indexed")}
	},
	"job-policies": func(t *testing.T, namespace string) map[string]string {
		stack.CreateJob(t, namespace, "strict", harness.JobSpec(harness.Indexed(3), harness.BackoffLimit(3), harness.FailEvery(3, 1),
			harness.PodFailurePolicy(harness.OnExitCodes(batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyOnExitCodesOpIn, 1))))
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			return stack.JobHas(ctx, namespace, "strict", batchv1.JobFailed)
		})
		return map[string]string{"job-policies": harness.JobWorkflow(namespace, "strict")}
	},
	// A list before some of the Pods are removed, a suspension, and a resumption.
	"job-scaled-suspended": func(t *testing.T, namespace string) map[string]string {
		stack.CreateJob(t, namespace, "edited", harness.JobSpec(harness.RunSeconds(600), harness.Parallelism(3), harness.Completions(3)))
		for _, edit := range []struct {
			patch  string
			active int32
		}{{`{}`, 3}, {`{"spec":{"parallelism":1}}`, 1}, {`{"spec":{"suspend":true}}`, 0}, {`{"spec":{"suspend":false}}`, 1}} {
			_, err := stack.Kubernetes.BatchV1().Jobs(namespace).Patch(t.Context(), "edited", types.MergePatchType, []byte(edit.patch), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
				job, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, "edited", metav1.GetOptions{})
				if err == nil && (job.Status.Active != edit.active || job.Status.StartTime == nil != (edit.active == 0)) {
					err = fmt.Errorf("status after %s: %+v", edit.patch, job.Status)
				}
				return err
			})
		}
		return map[string]string{"job-scaled-suspended": harness.JobWorkflow(namespace, "edited")}
	},
}

// No history holds a Pod spec, whatever a workflow went through.
func TestHistory(t *testing.T) {
	t.Parallel()
	for name, scenario := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for file, id := range scenario(t, stack.Namespace(t)) {
				recorded := historyOf(t, id)
				encoded, err := protojson.Marshal(recorded)
				if err != nil {
					t.Fatal(err)
				}
				if found := podSpecWords.FindString(decodedPayloads(encoded)); found != "" {
					t.Errorf("the history of %s holds a Pod template: %q", id, found)
				}
				if *record {
					keep(t, file, encoded)
				}
			}
		})
	}
}

// podSpecWords are keys and values that only a Pod spec has. The harness's
// template names its image, command and container. The args of an update are an object.
var podSpecWords = regexp.MustCompile(`"(containers|image|command|env|volumes|serviceAccountName|podSpec)":|"args":\s*\[|busybox`)

var payloadData = regexp.MustCompile(`"data":\s*"([A-Za-z0-9+/=]+)"`)

// decodedPayloads is the history's text with every payload decoded.
func decodedPayloads(encoded []byte) string {
	var text strings.Builder
	text.Write(encoded)
	for _, match := range payloadData.FindAllSubmatch(encoded, -1) {
		var data []byte
		if err := json.Unmarshal([]byte(`"`+string(match[1])+`"`), &data); err == nil {
			text.Write(data)
			text.WriteByte('\n')
		}
	}
	return text.String()
}

func keep(t *testing.T, name string, encoded []byte) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "workflows", "testdata", "history", name+".json.gz")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	writer := gzip.NewWriter(file)
	if _, err := writer.Write(encoded); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
