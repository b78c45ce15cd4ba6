package k8s_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/k8s"
)

// slowLists is an API server whose lists of Jobs take a second and show what was there when they began.
type slowLists struct {
	*fake.Clientset
	lists atomic.Int64
	err   error
}

const listTakes = time.Second

func newSlowLists(jobs ...runtime.Object) *slowLists {
	s := &slowLists{Clientset: fake.NewClientset(jobs...)}
	s.PrependReactor("list", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		s.lists.Add(1)
		list, err := s.Tracker().List(action.GetResource(), batchv1.SchemeGroupVersion.WithKind("Job"), action.GetNamespace())
		time.Sleep(listTakes)
		if s.err != nil {
			err = s.err
		}
		return true, list, err
	})
	return s
}

func jobOf(owner string, n int) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", owner, n),
		OwnerReferences: []metav1.OwnerReference{{UID: types.UID(owner), Controller: ptr.To(true)}}}}
}

// found asks for the Jobs of an owner and returns their names.
func found(ctx context.Context, search *k8s.JobSearch, client kubernetes.Interface, owner string) ([]string, error) {
	var names []string
	err := search.ControlledBy(ctx, client, "default", types.UID(owner), func(job *batchv1.Job) { names = append(names, job.Name) })
	if err != nil {
		return nil, err
	}
	return names, nil
}

func TestAHundredOwnersThatAskAtATimeCostTwoLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const owners = 100
		var jobs []runtime.Object
		for n := range owners {
			jobs = append(jobs, jobOf(fmt.Sprint("owner-", n), 1))
		}
		search, client := &k8s.JobSearch{}, newSlowLists(jobs...)
		var asking sync.WaitGroup
		for n := range owners {
			owner := fmt.Sprint("owner-", n)
			asking.Go(func() {
				names, err := found(t.Context(), search, client, owner)
				if err != nil || len(names) != 1 || names[0] != owner+"-1" {
					t.Errorf("%s has %v (%v)", owner, names, err)
				}
			})
		}
		asking.Wait()
		if lists := client.lists.Load(); lists > 2 {
			t.Errorf("%d lists for %d owners", lists, owners)
		}
	})
}

func TestWhatWasThereBeforeTheQuestionIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		search, client := &k8s.JobSearch{}, newSlowLists()
		first := make(chan []string)
		go func() {
			names, err := found(t.Context(), search, client, "one")
			if err != nil {
				t.Error(err)
			}
			first <- names
		}()
		time.Sleep(listTakes / 2)
		// Not by the client, which does one request at a time.
		if err := client.Tracker().Add(jobOf("one", 1)); err != nil {
			t.Fatal(err)
		}
		names, err := found(t.Context(), search, client, "one")
		if err != nil || len(names) != 1 {
			t.Errorf("who asks during a list that began before finds %v (%v)", names, err)
		}
		if names := <-first; len(names) != 0 {
			t.Errorf("the list that began before has %v", names)
		}
	})
}

func TestAListThatFailsFailsForThoseWhoWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		search, client := &k8s.JobSearch{}, newSlowLists(jobOf("one", 1))
		client.err = errors.New("etcd is away")
		if _, err := found(t.Context(), search, client, "one"); !errors.Is(err, client.err) {
			t.Errorf("error %v", err)
		}
		client.err = nil
		if names, err := found(t.Context(), search, client, "one"); err != nil || len(names) != 1 {
			t.Errorf("afterwards %v (%v)", names, err)
		}
	})
}

func TestWhoseTimeIsOverWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		search, client := &k8s.JobSearch{}, newSlowLists(jobOf("one", 1))
		ctx, cancel := context.WithTimeout(t.Context(), listTakes/2)
		defer cancel()
		if _, err := found(ctx, search, client, "one"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if names, err := found(t.Context(), search, client, "one"); err != nil || len(names) != 1 {
			t.Errorf("the next finds %v (%v)", names, err)
		}
	})
}

func newPagedLists(pages int64) *pagedLists {
	p := &pagedLists{}
	p.pages.Store(pages)
	return p
}

// pagedLists is an API server whose lists of Jobs have pages of one Job, each of which takes a second.
type pagedLists struct {
	kubernetes.Interface
	typedbatchv1.BatchV1Interface
	typedbatchv1.JobInterface
	pages, read atomic.Int64
}

func (p *pagedLists) BatchV1() typedbatchv1.BatchV1Interface { return p }

func (p *pagedLists) Jobs(string) typedbatchv1.JobInterface { return p }

func (p *pagedLists) List(ctx context.Context, _ metav1.ListOptions) (*batchv1.JobList, error) {
	select {
	case <-time.After(listTakes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	read := p.read.Add(1)
	page := &batchv1.JobList{Items: []batchv1.Job{*jobOf("one", int(read))}}
	if read < p.pages.Load() {
		page.Continue = "more"
	}
	return page, nil
}

// A namespace may have many Jobs, and the API server little time: who waits says for how long.
func TestAListTakesTheTimeThatItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		search, client := &k8s.JobSearch{}, newPagedLists(120)
		began := time.Now()
		names, err := found(t.Context(), search, client, "one")
		if err != nil || len(names) != 120 || time.Since(began) != 120*listTakes {
			t.Errorf("%d Jobs after %s (%v)", len(names), time.Since(began), err)
		}
	})
}

func TestAListThatNobodyWaitsForIsNotReadToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		search, client := &k8s.JobSearch{}, newPagedLists(1000)
		var asking sync.WaitGroup
		ask := func(patience time.Duration) {
			asking.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if _, err := found(ctx, search, client, "one"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
			})
			synctest.Wait()
		}
		// The first wants a list for ten seconds. The next one is for the others, of whom one waits until then.
		ask(10 * listTakes)
		ask(5 * listTakes)
		ask(20 * listTakes)
		asking.Wait()
		time.Sleep(time.Hour)
		if read := client.read.Load(); read < 18 || read > 20 {
			t.Errorf("%d pages were read, want those of twenty seconds", read)
		}
		client.pages.Store(0)
		if names, err := found(t.Context(), search, client, "one"); err != nil || len(names) != 1 {
			t.Errorf("afterwards %v (%v)", names, err)
		}
	})
}
