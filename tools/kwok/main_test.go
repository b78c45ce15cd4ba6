package main

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Run it with the race detector: the tables' own check sees two writers only if they meet in the same instant.
func TestBothControllersMayMeetTheirFirstObjectAtOnce(t *testing.T) {
	if err := fillTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	var controllers sync.WaitGroup
	for _, object := range []any{&corev1.Node{}, &corev1.Pod{}} {
		controllers.Go(func() {
			if err := match(t.Context(), object); err != nil {
				t.Error(err)
			}
		})
	}
	controllers.Wait()
}
