package commands

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

var update = flag.Bool("update", false, "write the golden files")

// scene is one call of a command. Its output is in testdata/<command>.txt, and what it asks for in the row of the table of
// rights in docs/cookbook.md.
type scene struct {
	row string
	// given changes the world before; nil leaves it.
	given     func(*world)
	arguments string
}

// split parts a line at its spaces, but for those in quotes.
func split(line string) []string {
	parts := regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1)
	for n := range parts {
		parts[n] = strings.Trim(parts[n], `"`)
	}
	return parts
}

func active(w *world) {
	w.api.cronJobs[0].Status.ActiveCount, w.api.cronJobs[0].Status.Active = 1, []corev1.ObjectReference{{Name: "report-29540880"}}
}

// imported makes the rows that the status has no room for those of an export.
func imported(w *world) {
	kept := w.temporal.answers[protocol.LedgerQuery].(ledger.Ledger)
	lost := kept.Entries[:2]
	kept.Entries = kept.Entries[2:]
	kept, _, _ = kept.Import(lost, func(row ledger.Entry) (ledger.Entry, bool) { return row, true })
	w.temporal.answers[protocol.LedgerQuery] = kept
}

func noPods(w *world) { w.api.pods = nil }

// oneLeft leaves one of two Pods of the last run of orders that failed: it has no program.
func oneLeft(w *world) {
	left := podOf("orders-29541330", "orders-29541330-b", 128)
	left.UID = "b"
	ended := left.Status.ContainerStatuses[0].State.Terminated
	ended.Reason, ended.Message = "StartError", `exec: "pg_dump": executable file not found in $PATH`
	w.api.pods, w.api.jobs[1].Status.Failed = []corev1.Pod{left}, 2
	w.api.logs["orders-29541330-b main"] = ""
}

// unstarted is a Pod that waits for a ConfigMap.
func unstarted(job, name string) corev1.Pod {
	made := podOf(job, name, 0)
	made.Spec.NodeName, made.Status.Phase = "node", corev1.PodPending
	made.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "CreateContainerConfigError", Message: `configmap "backup-config" not found`,
	}}
	return made
}

func away(w *world) { w.temporal.address = "127.0.0.1:1" }

func answers(update string, answer any) func(*world) {
	return func(w *world) { w.temporal.answers[update] = answer }
}

// fails makes the run that the workflow starts one that fails.
func fails(w *world) {
	w.api.jobs = []batchv1.Job{jobOf("report", "report-xk2lp", at(9, 30), batchv1.JobFailed, "BackoffLimitExceeded")}
}

// later makes the Job that is asked for first appear, then run, and then end.
func later(w *world) {
	ended, pods := w.api.jobs, w.api.pods
	w.api.jobs, w.api.pods = nil, nil
	w.api.changes = []func(*apiServer){
		func(*apiServer) {},
		func(s *apiServer) { s.jobs = []batchv1.Job{jobOf("report", "report-xk2lp", at(9, 30), "", "")} },
		func(s *apiServer) { s.pods = pods },
		func(s *apiServer) { s.jobs = ended },
	}
}

// endless makes it one that does not end.
func endless(w *world) {
	w.api.jobs = []batchv1.Job{jobOf("report", "report-xk2lp", at(9, 30), "", "")}
}

// givenUp makes it one that waits, and that is given up then.
func givenUp(w *world) {
	w.temporal.answers[protocol.TriggerUpdate], w.api.jobs = queued, nil
	w.api.changes = []func(*apiServer){func(*apiServer) {}, func(s *apiServer) {
		s.cronJobs[0].Status.RecentRuns = append(s.cronJobs[0].Status.RecentRuns, ostinatov1.RecentRun{
			ScheduledTime: at(9, 30), Outcome: "FailedToCreate", Reason: "Forbidden", Message: "exceeded quota", Manual: true, By: "ada", Through: "update",
		})
	}}
}

