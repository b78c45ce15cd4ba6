package activities_test

import (
	"errors"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// cachedIn makes the watch cache, which is read with resourceVersion 0, answer with an
// object that is not the stored one; nil for none.
func cachedIn(fake *clienttesting.Fake, resource string, object runtime.Object) {
	fake.PrependReactor("get", resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		get, ok := action.(clienttesting.GetActionImpl)
		if !ok || get.GetOptions.ResourceVersion != "0" {
			return false, nil, nil
		}
		if object == nil {
			return true, nil, apierrors.NewNotFound(action.GetResource().GroupResource(), get.GetName())
		}
		return true, object.DeepCopyObject(), nil
	})
}

// liveReads counts the reads of a resource that come from etcd.
func liveReads(actions []clienttesting.Action, resource string) int {
	reads := 0
	for _, action := range actions {
		get, ok := action.(clienttesting.GetActionImpl)
		if ok && get.GetResource().Resource == resource && get.GetOptions.ResourceVersion == "" {
			reads++
		}
	}
	return reads
}

// ended asks for what a plan does at the end of a run: a status, and a Job that is too many.
func ended(planned *ostinatov1.CronJob) protocol.WriteStatusRequest {
	return protocol.WriteStatusRequest{
		CronJob: cronJobRef, Digest: schedule.SpecOf(planned).Digest(),
		Status: &ostinatov1.CronJobStatus{LastSuccessfulTime: ptr.To(metav1.NewTime(scheduled))}, Prune: []schedule.Delete{{Name: "old", UID: "old-uid"}},
	}
}

// became says what has become of the CronJob by the result of ended: written, edited or gone.
func (s *stage) became(result protocol.WriteStatusResult) string {
	switch {
	case result.Gone:
		return "gone"
	case result.CurrentSpec != nil:
		return "edited"
	case result.StatusFailed == "" && s.cronJobs.Stored(namespace, "hello").Status.LastSuccessfulTime != nil:
		return "written"
	}
	return "nothing"
}

// version is the CronJob at a resourceVersion.
func version(resourceVersion string, change func(*ostinatov1.CronJob)) *ostinatov1.CronJob {
	cronJob := helloCronJob()
	cronJob.ResourceVersion = resourceVersion
	cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(int32(0))
	if change != nil {
		change(cronJob)
	}
	return cronJob
}

func TestTheEndOfARunIsWrittenWithoutALiveRead(t *testing.T) {
	cronJob := version("1", nil)
	s := newStage(t, []runtime.Object{finishedCronJobsJob("old", batchv1.JobComplete)}, []*ostinatov1.CronJob{cronJob})
	result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, ended(cronJob))
	if status := s.cronJobs.Stored(namespace, "hello").Status; !slices.Equal(result.Pruned, []string{"old"}) || status.LastSuccessfulTime == nil {
		t.Errorf("result %+v, status %+v", result, status)
	}
	if reads := liveReads(s.cronJobs.Actions(), "cronjobs"); reads != 0 {
		t.Errorf("%d live reads", reads)
	}
}

func TestATemplateIsJudgedWithoutALiveRead(t *testing.T) {
	cronJob := version("1", nil)
	s := newStage(t, nil, []*ostinatov1.CronJob{cronJob})
	asked := s.answerDryRuns(nil)
	request := judgeRequest()
	request.Digest = schedule.SpecOf(cronJob).Digest()
	result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, request)
	if reads := liveReads(s.cronJobs.Actions(), "cronjobs"); reads != 0 || *asked != 1 {
		t.Errorf("%d live reads, %d dry runs", reads, *asked)
	}
	if result.Judgement == nil || s.templateValid() == nil {
		t.Errorf("result %+v, condition %+v", result, s.templateValid())
	}
}

// The watch cache had the template that was asked for, and etcd has another.
func TestATemplateThatIsEditedMeanwhileIsNotJudged(t *testing.T) {
	old := version("1", nil)
	s := newStage(t, nil, []*ostinatov1.CronJob{version("2", func(c *ostinatov1.CronJob) { c.Generation++ })})
	cachedIn(&s.cronJobs.Fake, "cronjobs", old)
	s.answerDryRuns(apierrors.NewForbidden(jobs, "hello-1", errors.New("no team label")))
	request := judgeRequest()
	request.Digest = schedule.SpecOf(old).Digest()
	result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, request)
	if result.Judgement != nil || result.CurrentSpec == nil || s.templateValid() != nil || len(s.recorded()) > 0 {
		t.Errorf("result %+v, condition %+v, events %v", result, s.templateValid(), s.recorded())
	}
}

