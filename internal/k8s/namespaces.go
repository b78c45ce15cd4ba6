package k8s

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Serves reports whether a process that serves these namespaces serves this one;
// none means all.
func Serves(namespaces []string, namespace string) bool {
	return len(namespaces) == 0 || slices.Contains(namespaces, namespace)
}

// NamespacesToList returns what to list and watch in order to see the namespaces:
// each of them, or all at once where none is named.
func NamespacesToList(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return namespaces
}
