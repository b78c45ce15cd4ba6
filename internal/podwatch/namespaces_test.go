package podwatch_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestTheWatchStaysInTheNamespacesServed(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodSucceeded), helloPod("b", corev1.PodSucceeded).In("elsewhere")), serving("shop", namespace), takingOver)
	stop := s.watch()
	s.eventuallyTold("a ended")
	if err := stop(); err == nil {
		t.Error("a watch that is cancelled ended without an error")
	}
	for _, action := range s.kubernetes.Actions() {
		if !slices.Contains([]string{"shop", namespace}, action.GetNamespace()) {
			t.Errorf("%s %s in namespace %q", action.GetVerb(), action.GetResource().Resource, action.GetNamespace())
		}
	}
}

// Anybody may write an owner reference with any UID in a namespace of his own.
func TestPodsOfAnotherNamespaceSayNothingOfTheJob(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodSucceeded), helloPod("b", corev1.PodFailed).In("elsewhere")))
	s.watch()
	eventually(t, "both Pods are told of", func() bool { return len(s.told()) == 2 })
	for _, signal := range s.signals.all() {
		for _, fact := range signal.facts.Facts {
			if (signal.workflowID == workflowID) != (fact.Name == "a") {
				t.Errorf("workflow %s is told of Pod %s", signal.workflowID, fact.Name)
			}
		}
	}
}
