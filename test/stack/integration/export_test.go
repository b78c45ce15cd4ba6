package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// The workflows of three CronJobs are lost with their ledgers and what waits. The objects have ten rows of each; the export has the rest.
func TestWhatIsLostWithTemporalsDataIsImported(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	lost := []string{"often", "breaks", "waits"}
	// It has sixteen runs to catch up with.
	often, now := harness.NewCronJob(namespace, "often", harness.Minutely, harness.JobSpec()), time.Now()
	often.Spec.CatchUp = ostinatov1.CatchUpAll
	often.Annotations = map[string]string{names.LastScheduleTimeAnnotation: schedule.NoteLastRun(now.Add(-16*time.Minute), now)}
	stack.CreateCronJob(t, often)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "breaks", harness.Yearly, harness.JobSpec(harness.ExitCode(3), harness.BackoffLimit(0))))
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "waits", harness.Yearly, harness.JobSpec(harness.RunUntilEnded()), harness.Policy(ostinatov1.QueueConcurrent)))
	for _, name := range lost {
		awaitWorkflow(t, namespace, name)
	}
	p := newPerson(t, namespace)
	for n := range 13 {
		p.prints("run", "breaks", "--by", "ada", "--note", fmt.Sprint("try ", n))
	}
	active := strings.TrimPrefix(strings.Fields(p.prints("run", "waits", "-o", "name"))[0], "job.batch/")
	p.says([]string{"The run waits"}, "run", "waits", "--by", "ada", "--note", "once more")
	p.prints("backfill", "waits", "2020-01-01 00:00", "2022-01-01 00:00", "--by", "bob", "--note", "the auditors")
	rowsOf := func(ctx context.Context, name string, enough func(ledger.Entry) bool, want int) error {
		rows, err := stack.Ledger(ctx, namespace, name)
		count := 0
		for _, row := range rows {
			if enough(row.Entry) {
				count++
			}
		}
		if err == nil && count < want {
			err = fmt.Errorf("%s has %d of %d such rows", name, count, want)
		}
		return err
	}
	ended := func(row ledger.Entry) bool { return row.Result != "" }
	harness.Eventually(t, harness.Bulk, func(ctx context.Context) error { return rowsOf(ctx, "breaks", ended, 13) })
	harness.Eventually(t, harness.Bulk, func(ctx context.Context) error { return rowsOf(ctx, "often", ended, 15) })
	patch := []byte(`{"spec": {"schedule": "` + harness.Yearly + `"}}`)
	if _, err := stack.CronJobs.CronJobs(namespace).Patch(t.Context(), "often", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitWorkflow(t, namespace, "often")
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, "often")
		if err == nil && cronJob.Status.ActiveCount > 0 {
			err = fmt.Errorf("a run of often is active: %+v", cronJob.Status)
		}
		return err
	})

	file := filepath.Join(t.TempDir(), "export.jsonl")
	imports := func(texts []string, more ...string) {
		t.Helper()
		output := p.prints(append([]string{"import", file}, more...)...)
		for _, text := range texts {
			if !strings.Contains(output, text) {
				t.Errorf("import %v prints no %q, but\n%s", more, text, output)
			}
		}
	}
	p.prints("export", "-o", file)
	before := map[string]string{}
	for _, name := range lost {
		before[name] = runsOf(p, name)
	}
	evidenceIsIn(t, file)
	lose(t, namespace, lost...)
	if after := runsOf(p, "breaks"); after == before["breaks"] || strings.Count(after, "\n") != 10 {
		t.Errorf("without its workflow's ledger breaks has\n%s", after)
	}

	imports([]string{"/breaks: 3 rows would be given back", "/waits: the trigger of", "would be asked for again"}, "--dry-run")
	if after := runsOf(p, "breaks"); strings.Count(after, "\n") != 10 {
		t.Errorf("after a dry run breaks has\n%s", after)
	}
	imports([]string{"/breaks: 3 rows given back, 10 are there", "is asked for again: Job waits-", "is asked for again: 3 runs"})
	compare := func(when string) {
		t.Helper()
		for _, name := range lost {
			if after := runsOf(p, name); after != before[name] {
				t.Errorf("%s %s has\n%s\nbefore the loss\n%s", when, name, after, before[name])
			}
		}
	}
	compare("after the import")
	described, err := stack.DescribeCronJob(t.Context(), namespace, "waits")
	if err != nil {
		t.Fatal(err)
	}
	if len(described.Triggers) != 1 || !strings.HasPrefix(described.Triggers[0].Note, "once more (import-") || described.Triggers[0].By != "ada" || len(described.Backfills) != 1 || described.Backfills[0].Times != 3 {
		t.Errorf("there wait %+v and %+v", described.Triggers, described.Backfills)
	}
	whole := p.prints("runs", "waits", "--limit", "200")

	for range 2 {
		imports([]string{"/often: 0 rows given back", "/breaks: 0 rows given back, 13 are there", "has its outcome, or was asked for again already"})
	}
	compare("after another import")
	if again := p.prints("runs", "waits", "--limit", "200"); rowsIn(again) != rowsIn(whole) {
		t.Errorf("after another import waits has\n%s\nwant\n%s", again, whole)
	}

	// The trigger runs once.
	stack.End(t, namespace, active, 1)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return rowsOf(ctx, "waits", func(row ledger.Entry) bool {
			return strings.HasPrefix(row.Message, "once more (import-") && row.Outcome.HasJob()
		}, 1)
	})
	imports([]string{"has its outcome, or was asked for again already"})
	jobs, err := stack.CronJob(t.Context(), namespace, "waits")
	if err != nil || len(jobs.Status.Active) != 1 {
		t.Errorf("%d runs are active, error %v", len(jobs.Status.Active), err)
	}
}

