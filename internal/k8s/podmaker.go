package k8s

import (
	"bytes"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managerPrefix is what the names of Ostinato's field managers begin with.
const managerPrefix = "ostinato-"

// specField is how managed fields name a Pod's spec.
var specField = []byte(`"f:spec"`)

// MadeElsewhere reports whether someone else made the Pod: kube-controller-manager
// before the Job was taken over, or a person. Then its name is not made from an
// attempt, though it may read like one, and the Job's workflow may not know of it.
func MadeElsewhere(pod *corev1.Pod) bool {
	return specWriter(pod.ManagedFields) != nil
}

// specWriter returns what tells that someone else has written the Pod's spec; nil
// when Ostinato did, or when nothing tells who did.
func specWriter(entries []metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	var writer *metav1.ManagedFieldsEntry
	for i, entry := range entries {
		if entry.Subresource != "" || entry.FieldsV1 == nil || !bytes.Contains(entry.FieldsV1.GetRawBytes(), specField) {
			continue
		}
		if strings.HasPrefix(entry.Manager, managerPrefix) {
			return nil
		}
		writer = &entries[i]
	}
	return writer
}

// trimManagedFields keeps what MadeElsewhere reads; of most Pods nothing.
func trimManagedFields(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	writer := specWriter(entries)
	if writer == nil {
		return nil
	}
	return []metav1.ManagedFieldsEntry{{Manager: writer.Manager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
}
