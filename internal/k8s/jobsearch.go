package k8s

import (
	"context"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// JobSearch looks for the Jobs of owners by lists of all Jobs of a namespace, one for all who ask at a time: the API server can't
// select by owner, and thousands of CronJobs may ask when it has just come back from an outage. Who asks while a list is read
// waits for the next, with everyone else who does, so that what was created before is in it. A list takes the time that it takes,
// as long as a caller waits for it. The zero value is ready for use.
type JobSearch struct {
	mutex sync.Mutex
	// next is, by namespace, the list after the one being read; nil if no caller waits for one.
	next map[string]*jobList
}

// jobList is one list, and whose Jobs are to be seen by whom.
type jobList struct {
	see  map[types.UID][]func(*batchv1.Job)
	done chan struct{}
	err  error
	// waiting is how many wait for it, and unwanted ends it: none does.
	waiting  int
	unwanted context.CancelFunc
}

// ControlledBy calls see with every Job of a namespace that the object with the UID controls, as they are at one moment after
// the call. See is called from another goroutine, after an error of the context still: what it writes is the caller's only when
// ControlledBy has returned without an error.
func (s *JobSearch) ControlledBy(ctx context.Context, client kubernetes.Interface, namespace string, owner types.UID, see func(*batchv1.Job)) error {
	s.mutex.Lock()
	list, reading := s.next[namespace]
	if list == nil {
		list = &jobList{see: map[types.UID][]func(*batchv1.Job){}, done: make(chan struct{})}
		if s.next == nil {
			s.next = map[string]*jobList{}
		}
		s.next[namespace] = list
	}
	list.see[owner] = append(list.see[owner], see)
	list.waiting++
	s.mutex.Unlock()
	if !reading {
		go s.read(client, namespace)
	}
	select {
	case <-list.done:
		return list.err
	case <-ctx.Done():
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if list.waiting--; list.waiting == 0 && list.unwanted != nil {
		list.unwanted()
	}
	return context.Cause(ctx)
}

// read reads lists of a namespace, one after another, until no caller waits for one.
func (s *JobSearch) read(client kubernetes.Interface, namespace string) {
	for {
		ctx, cancel := context.WithCancel(context.Background())
		list := s.take(namespace, cancel)
		if list == nil {
			cancel()
			return
		}
		list.err = EachJob(ctx, client, namespace, func(job *batchv1.Job) error {
			if owner := metav1.GetControllerOfNoCopy(job); owner != nil {
				for _, see := range list.see[owner.UID] {
					see(job)
				}
			}
			return nil
		})
		cancel()
		close(list.done)
	}
}

// take returns the next list, which no caller joins any more and which unwanted ends; nil if no caller waits for one.
func (s *JobSearch) take(namespace string, unwanted context.CancelFunc) *jobList {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	list := s.next[namespace]
	if list == nil || list.waiting == 0 {
		delete(s.next, namespace)
		return nil
	}
	list.unwanted = unwanted
	s.next[namespace] = nil
	return list
}
