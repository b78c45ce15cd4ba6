package cronjobs

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
)

// latency is how long a write takes. Whoever watches has seen it by then, so that what the controller does next doesn't depend on which
// goroutine runs first: its caches are never behind its own writes.
const latency = time.Millisecond

// client answers writes after the latency.
type client struct{ kubernetes.Interface }

func (c client) BatchV1() typedbatchv1.BatchV1Interface { return batch{c.Interface.BatchV1()} }

type batch struct{ typedbatchv1.BatchV1Interface }

func (b batch) Jobs(namespace string) typedbatchv1.JobInterface {
	return jobWrites{b.BatchV1Interface.Jobs(namespace)}
}

func (b batch) CronJobs(namespace string) typedbatchv1.CronJobInterface {
	return cronJobWrites{b.BatchV1Interface.CronJobs(namespace)}
}

type jobWrites struct{ typedbatchv1.JobInterface }

func (w jobWrites) Create(ctx context.Context, job *batchv1.Job, options metav1.CreateOptions) (*batchv1.Job, error) {
	defer time.Sleep(latency)
	return w.JobInterface.Create(ctx, job, options)
}

func (w jobWrites) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	defer time.Sleep(latency)
	return w.JobInterface.Delete(ctx, name, options)
}

type cronJobWrites struct{ typedbatchv1.CronJobInterface }

func (w cronJobWrites) UpdateStatus(ctx context.Context, cronJob *batchv1.CronJob, options metav1.UpdateOptions) (*batchv1.CronJob, error) {
	defer time.Sleep(latency)
	return w.CronJobInterface.UpdateStatus(ctx, cronJob, options)
}
