package k8s_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/k8s"
)

func TestNoNamespaceNamedMeansAll(t *testing.T) {
	for name, test := range map[string]struct {
		named  []string
		served []string
		not    []string
		listed []string
	}{
		"none": {served: []string{"shop", "default"}, listed: []string{metav1.NamespaceAll}},
		"some": {named: []string{"shop", "billing"}, served: []string{"shop", "billing"}, not: []string{"default", "sho", ""}, listed: []string{"shop", "billing"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, namespace := range test.served {
				if !k8s.Serves(test.named, namespace) {
					t.Errorf("%s is not served", namespace)
				}
			}
			for _, namespace := range test.not {
				if k8s.Serves(test.named, namespace) {
					t.Errorf("%q is served", namespace)
				}
			}
			if listed := k8s.NamespacesToList(test.named); !slices.Equal(listed, test.listed) {
				t.Errorf("lists %q", listed)
			}
		})
	}
}