// deleted makes it one whose Job somebody deletes.
func deleted(w *world) {
	endless(w)
	w.api.changes = []func(*apiServer){func(*apiServer) {}, func(s *apiServer) { s.jobs = nil }}
}

// running has Jobs that run, one that is being stopped, one that has ended, and one of kube-controller-manager's.
func running(w *world) {
	ours := func(job batchv1.Job) batchv1.Job {
		job.Spec.ManagedBy = ptr.To(names.JobController)
		return job
	}
	stopping := ours(jobOf("report", "report-29540760", at(7, 30), "", ""))
	stopping.Annotations = map[string]string{names.StopAnnotation: `{"by":"bob","note":"out of disk"}`}
	w.api.jobs = []batchv1.Job{
		ours(jobOf("report", "report-29540880", at(9, 30), "", "")), ours(jobOf("report", "report-29540820", at(8, 30), "", "")), stopping,
		ours(jobOf("report", "report-29540700", at(6, 30), batchv1.JobFailed, "BackoffLimitExceeded")), jobOf("other", "by-others", at(9, 0), "", ""),
	}
	alone := ours(jobOf("", "alone", at(9, 10), "", ""))
	alone.OwnerReferences = nil
	w.api.jobs = append(w.api.jobs, alone)
}

// waiting has a trigger and times of a backfill wait.
func waiting(w *world) {
	w.api.cronJobs[0].Status.Queued = 4
	w.temporal.answers[protocol.TriggerUpdate] = protocol.TriggerAnswer{Runs: schedule.RunsNone, Cancelled: 1}
	w.temporal.answers[protocol.BackfillUpdate] = protocol.BackfillAnswer{Accepted: true, Cancelled: 3}
}

// backfilling has a backfill that has come some way.
func backfilling(w *world) {
	w.temporal.waits = map[string]protocol.CronJobDescription{"report": {Backfills: []protocol.Backfill{{
		Sequence: 1, Times: 298, Total: 300, Next: at(1, 2).Time, Last: at(6, 0).Time, Parallelism: 4, By: "ada", Note: "a bug",
	}}}}
}

// denies is an administrator who does not let the person be known to Temporal.
func denies(w *world) {
	w.api.request.Name = "ostinato-temporal-x2x4z"
	w.api.request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Message: "ask the platform team"}}
}

var queued = protocol.TriggerAnswer{Job: "report-xk2lp", Runs: schedule.RunsQueued, Reason: "JobAlreadyActive"}

