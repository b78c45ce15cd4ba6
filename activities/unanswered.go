package activities

import (
	"errors"
	"net/http"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// mostUnanswered bounds the writes without an answer that are remembered.
const mostUnanswered = 4096

// unanswered remembers the writes of which this process has not learned what came of them:
// the API server may have carried them out. The attempt that finds one done tells of it then.
// What is found done otherwise has been told of, by the attempt that did it.
type unanswered struct{ writes *lru.Cache }

func newUnanswered() unanswered { return unanswered{lru.New(mostUnanswered)} }

// write tells the writes of one owner apart.
type write struct {
	verb  writeVerb
	owner types.UID
	// name and uid are of what is created or deleted; the UID of what is created is not known.
	// Both are empty for the owner's own status.
	name, uid string
}

type writeVerb int

const (
	writeCreate writeVerb = iota
	writeDelete
	writeStatus
)

// keep remembers the write if the error leaves open what came of it.
func (u unanswered) keep(one write, err error) { u.keepStatus(one, &batchv1.Job{}, err) }

// keepStatus is keep for the status of a Job that was as given before the write was first
// tried.
func (u unanswered) keepStatus(one write, before *batchv1.Job, err error) {
	if !undecided(err) {
		return
	}
	if _, known := u.writes.Get(one); !known {
		u.writes.Add(one, &batchv1.Job{Status: before.Status})
	}
}

// take reports whether the write is remembered, and forgets it.
func (u unanswered) take(one write) bool {
	_, found := u.takeStatus(one)
	return found
}

// takeStatus is take for the status of a Job; it returns a Job with the status before.
func (u unanswered) takeStatus(one write) (before *batchv1.Job, found bool) {
	value, found := u.writes.Get(one)
	if !found {
		return nil, false
	}
	u.writes.Remove(one)
	return value.(*batchv1.Job), true
}

// undecided reports whether an error leaves open if the API server has done what it was
// asked for: there was no answer, or that of a server that does not know it of etcd. An
// internal error, as that of a webhook that does not answer, comes before the write.
func undecided(err error) bool {
	switch {
	case err == nil:
		return false
	case !answered(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return true
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError &&
		apierrors.ReasonForError(err) == metav1.StatusReasonUnknown
}
