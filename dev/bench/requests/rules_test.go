package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestRulesAreDroppedByTheirPlace(t *testing.T) {
	const crd = `
schema:
  x-kubernetes-validations: [{rule: a}]
  properties:
    spec:
      x-kubernetes-validations: [{rule: b}]
`
	for name, test := range map[string]struct {
		drop             func(path string) bool
		onSchema, onSpec bool
	}{
		"none": {func(string) bool { return false }, true, true},
		"all":  {func(string) bool { return true }, false, false},
		"one":  {func(path string) bool { return strings.HasSuffix(path, "/properties/spec") }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := without([]byte(crd), test.drop)
			if err != nil {
				t.Fatal(err)
			}
			_, onSchema, _ := unstructured.NestedSlice(got.Object, "schema", "x-kubernetes-validations")
			_, onSpec, _ := unstructured.NestedSlice(got.Object, "schema", "properties", "spec", "x-kubernetes-validations")
			if onSchema != test.onSchema || onSpec != test.onSpec {
				t.Errorf("rules on the schema %t, on spec %t", onSchema, onSpec)
			}
		})
	}
	if _, err := without([]byte("\t"), func(string) bool { return true }); err == nil {
		t.Error("what is no YAML is taken")
	}
}
