package job

import (
	"fmt"
	"slices"
)

// Overlooked says of which Pod a plan does not know that asks for another of its index;
// empty when there is none. pods are the Job's Pods that ended. One that carries the
// tracking finalizer is not released, and so is counted in no status that a plan may go
// on from without it.
//
// A plan that is forgotten may have made such a Pod, and the next one has given its number
// to another index: one whose back-off was not over before. Nobody may have told of the
// Pod's end: PodWatch may have been lost with the plan.
func Overlooked(creates []Create, pods []PodFact) string {
	byIndex := make(map[int32]Create, len(creates))
	for _, create := range creates {
		if create.Index != nil {
			byIndex[*create.Index] = create
		}
	}
	for _, pod := range pods {
		if pod.Index == nil || !pod.Tracked || !pod.Ended() {
			continue
		}
		create, wanted := byIndex[*pod.Index]
		if wanted && pod.Name != create.Name && !slices.Contains(create.After, pod.UID) {
			return fmt.Sprintf("index %d has Pod %s, which has ended and is not counted, and %s was to be created", *pod.Index, pod.Name, create.Name)
		}
	}
	return ""
}

// endedOfIndexes returns the UIDs of the Pods of each index that ended and are not
// released.
func (s State) endedOfIndexes() map[int32][]string {
	ended := map[int32][]string{}
	for _, pod := range s.Pods {
		if pod.Index != nil && pod.exists() && pod.Tracked && pod.Ended() {
			ended[*pod.Index] = append(ended[*pod.Index], pod.UID)
		}
	}
	return ended
}
