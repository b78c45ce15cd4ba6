package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"ostinato.dev/ostinato/internal/evidence"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
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

// namespaceAnswer is what is known of a Namespace.
type namespaceAnswer struct {
	level evidence.Level
	// problem is why the Namespace could not be read; then the level is a precaution.
	problem error
	until   time.Time
}

// evidenceOf returns what the Namespace asks for. When that can't be read, what it asked for before counts, and without that
// evidence.Reason: words that are missing can be looked for elsewhere, words in a history can't be taken back.
func (a *Activities) evidenceOf(ctx context.Context, namespace string) namespaceAnswer {
	answer, _, _ := a.namespaceReads.Do(namespace, func() (any, error) {
		value, _ := a.namespaces.Get(namespace)
		last, known := value.(namespaceAnswer)
		if !known || !a.Clock.Now().Before(last.until) {
			// Others wait for it, whose time is not over with this caller's.
			last = a.readEvidence(context.WithoutCancel(ctx), namespace, known, last)
			a.namespaces.Add(namespace, last)
		}
		return last, nil
	})
	return answer.(namespaceAnswer)
}

func (a *Activities) readEvidence(ctx context.Context, namespace string, known bool, last namespaceAnswer) namespaceAnswer {
	limited, cancel := context.WithTimeout(ctx, namespaceTimeout)
	defer cancel()
	now := a.Clock.Now()
	// The API server's cache knows it well enough.
	object, err := a.Kubernetes.CoreV1().Namespaces().Get(limited, namespace, k8s.FromCache)
	switch {
	case err == nil:
		return namespaceAnswer{level: evidence.Of(object.Annotations), until: now.Add(namespaceFresh)}
	case apierrors.IsNotFound(err):
		// Nothing in it can be read either.
		return namespaceAnswer{until: now.Add(namespaceRetry)}
	}
	answer := namespaceAnswer{level: evidence.Reason, problem: err, until: now.Add(namespaceRetry)}
	if apierrors.IsForbidden(err) {
		answer.until = now.Add(forbiddenPause)
	} else if known && last.problem == nil {
		answer.level, answer.problem = last.level, nil
	}
	activity.GetLogger(ctx).Warn("The Namespace can't be read for annotation "+names.EvidenceAnnotation+
		"; give the worker the right to get namespaces", "namespace", namespace, "evidence", answer.level, "error", err)
	return answer
}

// withholds says why the log of a Pod is not to be read; empty when it may be.
func (a *Activities) withholds(ctx context.Context, pod *corev1.Pod) string {
	level := evidence.Of(pod.Annotations)
	if level == evidence.Full {
		answer := a.evidenceOf(ctx, pod.Namespace)
		if answer.problem != nil {
			return "the Namespace can't be read, which may keep logs out by annotation " + names.EvidenceAnnotation
		}
		level = answer.level
	}
	if level != evidence.Full {
		return "kept out by annotation " + names.EvidenceAnnotation
	}
	return ""
}
