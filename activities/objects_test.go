package activities_test

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/testing/fixture"
)

// What the tests here have in common with those of internal/podwatch.
const (
	namespace  = fixture.Namespace
	jobName    = fixture.JobName
	jobUID     = fixture.JobUID
	workflowID = fixture.WorkflowID
)

type podBuilder = fixture.Pod

var (
	helloJob   = fixture.HelloJob
	manualJob  = fixture.ManualJob
	otherJob   = fixture.OtherJob
	helloPod   = fixture.HelloPod
	objects    = fixture.Objects
	eventually = fixture.Eventually
)

func helloCronJob() *ostinatov1.CronJob {
	return &ostinatov1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello", UID: "cron-uid", Generation: 3},
		Spec: ostinatov1.CronJobSpec{
			Schedule: "* * * * *",
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyOnFailure,
					Containers:    []corev1.Container{{Name: "hello", Image: "busybox"}},
				},
			}}},
		},
	}
}
