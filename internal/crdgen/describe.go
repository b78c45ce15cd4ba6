package main

import "fmt"

// shorten drops the descriptions below a node in every version of a definition. The node
// keeps its own.
//
// What has a description is what kubectl explain can explain. It is left out below
// spec.jobTemplate alone: those fields are upstream's, and with all they say the CRD would
// not fit the annotation in which kubectl's client-side apply keeps a copy of it (256 KiB).
// The descriptions of conditions and of active are upstream's too, and stay: they add 3 KB.
func shorten(definition map[string]any, at string) error {
	for _, root := range schemas(definition) {
		node := descend(root, at)
		if node == nil {
			return fmt.Errorf("the schema has no %s", at)
		}
		for _, child := range children(node) {
			undescribe(child)
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
