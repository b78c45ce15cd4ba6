package activities_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// revised is a CronJob whose status was written so often, the last time for the plan with the digest.
func revised(revision int64, planDigest string) *ostinatov1.CronJob {
	return version("1", func(cronJob *ostinatov1.CronJob) {
		cronJob.Status.Revision, cronJob.Status.PlanDigest = revision, planDigest
		cronJob.Status.LastScheduleTime = &metav1.Time{Time: scheduled.AddDate(0, 0, -1)}
	})
}

// A workflow whose state is older than the CronJob's status, since Temporal was restored or the workflow reset, does nothing.
func TestAnOlderStateDoesNothing(t *testing.T) {
	basis := schedule.Basis{Revision: 7}
	write := ended(revised(8, "other"))
	write.Basis = basis
	prune := write
	prune.Status = nil
	start := startRequest()
	start.Basis = basis
	for name, ask := range map[string]func(*stage) bool{
		"write a status": func(s *stage) bool {
			return must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, write).Overtaken
		},
		"delete an old Job": func(s *stage) bool {
			return must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, prune).Overtaken
		},
		"start a run": func(s *stage) bool {
			return must[protocol.StartRunResult](s, protocol.StartRunActivity, start).Overtaken
		},
		"look": func(s *stage) bool {
			return must[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{CronJob: cronJobRef, Basis: basis}).Overtaken
		},
		"suspend": func(s *stage) bool {
			return must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, protocol.SetSuspendRequest{
				Kind: protocol.CronJobKind, Object: cronJobRef, Basis: basis, Wish: protocol.Wish{Suspend: true, At: scheduled},
			}).Overtaken
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{finishedCronJobsJob("old", batchv1.JobComplete)}, []*ostinatov1.CronJob{revised(8, "other")})
			assert.True(t, ask(s))
			assert.Empty(t, s.writes())
			assert.Empty(t, s.recorded())
		})
	}
}

// Each write counts the revision up, whatever the object has: its own counts once, and one of before a restore of etcd is
// overwritten.
func TestAWriteCountsTheRevisionUp(t *testing.T) {
	request := ended(revised(0, ""))
	digest := schedule.PlanDigest(request.Status, nil)
	for name, test := range map[string]struct {
		basis  schedule.Basis
		stored *ostinatov1.CronJob
		want   int64
		writes int
	}{
		"the status that was planned with":    {schedule.Basis{Revision: 7}, revised(7, "other"), 8, 1},
		"the first one":                       {schedule.Basis{}, revised(0, ""), 1, 1},
		"its own, whose answer was lost":      {schedule.Basis{Revision: 7}, revised(8, digest), 8, 0},
		"another one of it, without answer":   {schedule.Basis{Revision: 7, Unanswered: [4]string{"earlier"}}, revised(8, "earlier"), 9, 1},
		"one from before etcd was restored":   {schedule.Basis{Revision: 7}, revised(3, "before"), 8, 1},
		"none, since somebody has removed it": {schedule.Basis{Revision: 7}, revised(0, ""), 8, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, []*ostinatov1.CronJob{test.stored})
			request.Basis, request.Prune = test.basis, nil
			result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, request)
			assert.Empty(t, result.StatusFailed)
			assert.Equal(t, test.want, result.Revision)
			assert.Equal(t, test.want, s.cronJob().Status.Revision)
			assert.Len(t, s.writes(), test.writes)
		})
	}
}

// The revision of a CronJob of batch/v1 is noted in an annotation, and one of another UID does not count.
func TestTheRevisionOfANativeCronJob(t *testing.T) {
	for uid, want := range map[string]int64{"native-uid": 8, "copied-uid": 1} {
		stored := nativeCronJob()
		stored.Annotations = map[string]string{names.ObservedUIDAnnotation: uid, names.StatusRevisionAnnotation: "7 other"}
		s := newStage(t, []runtime.Object{stored}, nil, takingOverCronJobs)
		request := protocol.WriteStatusRequest{
			CronJob: nativeRef, Digest: schedule.SpecOf(helloCronJob()).Digest(), Status: &ostinatov1.CronJobStatus{ObservedGeneration: 3},
		}
		if uid == "native-uid" {
			assert.True(t, must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, request).Overtaken)
			request.Basis.Revision = 7
		}
		assert.Equal(t, want, must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, request).Revision)
		digest := schedule.PlanDigest(request.Status, nil)
		assert.Equal(t, map[int64]string{8: "8 ", 1: "1 "}[want]+digest, s.nativeCronJob().Annotations[names.StatusRevisionAnnotation])
	}
}

// TestALookSaysThatTheStatusIsEarlier: etcd was restored. The workflow writes it again then.
func TestALookSaysThatTheStatusIsEarlier(t *testing.T) {
	for revision, behind := range map[int64]bool{6: true, 7: false} {
		s := newStage(t, nil, []*ostinatov1.CronJob{revised(revision, "other")})
		request := protocol.FindRunsRequest{CronJob: cronJobRef, Basis: schedule.Basis{Revision: 7}}
		assert.Equal(t, behind, must[protocol.FindRunsResult](s, protocol.FindRunsActivity, request).Behind, "revision %d", revision)
	}
}