// scenes are what a person does with each command.
var scenes = []scene{
	{row: "token", given: denies, arguments: "token"},
	{row: "get", arguments: "get"},
	{row: "get", arguments: "get -A -o wide"},
	{row: "get", arguments: "get -o name"},
	{row: "get", arguments: "get --no-headers"},
	{row: "get", given: func(w *world) { w.api.cronJobs = nil }, arguments: "get"},
	{row: "get", given: func(w *world) { w.api.cronJobs = nil }, arguments: "get -o json"},
	{row: "get", given: func(w *world) { w.api.refuse = forbidden("list cronjobs") }, arguments: "get"},
	{row: "get NAME", arguments: "get report -o yaml"},
	{row: "get NAME", arguments: "get nobody"},
	{arguments: "get report -A"},
	{arguments: "get --codec-endpoint 127.0.0.1:8085"},
	{arguments: "get -o table"},
	{row: "next", arguments: "next 30m"},
	{row: "next", arguments: "next -A -o json 20m"},
	{row: "next", arguments: "next -o name"},
	{arguments: "next soon"},
	{row: "runs", arguments: "runs orders --limit 3"},
	{row: "runs", arguments: "runs report -o json"},
	{row: "runs", arguments: "runs report -o name"},
	{row: "runs", arguments: "runs orders"},
	{row: "runs", given: imported, arguments: "runs orders"},
	{row: "runs", given: away, arguments: "runs orders"},
	{row: "failed", arguments: "failed"},
	{row: "failed", arguments: "failed 1h -A -o yaml"},
	{row: "failed", arguments: "failed -o name"},
	{row: "failed", arguments: "failed 3m"},
	{row: "why", arguments: "why report"},
	{row: "why", arguments: "why orders"},
	{row: "why", arguments: "why import"},
	{row: "why", arguments: "why import -o json"},
	{row: "why", arguments: "why orders 07:40"},
	{row: "why", given: imported, arguments: "why orders 07:30"},
	{row: "why", given: imported, arguments: "why orders 07:40"},
	{row: "why", given: away, arguments: "why orders 07:40"},
	{row: "why", arguments: "why report 03:00 -o yaml"},
	{row: "why", given: func(w *world) {
		w.api.cronJobs[0].Status = ostinatov1.CronJobStatus{}
		w.api.cronJobs[0].CreationTimestamp = at(9, 0)
	}, arguments: "why report"},
	{arguments: "why report yesterday"},
	{arguments: "why"},
	{row: "tree", arguments: "tree report"},
	{row: "tree", arguments: "tree report -o name"},
	{row: "logs", arguments: "logs report"},
	{row: "logs", arguments: "logs report --run report-xk2lp"},
	{row: "logs of Pods that are gone", given: noPods, arguments: "logs orders --at 09:20"},
	{row: "logs of Pods that are gone", given: func(w *world) { noPods(w); away(w) }, arguments: "logs orders"},
	{row: "logs of Pods that are gone", given: noPods, arguments: "logs report --at 04:00"},
	{row: "logs of Pods that are gone", given: noPods, arguments: "logs orders --at 07:30"},
	{row: "logs of Pods that are gone", given: oneLeft, arguments: "logs orders"},
	{row: "logs of Pods that are gone", given: func(w *world) { oneLeft(w); away(w) }, arguments: "logs orders"},
	{row: "logs", given: func(w *world) { w.api.pods = []corev1.Pod{unstarted("orders-29541330", "orders-29541330-b")} }, arguments: "logs orders"},
	{arguments: "logs report --at then"},
	{row: "logs job/NAME", arguments: "logs job/report-xk2lp"},
	{row: "run", arguments: "run report --by ada"},
	{row: "run", arguments: "run report --by ada -o name"},
	{row: "run", given: answers(protocol.TriggerUpdate, queued), arguments: "run report --by ada"},
	{row: "run", given: answers(protocol.TriggerUpdate, queued), arguments: "run report --by ada -o json"},
	{row: "run", given: answers(protocol.TriggerUpdate, protocol.TriggerAnswer{Runs: schedule.RunsRefused, Reason: "JobAlreadyActive"}), arguments: "run report"},
	{row: "run", given: away, arguments: "run report"},
	{row: "run with overrides", arguments: "run report --by ada --env REGION=us -- --day 1"},
	{row: "run with overrides", arguments: "run report --dry-run"},
	{row: "run with overrides", given: active, arguments: "run report --image report:2"},
	{row: "run with overrides", given: active, arguments: "run report --image report:2 --overlap-policy allow"},
	{row: "run --wait", arguments: "run report --wait"},
	{row: "run --wait", given: later, arguments: "run report --wait"},
	{row: "run --wait", given: fails, arguments: "run report --wait"},
	{row: "run --wait", given: endless, arguments: "run report --wait --timeout 100ms"},
	{row: "run --logs", given: later, arguments: "run report --logs"},
	{row: "run --logs", given: func(w *world) { noPods(w); fails(w) }, arguments: "run report --logs"},
	{row: "run --wait", given: givenUp, arguments: "run report --wait --by ada"},
	{row: "run --wait", given: deleted, arguments: "run report --wait -o json"},
	{arguments: "run report --timeout 1s"},
	{arguments: "run report --overlap-policy never"},
	{arguments: "run report --image x --overlap-policy Queue"},
	{arguments: "run report --image x --note why"},
	{arguments: "run report --dry-run --wait"},
	{arguments: "run report --day 1"},
	{row: "backfill", arguments: `backfill report "2026-03-02 01:00" 02:00 --dry-run --by ada`},
	{row: "backfill", arguments: "backfill report 02:00 --dry-run -o json"},
	{row: "backfill", given: answers(protocol.BackfillUpdate, protocol.BackfillAnswer{Accepted: true, Cancelled: 298}), arguments: "backfill report --cancel --by ada"},
	{row: "backfill", given: answers(protocol.BackfillUpdate, protocol.BackfillAnswer{Accepted: true}), arguments: "backfill report --cancel"},
	{row: "backfill --progress", given: backfilling, arguments: "backfill report --progress"},
	{row: "backfill --progress", arguments: "backfill report --progress"},
	{arguments: "backfill report"},
	{arguments: "backfill report 02:00 --cancel"},
	{row: "stop --waiting NAME", given: waiting, arguments: "stop --waiting report --by ada"},
	{row: "stop --waiting", given: waiting, arguments: "stop --waiting --all -o json"},
	{row: "stop --waiting", arguments: "stop --waiting --all"},
	{row: "stop --waiting NAME", given: func(w *world) {
		waiting(w)
		w.temporal.answers[protocol.TriggerUpdate] = protocol.TriggerAnswer{Runs: schedule.RunsRefused, Reason: "the object does not accept trigger through Temporal"}
	}, arguments: "stop --waiting report"},
	{arguments: "stop --waiting"},
	{arguments: "stop --waiting report --dry-run"},
	{arguments: "backfill report then"},
	{row: "stop", given: running, arguments: `stop report-29540880 --by ada --reason "it hangs"`},
	{row: "stop", given: running, arguments: "stop report-29540880 --dry-run"},
	{row: "stop", given: running, arguments: "stop report-29540700 report-29540760 by-others"},
	{row: "stop", given: running, arguments: "stop report-2954"},
	{row: "stop", given: func(w *world) { running(w); w.api.refuse = forbidden("patch jobs") }, arguments: "stop report-29540880"},
	{row: "stop --of", given: running, arguments: "stop --of report"},
	{row: "stop --all", given: running, arguments: "stop --all --by ada -o name"},
	{row: "stop --all", given: running, arguments: "stop -A -l team=billing --by ada -o json"},
	{row: "stop --all", given: func(w *world) { w.api.jobs = nil }, arguments: "stop --all"},
	{arguments: "stop"},
	{arguments: "stop report-29540880 --all"},
	{arguments: "stop report-29540880 -A"},
	{row: "suspend NAME", arguments: "suspend report --by ada --reason upgrade"},
	{row: "suspend NAME", arguments: "suspend import"},
	{row: "suspend NAME", given: func(w *world) { w.api.refuse = forbidden("patch cronjobs") }, arguments: "suspend report"},
	{row: "suspend", arguments: "suspend --all --by ada -o name"},
	{row: "suspend", arguments: "suspend -l team=billing -o json"},
	{arguments: "suspend"},
	{arguments: "suspend report -A"},
	{row: "resume NAME", arguments: "resume import"},
	{row: "resume NAME", arguments: "resume import --by bob --reason other"},
	{row: "resume", arguments: "resume --all --by bob"},
	{row: "resume", arguments: `resume --all --by ada --reason "an upgrade"`},
	{row: "resume", arguments: "resume --all --by bob -o json"},
	{row: "check -f", arguments: "check -f testdata/cronjobs.yaml"},
	{row: "check -f", arguments: "check -f testdata/cronjobs.yaml -o json"},
	{row: "check -f", arguments: "check -f ../kustomized/testdata/production"},
	{row: "check -f", arguments: "check -f ../../../../deploy/testdata/move/moved"},
	{arguments: "check -f ../kustomized/testdata/broken"},
	{arguments: "check -f nowhere.yaml"},
	{arguments: "check -f testdata/cronjobs.yaml -A"},
	{row: "check", given: healthy, arguments: "check"},
	{row: "check", given: embedded, arguments: "check"},
	{row: "check", given: func(w *world) { ailing(w); unusable(w) }, arguments: "check"},
	{row: "check", given: func(w *world) { ailing(w); unusable(w) }, arguments: "check -o json"},
	{row: "check", given: func(w *world) { healthy(w); w.api.lacks = []string{"create jobs", "patch cronjobs", "get pods/log"} }, arguments: "check -A"},
	{row: "check", given: func(w *world) { viewer(w); away(w) }, arguments: "check"},
}

