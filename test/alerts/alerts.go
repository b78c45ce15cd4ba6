// Package alerts reads the alerting rules and the dashboard of deploy/monitoring for tests.
package alerts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// folder is where they are, from the repository's root.
const folder = "deploy/monitoring"

// Alert is an alerting rule.
type Alert struct {
	Name        string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// RulesFile is the path of the rules.
func RulesFile(root string) string { return filepath.Join(root, folder, "rules.yaml") }

// Rules reads the alerts of a repository.
func Rules(root string) ([]Alert, error) {
	text, err := os.ReadFile(RulesFile(root))
	if err != nil {
		return nil, err
	}
	var file struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []Alert `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	var all []Alert
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all, nil
}

// Panel is a panel of the dashboard.
type Panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Targets []struct {
		RefID        string `json:"refId"`
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
}

// variables are those that Grafana puts in the place of the dashboard's, here those of one
// namespace and a scrape each minute.
var variables = strings.NewReplacer("$__rate_interval", "4m", "$namespace", "shop")

// Dashboard reads the panels of a repository's dashboard, with queries that Prometheus
// understands.
func Dashboard(root string) ([]Panel, error) {
	text, err := os.ReadFile(filepath.Join(root, folder, "dashboard.json"))
	if err != nil {
		return nil, err
	}
	var dashboard struct {
		Panels []Panel `json:"panels"`
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return nil, fmt.Errorf("read the dashboard: %w", err)
	}
	for _, panel := range dashboard.Panels {
		for i := range panel.Targets {
			panel.Targets[i].Expr = variables.Replace(panel.Targets[i].Expr)
		}
	}
	return dashboard.Panels, nil
}

// Queries returns the expressions of all rules and panels, by what has them.
func Queries(root string) (map[string]string, error) {
	rules, err := Rules(root)
	if err != nil {
		return nil, err
	}
	panels, err := Dashboard(root)
	if err != nil {
		return nil, err
	}
	queries := map[string]string{}
	for _, rule := range rules {
		queries["alert "+rule.Name] = rule.Expr
	}
	for _, panel := range panels {
		for _, target := range panel.Targets {
			queries[fmt.Sprintf("panel %q, %s", panel.Title, target.RefID)] = target.Expr
		}
	}
	return queries, nil
}
