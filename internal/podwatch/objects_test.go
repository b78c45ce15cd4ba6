package podwatch_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/testing/fixture"
)

// What the tests here have in common with those of activities.
const (
	namespace  = fixture.Namespace
	jobName    = fixture.JobName
	jobUID     = fixture.JobUID
	workflowID = fixture.WorkflowID
)

type podBuilder = fixture.Pod

var (
	manualJob  = fixture.ManualJob
	otherJob   = fixture.OtherJob
	helloPod   = fixture.HelloPod
	objects    = fixture.Objects
	eventually = fixture.Eventually
)

// helloJob is a Job whose workflow has begun.
func helloJob() *batchv1.Job {
	job := fixture.HelloJob()
	job.Status.StartTime = ptr.To(metav1.NewTime(noon))
	return job
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func testLogger(t *testing.T) *slog.Logger {
	output := io.Discard
	if testing.Verbose() {
		output = t.Output()
	}
	return slog.New(slog.NewTextHandler(output, nil))
}

func managedBy(job *batchv1.Job, manager *string) *batchv1.Job {
	job.Spec.ManagedBy = manager
	return job
}

func deletingJob(job *batchv1.Job) *batchv1.Job {
	job.DeletionTimestamp, job.Finalizers = ptr.To(metav1.NewTime(noon)), []string{"orphan"}
	return job
}

func finishedJob(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.Job {
	job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue})
	return job
}
