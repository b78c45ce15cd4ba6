package ui_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/testing/fixture/night"
)

// mail are the pairs of a form that name the first CronJob.
func mail(pairs ...string) []string {
	return append(pairs, "namespace", "team-00", "name", "mail-0000")
}

func TestARunNowIsAJobOfThePerson(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	shown := b.post("/plan", mail("action", "run")...)
	assert.Contains(t, shown.body, "A Job is created from the template as it is now, with your own rights in Kubernetes.")
	assert.Contains(t, shown.body, "The API server would take it, as Job mail-0000-")
	assert.Empty(t, b.cluster.Jobs(), "nothing is done before it is confirmed")
	assert.Equal(t, 1, b.cluster.DryRuns())
	done := b.confirm(shown)
	assert.Equal(t, http.StatusOK, done.status, done.body)
	created := b.cluster.Jobs()
	require.Len(t, created, 1)
	assert.Contains(t, done.body, "Job "+created[0].Name+" was created.")
	assert.Contains(t, shown.body, created[0].Name, "what was shown is what is done")
	assert.Equal(t, "ada", created[0].Annotations[names.AskedByAnnotation])
	assert.Equal(t, "uid-0", string(created[0].OwnerReferences[0].UID))
}

func TestARunNowLooksFirst(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	index := []string{"action", "run", "namespace", "team-00", "name", "index-0005"}
	refused := b.post("/plan", index...)
	assert.Contains(t, refused.body, "is active, and concurrencyPolicy is Forbid")
	assert.NotContains(t, refused.body, `name="plan"`, "there is nothing to confirm")
	beside := b.post("/plan", append(index, "beside", "1")...)
	assert.Contains(t, beside.body, "although concurrencyPolicy is Forbid")
	assert.Equal(t, http.StatusOK, b.confirm(beside).status)
	assert.Len(t, b.cluster.Jobs(), 1)

	free := b.post("/plan", mail("action", "run")...)
	b.cluster.Edit(func(stored []ostinatov1.CronJob) {
		stored[0].Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent
		stored[0].Status.Active, stored[0].Status.ActiveCount = stored[5].Status.Active, 1
	})
	late := b.confirm(free)
	assert.Contains(t, late.body, "is active, and concurrencyPolicy is Forbid", "a run that began since")
	assert.Len(t, b.cluster.Jobs(), 1)
}

func TestSuspendWithAReasonAndResume(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	shown := b.post("/plan", mail("action", "suspend", "reason", " an upgrade\n")...)
	assert.Contains(t, shown.body, "The object will say that it was suspended by ada (claimed), “an upgrade”.")
	assert.False(t, *b.cluster.Stored("team-00", "mail-0000").Spec.Suspend)
	assert.Equal(t, http.StatusOK, b.confirm(shown).status)
	stored := b.cluster.Stored("team-00", "mail-0000")
	assert.True(t, *stored.Spec.Suspend)
	assert.Equal(t, "an upgrade", stored.Annotations[names.SuspendNoteAnnotation])
	assert.Equal(t, "ada", stored.Annotations[names.SuspendedByAnnotation])
	assert.Contains(t, b.post("/plan", mail("action", "suspend")...).body, "It is suspended already.")
	assert.Contains(t, b.get("/cronjob?namespace=team-00&name=mail-0000").body, "Resume…")

	assert.Equal(t, http.StatusOK, b.confirm(b.post("/plan", mail("action", "resume")...)).status)
	assert.False(t, *b.cluster.Stored("team-00", "mail-0000").Spec.Suspend)
	assert.Contains(t, b.get("/cronjob?namespace=team-00&name=mail-0000").body, "Suspend…")
}

// runningJob is the Job of the run of team-00/index-0005 that is active.
func runningJob(b *browser) batchv1.Job {
	stored := b.cluster.Stored("team-00", "index-0005")
	job := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team-00", Name: stored.Status.Active[0].Name, UID: "uid-of-the-run"}}
	job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch.ostinato.dev/v1", Kind: "CronJob", Name: stored.Name, UID: stored.UID, Controller: ptr.To(true)}}
	job.Spec.ManagedBy, job.Status.Active = ptr.To(names.JobController), 1
	return job
}

