package activities_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// reads counts the reads of a resource, from etcd or the watch cache.
func reads(actions []clienttesting.Action, resource string) int {
	count := 0
	for _, action := range actions {
		if action.GetVerb() == "get" && action.GetResource().Resource == resource {
			count++
		}
	}
	return count
}

// startHello starts a run of the CronJob, and forgets what was asked of the API server.
func (s *stage) startHello() {
	s.t.Helper()
	if result := must[protocol.StartRunResult](s, protocol.StartRunActivity, protocol.StartRunRequest{CronJob: cronJobRef, Start: *start()}); result.Started == nil {
		s.t.Fatalf("result %+v", result)
	}
	s.cronJobs.ClearActions()
}

// basis is the one of a workflow that knows the status.
func (s *stage) basis() schedule.Basis {
	return schedule.Basis{Revision: s.cronJobs.Stored(namespace, "hello").Status.Revision}
}

// become makes the CronJob another; nil takes it away.
func (s *stage) become(cronJob *ostinatov1.CronJob) error {
	if cronJob == nil {
		return s.cronJobs.Vanish(namespace, "hello")
	}
	return s.cronJobs.Become(cronJob)
}

func status(request protocol.WriteStatusRequest, active ...corev1.ObjectReference) protocol.WriteStatusRequest {
	request.Status = &ostinatov1.CronJobStatus{Active: active, LastSuccessfulTime: ptr.To(metav1.NewTime(scheduled))}
	return request
}

// TestARunIsWrittenAsTheCronJobIsRemembered: where its start left it.
func TestARunIsWrittenAsTheCronJobIsRemembered(t *testing.T) {
	s := newStage(t, []runtime.Object{finishedCronJobsJob("old", batchv1.JobComplete)}, []*ostinatov1.CronJob{version("1", func(c *ostinatov1.CronJob) {
		c.Status.Conditions = []metav1.Condition{{Type: "Another", Status: metav1.ConditionTrue}}
	})})
	s.startHello()
	for _, request := range []protocol.WriteStatusRequest{
		status(ended(version("1", nil)), corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: start().Name}), status(ended(version("1", nil))),
	} {
		request.Basis = s.basis()
		must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, request)
		if read := reads(s.cronJobs.Actions(), "cronjobs"); read != 0 {
			t.Errorf("%d reads", read)
		}
	}
	stored := s.cronJobs.Stored(namespace, "hello")
	if len(stored.Status.Active) > 0 || stored.Status.LastSuccessfulTime == nil || len(stored.Status.Conditions) != 1 || s.jobExists("old") {
		t.Errorf("status %+v, the old Job is there: %t", stored.Status, s.jobExists("old"))
	}
	// The run is over, so that nothing is remembered any more.
	last := ended(version("1", nil))
	last.Basis = s.basis()
	must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, last)
	if read := reads(s.cronJobs.Actions(), "cronjobs"); read == 0 {
		t.Error("a CronJob without a run is remembered")
	}
}

// TestWhatIsRememberedOfACronJobIsNotBelieved: what has become of it since counts, before
// anything is deleted.
func TestWhatIsRememberedOfACronJobIsNotBelieved(t *testing.T) {
	for name, test := range map[string]struct {
		stored *ostinatov1.CronJob
		want   string
	}{
		"another wrote to it": {version("2", func(c *ostinatov1.CronJob) { c.Annotations = map[string]string{"a": "b"} }), "written"},
		"it was edited":       {version("2", func(c *ostinatov1.CronJob) { c.Generation++ }), "edited"},
		"it was re-created":   {version("2", func(c *ostinatov1.CronJob) { c.UID = "new-uid" }), "gone"},
		"it is gone":          {nil, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{finishedCronJobsJob("old", batchv1.JobComplete)}, []*ostinatov1.CronJob{version("1", nil)})
			s.startHello()
			if err := s.become(test.stored); err != nil {
				t.Fatal(err)
			}
			result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, ended(version("1", nil)))
			became := s.became(result)
			if became != test.want || s.jobExists("old") != (test.want != "written") {
				t.Errorf("it is %s, want %s; the old Job is there: %t; result %+v", became, test.want, s.jobExists("old"), result)
			}
		})
	}
}

// TestAnotherNameForARememberedCronJob: the UID in a request may be made up.
func TestAnotherNameForARememberedCronJob(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{version("1", nil)})
	s.startHello()
	for name, forge := range map[string]func(*protocol.ObjectReference){
		"name":      func(r *protocol.ObjectReference) { r.Name = "another" },
		"namespace": func(r *protocol.ObjectReference) { r.Namespace = "another" },
		"group":     func(r *protocol.ObjectReference) { r.Native = true },
	} {
		request := ended(version("1", nil))
		forge(&request.CronJob)
		if result, err := run[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, request); err == nil && !result.Gone {
			t.Errorf("another %s: result %+v", name, result)
		}
	}
	if s.cronJobs.Stored(namespace, "hello").Status.LastSuccessfulTime != nil {
		t.Error("the status was written")
	}
}

// TestATemplateIsJudgedAsItIs: what is remembered of a CronJob has none.
func TestATemplateIsJudgedAsItIs(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{version("1", nil)})
	s.startHello()
	asked := s.answerDryRuns(nil)
	request := judgeRequest()
	request.Digest = schedule.SpecOf(version("1", nil)).Digest()
	result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, request)
	if read := reads(s.cronJobs.Actions(), "cronjobs"); read != 1 || *asked != 1 || result.Judgement == nil || result.Judgement.Refusal != "" {
		t.Errorf("%d reads, %d dry runs, result %+v", read, *asked, result)
	}
}
