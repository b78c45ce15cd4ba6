package main

import (
	"cmp"
	"fmt"
	"strings"
)

const api = "api/v1"

// fieldTables adds the tables of the fields of a CronJob.
func fieldTables(from *source, tables map[string]string) error {
	for name, kind := range map[string]string{"spec": "CronJobSpec", "status": "CronJobStatus", "recent runs": "RecentRun"} {
		fields, err := from.fields(api, kind)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, one := range fields {
			if one.doc == "" {
				return fmt.Errorf("%s.%s has no comment", kind, one.name)
			}
			row := []string{code(one.json), one.kind, saying(one.json, one.doc)}
			if name == "spec" {
				row[1] = one.values()
			}
			rows = append(rows, row)
		}
		tables[name] = table([]string{"field", "value", "meaning"}, rows)
	}
	return nil
}

// values says which values the API server takes, by the markers.
func (f field) values() string {
	value := f.kind
	if alternatives, ok := f.marker("+kubebuilder:validation:Enum"); ok {
		value = code(strings.Split(alternatives, ";")...)
	}
	least, hasLeast := f.marker("+kubebuilder:validation:Minimum")
	most, hasMost := f.marker("+kubebuilder:validation:Maximum")
	switch {
	case hasLeast && hasMost:
		value += fmt.Sprintf(", %s to %s", least, most)
	case hasLeast:
		value += fmt.Sprintf(", %s or more", least)
	}
	if length, ok := f.marker("+kubebuilder:validation:MaxLength"); ok {
		value += fmt.Sprintf(", %s characters at most", length)
	}
	if _, required := f.marker("+required"); required {
		value += ", required"
	}
	return cmp.Or(value, "object")
}
