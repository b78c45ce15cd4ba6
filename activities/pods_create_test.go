package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/protocol"
)

// slowServer is an API server that writes a Pod when it may, unless the client goes away first. It writes the status of a
// Job at once, and answers when it may.
type slowServer struct {
	kubernetes.Interface
	asked, may chan struct{}
}

func (s slowServer) CoreV1() typedv1.CoreV1Interface { return slowCore{s.Interface.CoreV1(), s} }

type slowCore struct {
	typedv1.CoreV1Interface
	server slowServer
}

func (c slowCore) Pods(namespace string) typedv1.PodInterface {
	return slowPods{c.CoreV1Interface.Pods(namespace), c.server}
}

type slowPods struct {
	typedv1.PodInterface
	server slowServer
}

func (p slowPods) Create(ctx context.Context, pod *corev1.Pod, options metav1.CreateOptions) (*corev1.Pod, error) {
	if err := p.server.wait(ctx); err != nil {
		return nil, err
	}
	return p.PodInterface.Create(ctx, pod, options)
}

func (p slowPods) Patch(
	ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string,
) (*corev1.Pod, error) {
	if err := p.server.wait(ctx); err != nil {
		return nil, err
	}
	return p.PodInterface.Patch(ctx, name, kind, data, options, subresources...)
}

func (p slowPods) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	if err := p.server.wait(ctx); err != nil {
		return err
	}
	return p.PodInterface.Delete(ctx, name, options)
}

func (s slowServer) BatchV1() typedbatchv1.BatchV1Interface {
	return unhurriedBatch{s.Interface.BatchV1(), s}
}

type unhurriedBatch struct {
	typedbatchv1.BatchV1Interface
	server slowServer
}

func (b unhurriedBatch) Jobs(namespace string) typedbatchv1.JobInterface {
	return unhurriedJobs{b.BatchV1Interface.Jobs(namespace), b.server}
}

type unhurriedJobs struct {
	typedbatchv1.JobInterface
	server slowServer
}

func (j unhurriedJobs) UpdateStatus(ctx context.Context, job *batchv1.Job, options metav1.UpdateOptions) (*batchv1.Job, error) {
	written, err := j.JobInterface.UpdateStatus(ctx, job, options)
	return written, errors.Join(err, j.server.wait(ctx))
}

func (s slowServer) wait(ctx context.Context) error {
	s.asked <- struct{}{}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.may:
		return nil
	}
}

// A create that takes longer than an attempt is not broken off: the attempt ends with its answer, its Event comes, and an
// attempt beside it has the answer too. An attempt that is given up sends no other create.
func TestACreateOutlastsTheAttemptThatSentIt(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	api := slowServer{s.kubernetes, make(chan struct{}, 2), make(chan struct{})}
	s.options.Kubernetes = api
	s.activities = activities.New(s.options)
	carryOut := func(ctx context.Context, request protocol.JobRequest) chan error {
		ended := make(chan error, 1)
		go func() {
			result, err := s.activities.CarryOut(ctx, request)
			if err == nil && len(result.Created) != 1 {
				err = fmt.Errorf("created %v", result.Created)
			}
			ended <- err
		}()
		return ended
	}
	request := s.planned(protocol.JobRequest{Job: jobRef, Creates: creates(2)}).(protocol.JobRequest)
	attempt, giveUp := context.WithCancel(t.Context())
	ended := carryOut(attempt, request)
	<-api.asked
	giveUp()
	request.Creates = request.Creates[:1]
	next := carryOut(t.Context(), request)
	select {
	case err := <-ended:
		t.Fatalf("the attempt that was given up ended before its create had an answer: %v", err)
	case err := <-next:
		t.Fatalf("the next attempt ended before the create had an answer: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	close(api.may)
	if err := <-ended; err != nil {
		t.Errorf("the attempt that was given up: %v", err)
	}
	if err := <-next; err != nil {
		t.Errorf("the next attempt: %v", err)
	}
	if len(api.asked) != 0 {
		t.Errorf("%d more creates were sent", len(api.asked))
	}
	if events := s.recorded(); !slices.Equal(events, []string{"Normal SuccessfulCreate Created pod: " + request.Creates[0].Name}) {
		t.Errorf("events %v", events)
	}
}

// The write of a status is waited for where the attempt that sent it is given up: its Events come, once.
func TestAStatusOutlastsTheAttemptThatSentIt(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	api := slowServer{s.kubernetes, make(chan struct{}, 2), make(chan struct{})}
	s.options.Kubernetes = api
	s.activities = activities.New(s.options)
	request := s.planned(protocol.JobRequest{Job: jobRef, Status: &batchv1.JobStatus{StartTime: new(metav1.Now())},
		Events: []event.Event{event.Normal("Resumed", "Job resumed")}}).(protocol.JobRequest)
	attempt, giveUp := context.WithCancel(t.Context())
	go func() {
		<-api.asked
		giveUp()
		time.Sleep(50 * time.Millisecond)
		close(api.may)
	}()
	for _, ctx := range []context.Context{attempt, t.Context()} {
		if _, err := s.activities.CarryOut(ctx, request); err != nil {
			t.Fatal(err)
		}
	}
	if events, resumed := s.recorded(), []string{"Normal Resumed Job resumed"}; !slices.Equal(events, resumed) {
		t.Errorf("events %v, want %v", events, resumed)
	}
}