func TestARunThatIsActiveIsStopped(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	job := runningJob(b)
	stop := []string{"action", "stop", "namespace", "team-00", "name", "index-0005", "job", job.Name, "reason", " it hangs\n"}
	assert.Contains(t, b.post("/plan", stop...).body, "could not find", "its Job is gone")

	b.cluster.Make(job)
	shown := b.post("/plan", stop...)
	assert.Contains(t, shown.body, "Its Pods are deleted, 1 of which are active, and the Job is Failed with the reason Stopped.")
	assert.Contains(t, shown.body, "will say that it was stopped by ada (claimed), “it hangs”.")
	assert.Empty(t, b.cluster.Jobs()[0].Annotations, "nothing is done before it is confirmed")
	late := b.post("/plan", stop...)
	assert.Contains(t, b.confirm(shown).body, "Job "+job.Name+" is being stopped.")
	assert.Equal(t, `{"by":"ada","note":"it hangs"}`, b.cluster.Jobs()[0].Annotations[names.StopAnnotation])
	assert.Contains(t, b.confirm(late).body, "left as it is: it is being stopped already (Job was stopped by ada (claimed): it hangs)", "another has stopped it since")
	assert.Contains(t, b.post("/plan", stop...).body, "it is being stopped already")

	stop[5] = "mail-0000"
	assert.Contains(t, b.post("/plan", stop...).body, "is none of CronJob team-00/mail-0000", "a run of another CronJob")
	assert.Contains(t, b.post("/plan", mail("action", "stop")...).body, "names no run")
}

func TestARunHasAButtonToStopItWhileItIsActive(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	at := func(name string) string {
		rows := b.cluster.Stored("team-00", name).Status.RecentRuns
		return "/run?namespace=team-00&name=" + name + "&at=" + rows[0].ScheduledTime.UTC().Format(time.RFC3339)
	}
	assert.Contains(t, b.get(at("index-0005")).body, "Stop it…")
	assert.NotContains(t, b.get(at("mail-0000")).body, "Stop it…", "a run that has ended")
	b = opened(t, night.CronJobs(now, 7))
	b.cluster.OnlyViewers(true)
	viewed := b.get(at("index-0005")).body
	assert.NotContains(t, viewed, "Stop it…")
	assert.Contains(t, viewed, "You may not patch jobs.batch in namespace team-00")
}

func TestABackfillSaysWhichRunsThereWouldBe(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	b.cluster.Edit(func(stored []ostinatov1.CronJob) { *stored[0].Spec.TimeZone = "Europe/Paris" })
	shown := b.post("/plan", mail("action", "backfill", "from", "2026-03-02T02:00", "to", "2026-03-02T03:00", "reason", "a bug", "overlap", "Allow")...)
	assert.Contains(t, shown.body, "2 runs would start, from 2026-03-02 01:00:00 UTC to 2026-03-02 02:00:00 UTC.", "times are those of the CronJob's zone")
	assert.Empty(t, b.backend.temporal().runs)
	assert.Contains(t, b.confirm(shown).body, "2 runs will start")
	require.Len(t, b.backend.temporal().runs, 1)
	done := b.backend.temporal().runs[0]
	assert.Equal(t, []any{"a bug", "ada", batchv1.AllowConcurrent, false}, []any{done.Note, done.By, done.Overlap, done.DryRun})
	assert.Equal(t, time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC), done.From.UTC())
}

