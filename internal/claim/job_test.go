package claim_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/names"
)

func TestOurs(t *testing.T) {
	for name, test := range map[string]struct {
		managedBy       *string
		marked, takenOn bool
	}{
		"nobody":                {nil, false, true},
		"built-in controller":   {ptr.To(batchv1.JobControllerName), false, true},
		"Ostinato":              {ptr.To(names.JobController), true, true},
		"another controller":    {ptr.To("kueue.x-k8s.io/multikueue"), false, false},
		"an empty name":         {ptr.To(""), false, false},
		"Ostinato, misspelled":  {ptr.To("ostinato.dev/Job-Controller"), false, false},
		"Ostinato, with spaces": {ptr.To(" ostinato.dev/job-controller"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			job := &batchv1.Job{Spec: batchv1.JobSpec{ManagedBy: test.managedBy}}
			if marked, takenOn := claim.Ours(job, false), claim.Ours(job, true); marked != test.marked || takenOn != test.takenOn {
				t.Errorf("ours %v, taken over %v", marked, takenOn)
			}
		})
	}
}

func TestFinished(t *testing.T) {
	for name, test := range map[string]struct {
		kind   batchv1.JobConditionType
		status corev1.ConditionStatus
		want   bool
	}{
		"complete":        {batchv1.JobComplete, corev1.ConditionTrue, true},
		"failed":          {batchv1.JobFailed, corev1.ConditionTrue, true},
		"not failed":      {batchv1.JobFailed, corev1.ConditionFalse, false},
		"about to fail":   {batchv1.JobFailureTarget, corev1.ConditionTrue, false},
		"suspended":       {batchv1.JobSuspended, corev1.ConditionTrue, false},
		"unknown whether": {batchv1.JobComplete, corev1.ConditionUnknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			job := living().with(batchv1.JobSuspended, corev1.ConditionFalse).with(test.kind, test.status).Job
			condition := claim.Finished(job)
			if (condition != nil) != test.want || test.want && condition != &job.Status.Conditions[1] {
				t.Errorf("condition %v", condition)
			}
		})
	}
}

func TestSelector(t *testing.T) {
	byUID := labels.Set{batchv1.ControllerUidLabel: jobUID}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: jobUID}}
	if selector, err := claim.Selector(job); err != nil || !selector.Matches(byUID) || selector.Matches(labels.Set{"app": "hello"}) {
		t.Errorf("selector %v, error %v", selector, err)
	}
	job = living().manual().Job
	if selector, err := claim.Selector(job); err != nil || selector.Matches(byUID) || !selector.Matches(labels.Set{"app": "hello"}) {
		t.Errorf("selector %v, error %v", selector, err)
	}
	job.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles"}}
	if selector, err := claim.Selector(job); err == nil {
		t.Errorf("selector %v", selector)
	}
}

func TestOfCronJob(t *testing.T) {
	for name, test := range map[string]struct {
		owner metav1.OwnerReference
		want  bool
	}{
		"its":               {cronJob("nightly", "c1"), true},
		"re-created":        {cronJob("nightly", "c2"), false},
		"another":           {cronJob("hourly", "c1"), false},
		"batch/v1's":        {controller("batch/v1", "CronJob", "nightly", "c1"), true},
		"batch/v1's other":  {controller("batch/v1", "CronJob", "nightly", "c2"), false},
		"another group's":   {controller("batch.example/v1", "CronJob", "nightly", "c1"), false},
		"another kind":      {controller("batch.ostinato.dev/v1", "Job", "nightly", "c1"), false},
		"no controller":     {metav1.OwnerReference{APIVersion: "batch.ostinato.dev/v1", Kind: "CronJob", Name: "nightly", UID: "c1"}, false},
		"none":              {metav1.OwnerReference{}, false},
		"no UID in the Job": {cronJob("nightly", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			job := living().Job
			job.OwnerReferences = []metav1.OwnerReference{test.owner}
			if got := claim.OfCronJob(job, "nightly", "c1"); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
			if claim.OfCronJob(job, "nightly", "") {
				t.Error("the Job of a CronJob without UID")
			}
		})
	}
}

func TestCronJobsOfBothGroupsAreToldApart(t *testing.T) {
	for version, native := range map[string]bool{"batch.ostinato.dev/v1": false, "batch/v1": true} {
		job := living().Job
		job.OwnerReferences = []metav1.OwnerReference{controller(version, "CronJob", "nightly", "c1")}
		if got, ok := claim.CronJobOf(job); !ok || got != (claim.CronJob{Name: "nightly", UID: "c1", Native: native}) {
			t.Errorf("%s: %+v %t", version, got, ok)
		}
	}
}

func TestHasUIDLabel(t *testing.T) {
	if !claim.HasUIDLabel(pod().Pod, jobUID) || claim.HasUIDLabel(pod().Pod, "other") || claim.HasUIDLabel(pod().stranger().Pod, "") {
		t.Error("wrong")
	}
}
