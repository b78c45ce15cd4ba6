package main

import (
	"fmt"
	"strings"
)

// amendment adds to the schema at one place.
type amendment struct {
	// at is the path of the node: names of properties, [] for the items of a list, * for
	// the values of a map.
	at string
	// schema is set in the node.
	schema map[string]any
	// rules are added to the node's.
	rules []rule
}

// rule is a CEL rule. Its message says what to change.
type rule struct {
	Rule, Message string
	// Reason and FieldPath are the API server's words for the refusal and the field that
	// it names; both may be empty.
	Reason, FieldPath string
}

// amend carries out the amendments in every version of a definition.
func amend(definition map[string]any, amendments []amendment) error {
	for _, root := range schemas(definition) {
		for _, amendment := range amendments {
			node := descend(root, amendment.at)
			if node == nil {
				return fmt.Errorf("the schema has no %s", amendment.at)
			}
			for key, value := range amendment.schema {
				if before, ok := node[key]; ok {
					return fmt.Errorf("%s has %s %v already", amendment.at, key, before)
				}
				node[key] = value
			}
			rules, _ := node["x-kubernetes-validations"].([]any)
			for _, rule := range amendment.rules {
				rules = append(rules, rule.render())
			}
			if len(rules) > 0 {
				node["x-kubernetes-validations"] = rules
			}
		}
	}
	return nil
}

// schemas returns the schema of every version of a definition.
func schemas(definition map[string]any) []map[string]any {
	var roots []map[string]any
	spec, _ := definition["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, version := range versions {
		schema, _ := version.(map[string]any)["schema"].(map[string]any)
		root, _ := schema["openAPIV3Schema"].(map[string]any)
		roots = append(roots, root)
	}
	return roots
}

// descend returns the node at a path; nil if there is none.
func descend(node map[string]any, path string) map[string]any {
	for _, name := range strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".") {
		switch name {
		case "[]":
			node, _ = node["items"].(map[string]any)
		case "*":
			node, _ = node["additionalProperties"].(map[string]any)
		default:
			properties, _ := node["properties"].(map[string]any)
			node, _ = properties[name].(map[string]any)
		}
	}
	return node
}

func (r rule) render() map[string]any {
	rendered := map[string]any{"rule": r.Rule, "message": r.Message}
	if r.Reason != "" {
		rendered["reason"] = r.Reason
	}
	if r.FieldPath != "" {
		rendered["fieldPath"] = r.FieldPath
	}
	return rendered
}
