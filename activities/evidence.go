package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"ostinato.dev/ostinato/internal/evidence"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// Words for a log that is kept back.
const (
	logWithheld  = "kept out by annotation " + names.EvidenceAnnotation
	logUndecided = "the Namespace can't be read, which may keep logs out by annotation " + names.EvidenceAnnotation
)

const (
	// namespaceFresh is how long a Namespace's annotation counts without another look.
	namespaceFresh = time.Minute
	// namespaceRetry is the same after a look that failed; one that is forbidden stays so for forbiddenPause.
	namespaceRetry = 10 * time.Second
	// namespaceTimeout bounds a look.
	namespaceTimeout = 2 * time.Second
	// maxNamespaces bounds how many are remembered.
	maxNamespaces = 10_000
)

// namespaceEvidence knows what Namespaces ask to be kept of their Pods: a request
// now and then for each Namespace, not one for each Pod.
type namespaceEvidence struct {
	client kubernetes.Interface
	clock  clock.PassiveClock
	known  *lru.Cache
	// reading lets one caller look at a Namespace while others wait for what it finds.
	reading singleflight.Group
}

// namespaceAnswer is what is known of a Namespace.
type namespaceAnswer struct {
	level evidence.Level
	// problem is why the Namespace could not be read; then the level is a precaution.
	problem error
	until   time.Time
}

func newNamespaceEvidence(client kubernetes.Interface, clock clock.PassiveClock) *namespaceEvidence {
	return &namespaceEvidence{client: client, clock: clock, known: lru.New(maxNamespaces)}
}

// of returns what the Namespace asks for. When that can't be read, what it asked for before counts, and without that
// evidence.Reason: words that are missing can be looked for elsewhere, words in a history can't be taken back.
func (n *namespaceEvidence) of(ctx context.Context, namespace string) namespaceAnswer {
	answer, _, _ := n.reading.Do(namespace, func() (any, error) {
		value, _ := n.known.Get(namespace)
		last, known := value.(namespaceAnswer)
		if !known || !n.clock.Now().Before(last.until) {
			// Others wait for it, whose time is not over with this caller's.
			last = n.read(context.WithoutCancel(ctx), namespace, known, last)
			n.known.Add(namespace, last)
		}
		return last, nil
	})
	return answer.(namespaceAnswer)
}

func (n *namespaceEvidence) read(ctx context.Context, namespace string, known bool, last namespaceAnswer) namespaceAnswer {
	limited, cancel := context.WithTimeout(ctx, namespaceTimeout)
	defer cancel()
	now := n.clock.Now()
	// The API server's cache knows it well enough.
	object, err := n.client.CoreV1().Namespaces().Get(limited, namespace, k8s.FromCache)
	switch {
	case err == nil:
		return namespaceAnswer{level: evidence.Of(object.Annotations), until: now.Add(namespaceFresh)}
	case apierrors.IsNotFound(err):
		// Nothing in it can be read either.
		return namespaceAnswer{until: now.Add(namespaceRetry)}
	}
	answer := namespaceAnswer{level: evidence.Reason, problem: err, until: now.Add(namespaceRetry)}
	switch {
	case apierrors.IsForbidden(err):
		answer.until = now.Add(forbiddenPause)
	case known && last.problem == nil:
		answer.level, answer.problem = last.level, nil
	}
	activity.GetLogger(ctx).Warn("The Namespace can't be read for annotation "+names.EvidenceAnnotation+
		"; give the worker the right to get namespaces", "namespace", namespace, "evidence", answer.level, "error", err)
	return answer
}

// withholds says why the log of a Pod is not to be read; empty when it may be.
func (a *Activities) withholds(ctx context.Context, pod *corev1.Pod) string {
	if evidence.Of(pod.Annotations) != evidence.Full {
		return logWithheld
	}
	switch answer := a.evidence.of(ctx, pod.Namespace); {
	case answer.problem != nil:
		return logUndecided
	case answer.level != evidence.Full:
		return logWithheld
	}
	return ""
}
