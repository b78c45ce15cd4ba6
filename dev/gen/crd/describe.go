package main

import (
	"fmt"
	"strings"
)

// shorten drops the descriptions below a node in every version of a definition. The node
// keeps its own, to which a last paragraph is added.
//
// What has a description is what kubectl explain can explain. It is left out below the Pod
// template alone: with all that upstream says there the CRD would not fit the annotation in
// which kubectl's client-side apply keeps a copy of it (256 KiB).
func shorten(definition map[string]any, at, more string) error {
	for _, root := range schemas(definition) {
		node := descend(root, at)
		if node == nil {
			return fmt.Errorf("the schema has no %s", at)
		}
		for _, child := range children(node) {
			undescribe(child)
		}
		if own, _ := node["description"].(string); more != "" {
			node["description"] = strings.TrimSpace(own + "\n\n" + more)
		}
	}
	return nil
}

// undescribe drops the descriptions of a node and of all below it.
func undescribe(node map[string]any) {
	delete(node, "description")
	for _, child := range children(node) {
		undescribe(child)
	}
}

// children returns the schemas that a schema is made of.
func children(node map[string]any) []map[string]any {
	var found []map[string]any
	add := func(child any) {
		// additionalProperties may be a boolean.
		if schema, ok := child.(map[string]any); ok {
			found = append(found, schema)
		}
	}
	properties, _ := node["properties"].(map[string]any)
	for _, property := range properties {
		add(property)
	}
	for _, keyword := range []string{"items", "additionalProperties", "not"} {
		add(node[keyword])
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := node[keyword].([]any)
		for _, child := range list {
			add(child)
		}
	}
	return found
}
