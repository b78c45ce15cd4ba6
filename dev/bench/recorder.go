package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// observer takes what watches show, at the time they show it, and knows what is waited for.
type observer interface {
	observeJob(job *batchv1.Job, at time.Time)
	// observePod takes a Pod as it is, or as it last was when it is gone.
	observePod(pod *corev1.Pod, gone bool, at time.Time)
	// done tells that everything has ended well; an error says that it will not any more.
	done() (bool, error)
	// state says how far things are.
	state() string
}

// recorder shows an observer a namespace's Jobs and Pods.
type recorder struct {
	observer
	cancel  context.CancelFunc
	watches sync.WaitGroup

	failureMutex sync.Mutex
	failure      error
}

// startRecorder watches from now on; Stop ends it.
func startRecorder(ctx context.Context, client kubernetes.Interface, namespace string, o observer) (*recorder, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &recorder{observer: o, cancel: cancel}
	jobs, pods := client.BatchV1().Jobs(namespace), client.CoreV1().Pods(namespace)
	err := r.watch(ctx, "Jobs", func(ctx context.Context) (string, error) {
		list, err := jobs.List(ctx, metav1.ListOptions{})
		return listVersion(list, err)
	}, jobs.Watch)
	if err == nil {
		err = r.watch(ctx, "Pods", func(ctx context.Context) (string, error) {
			list, err := pods.List(ctx, metav1.ListOptions{})
			return listVersion(list, err)
		}, pods.Watch)
	}
	if err != nil {
		r.stop()
		return nil, fmt.Errorf("watch namespace %s: %w", namespace, err)
	}
	return r, nil
}

func listVersion(list metav1.ListInterface, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return list.GetResourceVersion(), nil
}

func (r *recorder) watch(ctx context.Context, kind string, version func(context.Context) (string, error),
	open func(context.Context, metav1.ListOptions) (watch.Interface, error),
) error {
	from, err := version(ctx)
	if err != nil {
		return fmt.Errorf("list %s: %w", kind, err)
	}
	stream, err := toolswatch.NewRetryWatcherWithContext(ctx, from, &cache.ListWatch{WatchFuncWithContext: open})
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind, err)
	}
	r.watches.Go(func() {
		for event := range stream.ResultChan() {
			r.observe(event, time.Now())
		}
		if ctx.Err() == nil {
			r.fail(fmt.Errorf("the watch on %s ended early", kind))
		}
	})
	return nil
}

func (r *recorder) observe(event watch.Event, at time.Time) {
	switch object := event.Object.(type) {
	case *batchv1.Job:
		if event.Type != watch.Deleted {
			r.observeJob(object, at)
		}
	case *batchv1.CronJob, *ostinatov1.CronJob:
		if a, ok := r.observer.(*armedCronJobs); ok && event.Type != watch.Deleted {
			a.observeCronJob(object.(metav1.Object), at)
		}
	case *corev1.Pod:
		r.observePod(object, event.Type == watch.Deleted, at)
	default:
		if event.Type == watch.Error {
			r.fail(fmt.Errorf("watch: %v", event.Object))
		}
	}
}

func (r *recorder) fail(err error) {
	r.failureMutex.Lock()
	defer r.failureMutex.Unlock()
	if r.failure == nil {
		r.failure = err
	}
}

func (r *recorder) err() error {
	r.failureMutex.Lock()
	defer r.failureMutex.Unlock()
	return r.failure
}

func (r *recorder) stop() {
	r.cancel()
	r.watches.Wait()
}

// wait returns when the observer has seen everything end, or with an error that says how far things came when they can't
// end well any more, a process or a watch ends, or the context does.
func (r *recorder) wait(ctx context.Context, alive func() error) error {
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		done, err := r.done()
		if done || err != nil {
			return done, err
		}
		return false, errors.Join(r.err(), alive())
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("wait for the end: %w: %s", context.Cause(ctx), r.state())
	}
	return err
}