// lose deletes the workflows of CronJobs, and waits until they have begun anew from the objects.
func lose(t *testing.T, namespace string, cronJobs ...string) {
	t.Helper()
	former := map[string]string{}
	for _, name := range cronJobs {
		id := harness.CronJobWorkflow(namespace, name)
		found, err := stack.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
		if err == nil {
			former[name] = found.WorkflowExecutionInfo.Execution.RunId
			_, err = stack.Temporal.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
				Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range cronJobs {
		harness.Eventually(t, harness.Recovery, func(ctx context.Context) error { return begunAnew(ctx, namespace, name, former[name]) })
	}
}

// begunAnew returns nil when another run of the workflow has the rows of the object's status.
func begunAnew(ctx context.Context, namespace, name, former string) error {
	id := harness.CronJobWorkflow(namespace, name)
	found, err := stack.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return err
	}
	if found.WorkflowExecutionInfo.Execution.RunId == former {
		return fmt.Errorf("workflow %s is not begun anew", id)
	}
	rows, err := stack.Ledger(ctx, namespace, name)
	if err == nil && (len(rows) == 0 || len(rows) > ledger.MaxRecentRuns) {
		err = fmt.Errorf("workflow %s has %d rows", id, len(rows))
	}
	return err
}

// runsOf is what the command says of runs and times that are over, without the word that a row was imported.
func runsOf(p *person, name string) string {
	p.t.Helper()
	var rows strings.Builder
	for line := range strings.Lines(p.prints("runs", name, "--limit", "200", "--no-headers")) {
		if strings.Contains(line, "asked for again") || strings.Contains(line, "Queued") || strings.Contains(line, "Running") {
			continue
		}
		line = strings.NewReplacer(": Imported", "", "Imported: ", "", "Imported", "-").Replace(line)
		fmt.Fprintln(&rows, strings.Join(strings.Fields(line), " "))
	}
	return rows.String()
}

// rowsIn is a table without how long runs take that have not ended.
func rowsIn(table string) string {
	var rows []string
	for line := range strings.Lines(table) {
		if !strings.Contains(line, "Running") {
			rows = append(rows, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(rows, "\n")
}

// evidenceIsIn checks what the file has of the Pods that failed.
func evidenceIsIn(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var one struct {
			Name     string
			Evidence map[string][]job.Attempt
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		if one.Name != "breaks" {
			continue
		}
		for _, attempts := range one.Evidence {
			if len(attempts) != 1 || attempts[0].ExitCode != 3 {
				t.Errorf("evidence %+v", attempts)
			}
		}
		if len(one.Evidence) != 13 {
			t.Errorf("%d failed runs have evidence", len(one.Evidence))
		}
		return
	}
	t.Error("breaks is not in the export")
}
