package activities

import (
	"context"
	"slices"
	"strings"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// ListPods returns the facts of all Pods that a Job has now, those that are
// counted and released included, in the order of their names. It is one list
// and may be longer than a signal's.
func (a *Activities) ListPods(ctx context.Context, request protocol.ListPodsRequest) (protocol.PodFacts, error) {
	pods, err := a.podsOf(ctx, request.Job)
	if err != nil {
		return protocol.PodFacts{}, err
	}
	facts := protocol.PodFacts{JobUID: request.Job.UID, Facts: make([]job.PodFact, 0, len(pods))}
	for _, pod := range pods {
		facts.Facts = append(facts.Facts, k8s.PodFact(pod))
	}
	slices.SortFunc(facts.Facts, func(a, b job.PodFact) int { return strings.Compare(a.Name, b.Name) })
	return facts, nil
}