// unusable gives the world a CronJob that can't be used, and one that kube-controller-manager runs too.
func unusable(w *world) {
	w.api.cronJobs[0].Spec.Schedule = "0 2 30 2 *"
	w.api.cronJobs[1].Status.Conditions = []metav1.Condition{
		{Type: ostinatov1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "InvalidTemplate", Message: "spec.template: there is no such volume"},
		{Type: ostinatov1.ConditionNativeCronJobActive, Status: metav1.ConditionTrue, Reason: "NotSuspended", Message: "kube-controller-manager runs batch/v1 CronJob shop/orders too"},
	}
}

// Each command has its outputs and exit codes in a golden file, through the front door.
func TestEachCommandHasItsOutputs(t *testing.T) {
	texts := map[string]string{}
	for _, one := range slices.Concat(scenes, statusScenes, moveScenes, reportScenes, exportScenes) {
		w := newWorld(t)
		if one.given != nil {
			one.given(w)
		}
		arguments := split(one.arguments)
		texts[arguments[0]] += w.transcript(t, arguments...) + "\n"
	}
	for _, cmd := range New("ostinato").Commands() {
		if name := cmd.Name(); name != "help" && name != "completion" && name != "ui" { // ui prints nothing but its address
			assert.Contains(t, texts, name, "a command without a golden output")
		}
	}
	for name, got := range texts {
		file := filepath.Join("testdata", name+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), got, "go test ./cmd/ostinato/internal/commands -update writes %s", file)
	}
}

