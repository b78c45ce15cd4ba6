package podwatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	errorLogInterval = 30 * time.Second // how often it is logged that a namespace can't be watched
	// patience is how long the lists and watches of a namespace may fail, without one success, until the namespace is given up.
	patience = 30 * time.Second
	// syncTimeout is how long its first list may take for each attempt of the activity so far, and maxSyncTimeout in all: a list that
	// only takes long succeeds in a later attempt, and one that hangs is left to another worker.
	syncTimeout    = time.Minute
	maxSyncTimeout = 10 * time.Minute
)

// listing is the list and watch of one namespace, or of all at once.
type listing struct {
	// held is what is to be served when the first list is complete, nil once it is: before, "no other Pod is running" can't be
	// known.
	held sets.Set[key]
	// since is from when on the namespace has not been watched, zero while it is; last is what the last request met.
	since  time.Time
	last   error
	logged time.Time
}

// answered takes how a list or watch of a namespace went.
func (w *Watcher) answered(namespace string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	w.change(func(now time.Time) {
		listing := w.listings[namespace]
		listing.last = err
		switch {
		case err != nil:
			listing.since = cmp.Or(listing.since, now)
		case listing.held != nil:
			listing.since = now
		default:
			listing.since = time.Time{}
		}
		if err != nil && now.Sub(listing.logged) >= errorLogInterval {
			listing.logged = now
			w.Logger.Warn("the Pods can't be watched, will retry", "namespace", namespace, "error", err)
		}
	})
}

// enqueue has a key served, after a wait or when its namespace is listed.
func (w *Watcher) enqueue(key key, wait time.Duration) {
	w.change(func(time.Time) {
		if listing := cmp.Or(w.listings[key.namespace], w.listings[metav1.NamespaceAll]); listing.held != nil {
			listing.held.Insert(key)
			return
		}
		w.tells.AddAfter(key, wait)
	})
}

// listed has served what waited for the first list of a namespace, and sweeps the namespace.
func (w *Watcher) listed(ctx context.Context, namespace string) {
	w.change(func(time.Time) {
		listing := w.listings[namespace]
		for key := range listing.held {
			w.tells.Add(key)
		}
		listing.held, listing.since = nil, time.Time{}
	})
	w.Report(w.details())
	if w.TakeOverJobs {
		w.sweepOnce(ctx, namespace)
	}
}

// lost says why the watch is given up: no namespace could be watched for too long, and another worker may reach the API
// server. If only some can't, a right or the namespace is missing, and is for every worker.
func (w *Watcher) lost() (why error) {
	w.change(func(now time.Time) {
		var newest time.Time
		for _, listing := range w.listings {
			limit := patience
			if listing.last == nil {
				limit = min(time.Duration(max(w.Attempt, 1))*syncTimeout, maxSyncTimeout)
			}
			lasted := now.Sub(listing.since)
			if listing.since.IsZero() || lasted < limit {
				why = nil
				return
			}
			if listing.since.Before(newest) {
				continue
			}
			newest = listing.since
			why = fmt.Errorf("the Pods could not be watched for %v: %w", lasted.Round(time.Second), cmp.Or(listing.last, errors.New("no answer")))
		}
	})
	return why
}