// TestTheEndOfARunMeetsAnOldWatchCache: what was not known of the CronJob counts all the
// same, before anything is deleted.
func TestTheEndOfARunMeetsAnOldWatchCache(t *testing.T) {
	for name, test := range map[string]struct {
		cached, stored *ostinatov1.CronJob
		// want is what becomes of it: written, edited or gone.
		want string
	}{
		"its status was written": {version("1", nil), version("2", nil), "written"},
		"it is not there yet":    {nil, version("2", nil), "written"},
		"it was edited": {version("1", nil), version("2", func(c *ostinatov1.CronJob) {
			c.Generation, c.Spec.SuccessfulJobsHistoryLimit = c.Generation+1, ptr.To(int32(5))
		}), "edited"},
		"the plan is newer": {version("1", func(c *ostinatov1.CronJob) { c.Generation-- }), version("2", nil), "written"},
		"it is gone":        {version("1", nil), nil, "gone"},
		"it was re-created": {version("1", nil), version("2", func(c *ostinatov1.CronJob) { c.UID = "new-uid" }), "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			var stored []*ostinatov1.CronJob
			if test.stored != nil {
				stored = append(stored, test.stored)
			}
			s := newStage(t, []runtime.Object{finishedCronJobsJob("old", batchv1.JobComplete)}, stored)
			var object runtime.Object
			if test.cached != nil {
				object = test.cached
			}
			cachedIn(&s.cronJobs.Fake, "cronjobs", object)
			result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, ended(version("1", nil)))
			became := s.became(result)
			if became != test.want || s.jobExists("old") != (test.want != "written") {
				t.Errorf("it is %s, want %s; the old Job is there: %t; result %+v", became, test.want, s.jobExists("old"), result)
			}
		})
	}
}

func TestAStatusThatIsRefusedGuardsNoDelete(t *testing.T) {
	edited := version("2", func(c *ostinatov1.CronJob) { c.Generation++ })
	for name, test := range map[string]struct {
		stored *ostinatov1.CronJob
		prunes bool
	}{"of the CronJob as it is": {version("1", nil), true}, "of one that was edited": {edited, false}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{finishedCronJobsJob("old", batchv1.JobComplete)}, []*ostinatov1.CronJob{test.stored})
			cachedIn(&s.cronJobs.Fake, "cronjobs", version("1", nil))
			s.cronJobs.PrependReactor("update", "cronjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewInternalError(errors.New("no answer"))
			})
			result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, ended(version("1", nil)))
			if result.StatusFailed == "" && test.prunes || s.jobExists("old") == test.prunes || (result.CurrentSpec == nil) != test.prunes {
				t.Errorf("result %+v, the old Job is there: %t", result, s.jobExists("old"))
			}
		})
	}
}

// TestTheEndOfAJobIsWrittenWithoutALiveRead: unless the watch cache is old.
func TestTheEndOfAJobIsWrittenWithoutALiveRead(t *testing.T) {
	at := func(resourceVersion string, change func(*batchv1.Job)) *batchv1.Job {
		one := helloJob()
		one.ResourceVersion = resourceVersion
		if change != nil {
			change(one)
		}
		return one
	}
	edited := func(one *batchv1.Job) { one.Spec.Parallelism = ptr.To(int32(7)) }
	given := func(one *batchv1.Job) { one.Spec.ManagedBy = ptr.To("example.com/another") }
	another := func(one *batchv1.Job) { one.UID = "another-uid" }
	overtaken := func(one *batchv1.Job) {
		one.Status.Failed = 1
		one.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:failed":{}}}`),
		}}
	}
	for name, test := range map[string]struct {
		cached, stored *batchv1.Job
		reads          int
		planned        bool
	}{
		"as it is":               {at("2", nil), at("2", nil), 0, true},
		"its status was written": {at("1", nil), at("2", nil), 1, true},
		"it was edited":          {at("1", nil), at("2", edited), 1, false},
		"it was given away":      {at("1", nil), at("2", given), 1, false},
		"it was re-created":      {at("1", nil), at("2", another), 1, false},
		"the plan is newer":      {at("1", edited), at("2", nil), 1, true},
		"another has counted":    {at("2", overtaken), at("2", overtaken), 1, false},
		"another has just now":   {at("1", nil), at("2", overtaken), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{test.stored, helloPod("a", corev1.PodSucceeded).Pod}, nil)
			cachedIn(&s.kubernetes.Fake, "jobs", test.cached)
			s.kubernetes.PrependReactor("update", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
				sent := action.(clienttesting.UpdateAction).GetObject().(*batchv1.Job)
				if sent.ResourceVersion == "2" {
					return false, nil, nil
				}
				return true, nil, apierrors.NewConflict(batchv1.Resource("jobs"), jobName, errors.New("modified"))
			})
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
				Job: jobRef, Digest: job.SpecOf(at("", nil)).Digest(), Base: &job.Base{}, Status: &batchv1.JobStatus{Succeeded: 1},
				Releases: []job.Release{{Name: "a", UID: "a-uid", Phase: corev1.PodSucceeded}},
			})
			if reads := liveReads(s.kubernetes.Actions(), "jobs"); reads != test.reads {
				t.Errorf("%d live reads, want %d", reads, test.reads)
			}
			stopped := result.Unplanned || result.Foreign || result.Gone
			if written := s.job(jobName).Status.Succeeded == 1; written != test.planned || stopped == test.planned || s.tracked("a") == test.planned {
				t.Errorf("result %+v, written %t, tracked %t", result, written, s.tracked("a"))
			}
		})
	}
}
