package activities_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// Whoever may send a trigger may say what becomes of the runs that are active; nobody else.
func TestWhoMayAskForOverlap(t *testing.T) {
	manual := schedule.Start{Name: names.TriggeredJob("hello", "cron-uid", 1), Scheduled: scheduled, Manual: true, Sequence: 1}
	under := func(start schedule.Start, overlap batchv1.ConcurrencyPolicy) schedule.Start {
		start.Overlap = overlap
		return start
	}
	misnamed := manual
	misnamed.Name = "mine"
	for name, test := range map[string]struct {
		policy  batchv1.ConcurrencyPolicy
		accepts string
		start   schedule.Start
		exists  bool
		starts  bool
		deletes bool
	}{
		"Replace by a trigger":                      {batchv1.AllowConcurrent, "trigger", under(manual, "Replace"), false, true, true},
		"Replace by a trigger that is not taken":    {batchv1.AllowConcurrent, "none", under(manual, "Replace"), false, false, false},
		"Replace by one whose Job is there already": {batchv1.AllowConcurrent, "none", under(manual, "Replace"), true, true, false},
		"Replace by a Job of another name":          {batchv1.AllowConcurrent, "trigger", under(misnamed, "Replace"), false, false, false},
		"Replace by a scheduled run":                {batchv1.AllowConcurrent, "trigger", under(startRequest().Start, "Replace"), false, false, false},
		"a delete for a trigger that asks none":     {batchv1.AllowConcurrent, "trigger", under(manual, ""), false, false, false},
		"a delete for one that asks for Allow":      {batchv1.ReplaceConcurrent, "trigger", under(manual, "Allow"), false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := concurrent(test.policy)
			cronJob.Annotations = map[string]string{names.AcceptSignalsAnnotation: test.accepts}
			objects := []runtime.Object{cronJobsJob("active")}
			if test.exists {
				objects = append(objects, cronJobsJob(test.start.Name))
			}
			s := newStage(t, objects, []*ostinatov1.CronJob{cronJob})
			request := protocol.StartRunRequest{
				CronJob: cronJobRef, Start: test.start, Replace: []schedule.Delete{{Name: "active", UID: "active-uid", Replaced: true}},
			}
			_, err := run[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			if deleted := !s.jobExists("active"); deleted != test.deletes {
				t.Errorf("the running Job was deleted: %v", deleted)
			}
			if s.jobExists(test.start.Name) != test.starts {
				t.Errorf("writes %v, error %v", s.writes(), err)
			}
		})
	}
}

func TestAnOverlapThatIsAskedForIsJudgedByTheJobsThatTheStatusNames(t *testing.T) {
	for overlap, starts := range map[batchv1.ConcurrencyPolicy]bool{"": false, "Allow": true, "Forbid": false, "Queue": false} {
		t.Run(string("overlap "+overlap), func(t *testing.T) {
			cronJob := concurrent(batchv1.ForbidConcurrent)
			cronJob.Status.Active = []corev1.ObjectReference{{Namespace: namespace, Name: "active", UID: "active-uid"}}
			s := newStage(t, []runtime.Object{cronJobsJob("active")}, []*ostinatov1.CronJob{cronJob})
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, protocol.StartRunRequest{CronJob: cronJobRef, Start: schedule.Start{
				Name: names.TriggeredJob("hello", "cron-uid", 1), Scheduled: scheduled, Manual: true, Sequence: 1, Overlap: overlap,
			}})
			if (result.Started != nil) != starts {
				t.Errorf("result %+v", result)
			}
			if !starts && !strings.Contains(result.Refused.Message, "Job active runs") {
				t.Errorf("refusal %+v", result.Refused)
			}
		})
	}
}