func TestAViewerCanNotAct(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	plans := map[string]answered{}
	actions := map[string][]string{
		"run": mail("action", "run"), "suspend": mail("action", "suspend"), "backfill": mail("action", "backfill", "from", "2026-03-02T02:00", "to", "2026-03-02T02:00"),
		"resume": {"action", "resume", "namespace", "team-00", "name", "report-0004"},
		"stop":   {"action", "stop", "namespace", "team-00", "name", "index-0005", "job", runningJob(b).Name},
	}
	b.cluster.Make(runningJob(b))
	for action, form := range actions {
		plans[action] = b.post("/plan", form...)
		require.Contains(t, plans[action].body, `name="plan"`, "%s: %s", action, plans[action].body)
	}
	before := b.cluster.DryRuns()
	b.cluster.OnlyViewers(true)
	for action, form := range actions {
		refused := b.post("/plan", form...)
		assert.Equal(t, http.StatusForbidden, refused.status, action)
		assert.Contains(t, refused.body, "You may not ", action)
		assert.Contains(t, refused.body, "in namespace team-00", action)
		late := b.confirm(plans[action])
		assert.Equal(t, http.StatusForbidden, late.status, "%s, whose right was taken away before it was confirmed", action)
	}
	assert.Equal(t, before, b.cluster.DryRuns())
	require.Len(t, b.cluster.Jobs(), 1)
	assert.Empty(t, b.cluster.Jobs()[0].Annotations)
	assert.Empty(t, b.backend.temporal().runs)
	assert.False(t, *b.cluster.Stored("team-00", "mail-0000").Spec.Suspend)
}

func TestAViewerHasNoButtons(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	b.cluster.OnlyViewers(true)
	for _, path := range []string{"/cronjob?namespace=team-00&name=mail-0000", "/cronjob?namespace=team-00&name=report-0004", "/run?namespace=team-00&name=mail-0000&at=2026-03-02T09:30:00Z"} {
		got := b.get(path)
		assert.Equal(t, http.StatusOK, got.status)
		assert.NotContains(t, got.body, "data-post", path)
		assert.Contains(t, got.body, "You may not create jobs.batch in namespace team-00", path)
	}
	assert.Contains(t, b.get("/cronjob?namespace=team-00&name=mail-0000").body, "You may not patch cronjobs.batch.ostinato.dev in namespace team-00")
}

func TestWhatWasConfirmedIsDoneOnce(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	shown := b.post("/plan", mail("action", "run")...)
	assert.Equal(t, http.StatusOK, b.confirm(shown).status)
	again := b.confirm(shown)
	assert.Equal(t, http.StatusConflict, again.status)
	assert.Contains(t, again.body, "begin again")
	assert.Len(t, b.cluster.Jobs(), 1)

	edited := b.post("/plan", mail("action", "run")...)
	b.cluster.Edit(func(stored []ostinatov1.CronJob) { stored[0].Generation++ })
	got := b.confirm(edited)
	assert.Equal(t, http.StatusConflict, got.status)
	assert.Contains(t, got.body, "was changed since: begin again")

	replaced := b.post("/plan", mail("action", "run")...)
	b.cluster.Edit(func(stored []ostinatov1.CronJob) { stored[0].UID = "another" })
	assert.Equal(t, http.StatusConflict, b.confirm(replaced).status)
	assert.Len(t, b.cluster.Jobs(), 1)
}

func TestMistakesSayWhatToChange(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	for want, form := range map[string][]string{
		"names no action":  mail("action", "explode"),
		"names no CronJob": {"action", "run"},
		"the reason has 300 bytes, and may have 256": mail("action", "suspend", "reason", strings.Repeat("a", 300)),
		"is no time": mail("action", "backfill", "from", "yesterday", "to", "2026-03-02T02:00"),
	} {
		got := b.post("/plan", form...)
		assert.Equal(t, http.StatusBadRequest, got.status, want)
		assert.Contains(t, got.body, want)
	}
	gone := b.post("/plan", "action", "run", "namespace", "team-00", "name", "gone")
	assert.Equal(t, http.StatusNotFound, gone.status)
	large := b.post("/plan", mail("action", "suspend", "reason", strings.Repeat("a", 20<<10))...)
	assert.GreaterOrEqual(t, large.status, 400)
	assert.Equal(t, http.StatusBadRequest, b.get("/run?namespace=team-00&name=mail-0000&at=two").status)
	assert.Equal(t, http.StatusBadRequest, b.get("/times?namespace=team-00&name=mail-0000&from=2026-03-02T02:00:00Z").status)
}
