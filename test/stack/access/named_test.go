package access

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"k8s.io/apimachinery/pkg/api/meta"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/stack/access/door"
)

// What an editor sends through Temporal is told with the name that the API server knows, whatever the editor writes beside it.
func TestEveryDeedNamesItsUser(t *testing.T) {
	command := filepath.Join(t.TempDir(), "ostinato")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", command, "ostinato.dev/ostinato/cmd/ostinato").CombinedOutput()
	if err != nil {
		t.Fatalf("build cmd/ostinato: %v\n%s", err, output)
	}
	workflow := add(t, "named")
	editor, viewer := people.As(t, "editor"), people.As(t, "viewer")
	signalAs(t, editor, workflow, protocol.TriggerSignal, "kubernetes:root")
	triggered := recorded(t, viewer, workflow, "signal")
	backfill, err := editor.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: workflow, UpdateName: protocol.BackfillUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{map[string]any{"from": "2020-01-01T00:00:00Z", "to": "2020-01-01T00:00:00Z", "by": "ada"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := backfill.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	recorded(t, viewer, workflow, "update")
	why(t, command, "Yes: Job named-", "asked for by editor (claims to be ada) through update", "2020-01-01 00:00")
	why(t, command, "Yes: Job named-", "asked for by editor through signal", triggered.ScheduledTime.UTC().Format("2006-01-02 15:04:05"))

	if err := editor.SignalWorkflow(t.Context(), workflow, "", protocol.SuspendSignal, map[string]string{"by": "ada", "note": "an upgrade"}); err != nil {
		t.Fatal(err)
	}
	suspendedBy(t, `^by editor \(claims to be ada\) at \S+ through signal: an upgrade$`)
	why(t, command, "by editor (claims to be ada)", "through signal: an upgrade", "2100-01-01 00:00")
	// The annotations are everybody's who may patch the CronJob.
	forged := `{"metadata":{"annotations":{"` + names.SuspendNoteAnnotation + `":"I quit","` + names.SuspendedByAnnotation + `":"root","` +
		names.SuspendUserAnnotation + `":"root"}}}`
	if _, err := stack.Stack.Kubectl(t.Context(), "patch", "cronjobs.batch.ostinato.dev", "named", "--namespace="+door.Shop, "--as=editor", "--type=merge", "--patch="+forged); err != nil {
		t.Fatal(err)
	}
	signalAs(t, editor, workflow, protocol.TriggerSignal, "kubernetes:root")
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		if found, err := stack.CronJob(ctx, door.Shop, "named"); err != nil || len(found.Status.RecentRuns) < 3 {
			return fmt.Errorf("the status has not three runs: %w", err)
		}
		return nil
	})
	suspendedBy(t, `^by editor \(claims to be ada\) at \S+ through signal: an upgrade$`)
}

// signalAs sends a signal with a header that names someone.
func signalAs(t *testing.T, sender client.Client, workflow, signal, caller string) {
	t.Helper()
	payload, err := converter.GetDefaultDataConverter().ToPayload(caller)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sender.WorkflowService().SignalWorkflowExecution(t.Context(), &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflow}, SignalName: signal,
		Header: &commonpb.Header{Fields: map[string]*commonpb.Payload{names.CallerHeader: payload}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// recorded waits until the status and the workflow's ledger have a run that the editor has asked for through a signal or an update.
func recorded(t *testing.T, reader client.Client, workflow, through string) (found ostinatov1.RecentRun) {
	t.Helper()
	is := func(row ostinatov1.RecentRun) bool {
		return row.Through == through && row.User == "editor" && row.JobName != ""
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, door.Shop, "named")
		if err != nil {
			return err
		}
		inStatus, inLedger := false, false
		for _, row := range cronJob.Status.RecentRuns {
			if is(row) {
				found, inStatus = row, true
			}
		}
		answer, err := reader.QueryWorkflow(ctx, workflow, "", protocol.LedgerQuery)
		if err != nil {
			return err
		}
		var page protocol.LedgerPage
		if err := answer.Get(&page); err != nil {
			return err
		}
		for _, row := range page.Rows {
			inLedger = inLedger || is(row.RecentRun())
		}
		if !inStatus || !inLedger {
			return fmt.Errorf("no run through a %s of the editor's: in the status %t, of %+v; in the ledger %t, of %+v",
				through, inStatus, cronJob.Status.RecentRuns, inLedger, page.Rows)
		}
		return nil
	})
	return found
}

// suspendedBy waits until the condition says who has suspended the CronJob.
func suspendedBy(t *testing.T, want string) {
	t.Helper()
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, door.Shop, "named")
		if err != nil {
			return err
		}
		condition := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionSuspended)
		if condition == nil || !regexp.MustCompile(want).MatchString(condition.Message) {
			return fmt.Errorf("condition %+v, want %s", condition, want)
		}
		return nil
	})
}

// why asks the command about a time. It must answer with both texts.
func why(t *testing.T, command, first, second, at string) {
	t.Helper()
	asked := exec.CommandContext(t.Context(), command, "--namespace="+door.Shop, "--utc", "why", "named", at)
	asked.Env = append(os.Environ(), "KUBECONFIG="+stack.Stack.KubeconfigPath())
	// The exit code says whether it ran.
	answer, _ := asked.CombinedOutput()
	if !strings.Contains(string(answer), first) || !strings.Contains(string(answer), second) {
		t.Errorf("why named %q:\n%s\nwant %q and %q", at, answer, first, second)
	}
}