// The table of docs/cookbook.md says what each command asks for, and no more.
func TestEachCommandAsksForWhatTheTableOfRightsSays(t *testing.T) {
	documented := rights(t)
	asked := map[string][2][]string{}
	for _, one := range slices.Concat(scenes, statusScenes, moveScenes, reportScenes, exportScenes) {
		w := newWorld(t)
		if one.given != nil {
			one.given(w)
		}
		w.run(t, split(one.arguments)...)
		if one.row == "" {
			assert.Empty(t, append(w.api.asked, w.temporal.asked...), "%q is a mistake on the command line, and asks for nothing", one.arguments)
			continue
		}
		row := asked[one.row]
		row[0], row[1] = append(row[0], w.api.asked...), append(row[1], w.temporal.asked...)
		asked[one.row] = row
	}
	for row, got := range asked {
		want, known := documented[row]
		if assert.True(t, known, "the table has no row %q", row) {
			assert.ElementsMatch(t, want[0], unique(got[0]), "what %q asks of Kubernetes", row)
			assert.ElementsMatch(t, want[1], unique(got[1]), "what %q asks of Temporal", row)
		}
		delete(documented, row)
	}
	delete(documented, "completion of names")           // TestNamesAreCompleted
	delete(documented, "run where no address is named") // test/stack/integration: the API server of this test forwards no ports
	assert.Empty(t, documented, "rows that no scene asks for")
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// rights are the rows of the table, a first cell of several names as several rows.
func rights(t *testing.T) map[string][2][]string {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/cookbook.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Which rights it needs\n")
	require.True(t, found)
	rows := map[string][2][]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.Contains(cells[0], "---") || strings.Contains(cells[0], "command") {
			continue
		}
		for name := range strings.SplitSeq(strings.ReplaceAll(cells[0], "`", ""), ",") {
			rows[strings.TrimSpace(name)] = [2][]string{list(cells[1]), list(cells[2])}
		}
	}
	require.NotEmpty(t, rows)
	return rows
}

func list(cell string) []string {
	if cell = strings.TrimSpace(cell); cell == "-" {
		return nil
	}
	return strings.Split(cell, ", ")
}
