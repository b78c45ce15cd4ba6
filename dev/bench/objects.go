package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/internal/names"
)

// jobSpec is a Job of one Pod that the simulated node ends at once. The Pod names its node: the scheduler's own limits
// are none of the things to compare.
func jobSpec(nodeName string) batchv1.JobSpec {
	return batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeName:      nodeName,
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "busybox:1.28", Command: []string{"/bin/sh", "-c", "date"}}},
	}}}
}

// newJob is the n-th Job. Ostinato's carry its name as manager.
// Its Pod ends at once, or at a time when that is given.
func newJob(nodeName string, ostinato bool, n int, until time.Time) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("job-%05d", n)}, Spec: jobSpec(nodeName)}
	if ostinato {
		job.Spec.ManagedBy = ptr.To(names.JobController)
	}
	if !until.IsZero() {
		job.Spec.Template.Annotations = map[string]string{node.AnnotationRunUntil: until.UTC().Format(time.RFC3339)}
	}
	return job
}

// oneJobName is the name of the only Job of a scenario.
const oneJobName = "large"

// newOneJob is the only Job, with many Pods that are as small as can be. They end at once, or at a time when that is given.
func newOneJob(nodeName string, ostinato bool, completions, parallelism int32, until time.Time) *batchv1.Job {
	job := newJob(nodeName, ostinato, 0, until)
	job.Name = oneJobName
	mode, mount := batchv1.IndexedCompletion, false
	job.Spec.CompletionMode, job.Spec.Completions, job.Spec.Parallelism = &mode, &completions, &parallelism
	job.Spec.Template.Spec.AutomountServiceAccountToken = &mount
	return job
}

// schedule is due at the minutes of times in UTC. Times of two hours make it due at each minute in either, well before
// or after a scenario.
func schedule(due ...time.Time) string {
	fields := make([][]string, 4)
	for _, at := range due {
		at = at.UTC()
		for i, value := range []int{at.Minute(), at.Hour(), at.Day(), int(at.Month())} {
			if text := strconv.Itoa(value); !slices.Contains(fields[i], text) {
				fields[i] = append(fields[i], text)
			}
		}
	}
	return strings.Join([]string{
		strings.Join(fields[0], ","), strings.Join(fields[1], ","), strings.Join(fields[2], ","), strings.Join(fields[3], ","), "*",
	}, " ")
}

// newCronJob is the n-th CronJob.
func newCronJob(nodeName, schedule string, n int) *batchv1.CronJob {
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cronjob-%05d", n)},
		Spec: batchv1.CronJobSpec{
			Schedule:    schedule,
			TimeZone:    ptr.To("Etc/UTC"),
			JobTemplate: batchv1.JobTemplateSpec{Spec: jobSpec(nodeName)},
		},
	}
}

// newOstinatoCronJob is the same in Ostinato's API group.
func newOstinatoCronJob(nodeName, schedule string, n int) *ostinatov1.CronJob {
	native := newCronJob(nodeName, schedule, n)
	return &ostinatov1.CronJob{
		ObjectMeta: native.ObjectMeta,
		Spec: ostinatov1.CronJobSpec{
			Schedule: native.Spec.Schedule, TimeZone: native.Spec.TimeZone, JobTemplate: native.Spec.JobTemplate,
		},
	}
}
