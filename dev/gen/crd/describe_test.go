package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestShortenDropsWhatIsBelowANodeAlone(t *testing.T) {
	for name, test := range map[string]struct{ at, before, after string }{
		"the node keeps its own": {
			at:     "spec.template",
			before: `{description: root, properties: {spec: {description: spec, properties: {template: {description: template, type: object}}}}}`,
			after:  `{description: root, properties: {spec: {description: spec, properties: {template: {description: template, type: object}}}}}`,
		},
		"a property loses it, its neighbours above do not": {
			at:     "template",
			before: `{properties: {template: {description: t, properties: {a: {description: a, type: string}}}, other: {description: o, properties: {a: {description: a}}}}}`,
			after:  `{properties: {template: {description: t, properties: {a: {type: string}}}, other: {description: o, properties: {a: {description: a}}}}}`,
		},
		"properties of properties": {
			at:     "template",
			before: `{properties: {template: {properties: {a: {properties: {b: {description: b, pattern: x}}}}}}}`,
			after:  `{properties: {template: {properties: {a: {properties: {b: {pattern: x}}}}}}}`,
		},
		"items of a list": {
			at:     "template",
			before: `{properties: {template: {properties: {list: {description: l, items: {description: i, properties: {a: {description: a}}}}}}}}`,
			after:  `{properties: {template: {properties: {list: {items: {properties: {a: {}}}}}}}}`,
		},
		"values of a map, described or not": {
			at:     "template",
			before: `{properties: {template: {properties: {map: {additionalProperties: {description: v}}, any: {additionalProperties: true}}}}}`,
			after:  `{properties: {template: {properties: {map: {additionalProperties: {}}, any: {additionalProperties: true}}}}}`,
		},
		"alternatives": {
			at:     "template",
			before: `{properties: {template: {anyOf: [{description: a, type: integer}], allOf: [{description: b}], oneOf: [{description: c}], not: {description: d}}}}`,
			after:  `{properties: {template: {anyOf: [{type: integer}], allOf: [{}], oneOf: [{}], not: {}}}}`,
		},
		"a property that is called description": {
			at:     "template",
			before: `{properties: {template: {properties: {description: {description: d, type: string}}}}}`,
			after:  `{properties: {template: {properties: {description: {type: string}}}}}`,
		},
		"a default value that has a description": {
			at:     "template",
			before: `{properties: {template: {properties: {a: {description: a, default: {description: kept}}}}}}`,
			after:  `{properties: {template: {properties: {a: {default: {description: kept}}}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			definition := definitionOf(t, test.before)
			if err := shorten(definition, test.at, ""); err != nil {
				t.Fatal(err)
			}
			if got, want := rendered(t, definition), rendered(t, definitionOf(t, test.after)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestShortenSaysWhereTheRestIs(t *testing.T) {
	for before, after := range map[string]string{
		`{properties: {template: {description: own, properties: {a: {description: a}}}}}`: `{properties: {template: {description: "own\n\nread on", properties: {a: {}}}}}`,
		`{properties: {template: {properties: {a: {description: a}}}}}`:                   `{properties: {template: {description: read on, properties: {a: {}}}}}`,
	} {
		definition := definitionOf(t, before)
		if err := shorten(definition, "template", "read on"); err != nil {
			t.Fatal(err)
		}
		if got, want := rendered(t, definition), rendered(t, definitionOf(t, after)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// A template that upstream has renamed would come with all its descriptions.
func TestToShortenNothingIsAnError(t *testing.T) {
	err := shorten(definitionOf(t, `{properties: {spec: {type: object}}}`), "spec.template", "")
	if err == nil || !strings.Contains(err.Error(), "the schema has no spec.template") {
		t.Errorf("got %v", err)
	}
}

func definitionOf(t *testing.T, schema string) map[string]any {
	t.Helper()
	var root map[string]any
	if err := yaml.Unmarshal([]byte(schema), &root); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"spec": map[string]any{"versions": []any{map[string]any{"schema": map[string]any{"openAPIV3Schema": root}}}}}
}

func rendered(t *testing.T, definition map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
