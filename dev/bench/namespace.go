package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"golang.org/x/sync/errgroup"
)

const (
	namespacePatience = time.Minute
	cleanUpPatience   = 10 * time.Minute
	// cleanUpPodPatience is added for each Pod.
	cleanUpPodPatience = 20 * time.Millisecond
	// creators is how many creates are under way at a time.
	creators = 64
)

// createNamespace creates the namespace and waits for the service account without which no Pod is admitted.
func (c *cluster) createNamespace(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, namespacePatience)
	defer cancel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.Kubernetes.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := c.Kubernetes.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("wait for the service account of namespace %s: %w", name, err)
	}
	return nil
}

// createMany calls create for 0 to count-1, many at a time, and stops at the first error.
func createMany(ctx context.Context, count int, create func(ctx context.Context, n int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for n := range count {
		group.Go(func() error { return create(ctx, n) })
	}
	return group.Wait()
}

// deleteNamespace removes everything in the namespace and the namespace itself. Pods go first, so that the garbage
// collector, which is slow at default flags, finds nothing to do. There are about so many of them.
func (c *cluster) deleteNamespace(ctx context.Context, name string, pods int) error {
	ctx, cancel := context.WithTimeout(ctx, cleanUpPatience+time.Duration(pods)*cleanUpPodPatience)
	defer cancel()
	if err := c.deleteObjects(ctx, name); err != nil {
		return fmt.Errorf("clean up namespace %s: %w", name, err)
	}
	namespaces := c.Kubernetes.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete namespace %s: %w", name, err)
	}
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("wait for namespace %s to be gone: %w", name, err)
	}
	return nil
}

func (c *cluster) deleteObjects(ctx context.Context, namespace string) error {
	now, background := int64(0), metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background}
	core, batch := c.Kubernetes.CoreV1(), c.Kubernetes.BatchV1()
	steps := []struct {
		what   string
		remove func(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
	}{
		{"Pods", core.Pods(namespace).DeleteCollection},
		{"Jobs", batch.Jobs(namespace).DeleteCollection},
		{"CronJobs", batch.CronJobs(namespace).DeleteCollection},
		{"Events", core.Events(namespace).DeleteCollection},
	}
	for _, step := range steps {
		// The API server ends a request after a minute, however much is left, and not always by its timeout error.
		var last error
		err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			err := step.remove(ctx, options, metav1.ListOptions{})
			if err != nil && ctx.Err() == nil {
				last = err
			}
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("delete %s: %w", step.what, errors.Join(err, last))
		}
	}
	if c.ostinato == nil {
		return nil
	}
	list, err := c.CronJobs.CronJobs(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list Ostinato's CronJobs: %w", err)
	}
	return createMany(ctx, len(list.Items), func(ctx context.Context, n int) error {
		err := c.CronJobs.CronJobs(namespace).Delete(ctx, list.Items[n].Name, metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete CronJob %s: %w", list.Items[n].Name, err)
		}
		return nil
	})
}

// createJobs creates the Jobs at once, whose Pods end at once, or at a time when that is given.
func (c *cluster) createJobs(ctx context.Context, namespace string, ostinato bool, count int, until time.Time) error {
	return createMany(ctx, count, func(ctx context.Context, n int) error {
		job := newJob(c.kwok.Name(), ostinato, n, until)
		if _, err := c.Kubernetes.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create Job %s: %w", job.Name, err)
		}
		return nil
	})
}

// createOneJob creates the Job of many Pods.
func (c *cluster) createOneJob(ctx context.Context, namespace string, job *batchv1.Job) error {
	if _, err := c.Kubernetes.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Job %s: %w", job.Name, err)
	}
	return nil
}

// createCronJobs creates the CronJobs, those of batch/v1 or Ostinato's own.
func (c *cluster) createCronJobs(ctx context.Context, namespace string, native bool, schedule string, count int) error {
	return createMany(ctx, count, func(ctx context.Context, n int) error {
		var err error
		if native {
			_, err = c.Kubernetes.BatchV1().CronJobs(namespace).Create(ctx, newCronJob(c.kwok.Name(), schedule, n), metav1.CreateOptions{})
		} else {
			_, err = c.CronJobs.CronJobs(namespace).Create(ctx, newOstinatoCronJob(c.kwok.Name(), schedule, n), metav1.CreateOptions{})
		}
		if err != nil {
			return fmt.Errorf("create CronJob %d: %w", n, err)
		}
		return nil
	})
}
