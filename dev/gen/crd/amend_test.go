package main

import (
	"strings"
	"testing"
)

// A rule for a field that upstream has renamed would be lost without a word.
func TestAnAmendmentOfNothingIsAnError(t *testing.T) {
	definition := func() map[string]any {
		field := map[string]any{"type": "string", "maxLength": 10}
		schema := map[string]any{"properties": map[string]any{"list": map[string]any{"items": map[string]any{"properties": map[string]any{"name": field}}}}}
		return map[string]any{"spec": map[string]any{"versions": []any{map[string]any{"schema": map[string]any{"openAPIV3Schema": schema}}}}}
	}
	for _, test := range []struct {
		amendment amendment
		says      string
	}{
		{amendment{at: "list[].name", rules: []rule{{Rule: "true"}}}, ""},
		{amendment{at: "list[].title"}, "the schema has no list[].title"},
		{amendment{at: "list.*"}, "the schema has no list.*"},
		{amendment{at: "list[].name", schema: map[string]any{"maxLength": 5}}, "has maxLength 10 already"},
	} {
		err := amend(definition(), []amendment{test.amendment})
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", test.amendment.at, err, test.says)
		}
	}
}
