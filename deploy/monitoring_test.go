package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/internal/bridge"
	"ostinato.dev/ostinato/internal/telemetry"
	"ostinato.dev/ostinato/test/alerts"
)

func rules(t *testing.T) []alerts.Alert {
	t.Helper()
	all, err := alerts.Rules("..")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// toDo is how a description says what to do.
var toDo = regexp.MustCompile(`\b(kubectl|temporal) [a-z-]|--controllers=`)

func TestEachAlertSaysWhatToDo(t *testing.T) {
	runbook, err := os.ReadFile("../docs/monitoring.md")
	require.NoError(t, err)
	for _, alert := range rules(t) {
		assert.Regexp(t, `^Ostinato[A-Z]`, alert.Name)
		assert.Contains(t, []string{"critical", "warning", "info"}, alert.Labels["severity"], alert.Name)
		assert.NotEmpty(t, alert.For, "%s: how long it has to be so", alert.Name)
		assert.NotEmpty(t, alert.Annotations["summary"], alert.Name)
		assert.Regexp(t, toDo, alert.Annotations["description"], alert.Name)
		assert.Equal(t, "docs/monitoring.md#"+strings.ToLower(alert.Name), alert.Annotations["runbook"])
		assert.Contains(t, string(runbook), "\n### "+alert.Name+"\n")
	}
	for _, heading := range regexp.MustCompile(`(?m)^### (Ostinato\w+)$`).FindAllStringSubmatch(string(runbook), -1) {
		assert.True(t, slices.ContainsFunc(rules(t), func(alert alerts.Alert) bool { return alert.Name == heading[1] }), "the runbook of %s is of no alert", heading[1])
	}
}

// A table without both would pass with an alert that always fires, or never.
func TestEachAlertHasATableInWhichItFiresAndDoesNot(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("monitoring/tests/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var tables struct {
			Tests []struct {
				Name string `json:"name"`
				Rows []struct {
					Expr    string `json:"expr"`
					Samples []struct {
						Labels string `json:"labels"`
					} `json:"exp_samples"`
				} `json:"promql_expr_test"`
			} `json:"tests"`
		}
		require.NoError(t, yaml.Unmarshal(text, &tables))
		for _, table := range tables.Tests {
			if !strings.HasPrefix(table.Name, "Ostinato") {
				// It is of an expression that is no alert of ours.
				continue
			}
			for _, row := range table.Rows {
				assert.Contains(t, row.Expr, `alertname="`+table.Name+`"`)
				firing := slices.ContainsFunc(row.Samples, func(sample struct {
					Labels string `json:"labels"`
				}) bool {
					return strings.Contains(sample.Labels, "firing")
				})
				fires[table.Name] = fires[table.Name] || firing
				silent[table.Name] = silent[table.Name] || !firing
			}
		}
	}
	for _, alert := range rules(t) {
		assert.True(t, fires[alert.Name], "no table in which %s fires", alert.Name)
		assert.True(t, silent[alert.Name], "no table in which %s does not fire", alert.Name)
	}
}

// described are the metrics that worker and bridge register, with the names of their labels,
// whether or not there is anything to count yet.
func described(t *testing.T) map[string][]string {
	t.Helper()
	registry := telemetry.NewRegistry()
	telemetry.RegisterKubernetesClient(registry)
	activities.NewMetrics(registry)
	bridge.NewMetrics(registry)
	found := map[string][]string{}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		registry.Describe(descs)
	}()
	format := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	for desc := range descs {
		parts := format.FindStringSubmatch(desc.String())
		require.NotNil(t, parts, desc.String())
		found[parts[1]] = strings.Split(parts[2], ",")
	}
	return found
}

// Those of Temporal's SDK, which makes its metrics as it needs them, are in test/stack/integration.
func TestRulesAndDashboardAskForMetricsThatExist(t *testing.T) {
	queries, err := alerts.Queries("..")
	require.NoError(t, err)
	metrics := described(t)
	for where, query := range queries {
		selectors := alerts.Selectors(query)
		assert.NotEmpty(t, selectors, where)
		for _, selector := range selectors {
			if selector.Metric == "ALERTS" || selector.Metric == "ostinato_cronjob_scheduled_times_total" || strings.HasPrefix(selector.Metric, "temporal_") {
				continue
			}
			labels, ok := metrics[selector.Family()]
			assert.True(t, ok, "%s: there is no metric %s", where, selector.Metric)
			for _, label := range selector.Labels {
				if label != "le" || selector.Family() == selector.Metric {
					assert.Contains(t, labels, label, "%s: %s", where, selector.Metric)
				}
			}
		}
	}
}

// Prometheus' own parser reads the queries of the dashboard, as rules that record them.
func TestTheDashboardsQueriesAreRight(t *testing.T) {
	panels, err := alerts.Dashboard("..")
	require.NoError(t, err)
	var text bytes.Buffer
	fmt.Fprintln(&text, "groups:\n- name: dashboard\n  rules:")
	for _, panel := range panels {
		for _, target := range panel.Targets {
			fmt.Fprintf(&text, "  - {record: 'panel_%d_%s', expr: %q}\n", panel.ID, target.RefID, target.Expr)
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
	tools, err := toolchain.Ensure(t.Context(), t.Output(), toolchain.Monitoring...)
	require.NoError(t, err)
	output, err := exec.CommandContext(t.Context(), tools["promtool"], "check", "rules", "--lint=all", "--lint-fatal", file).CombinedOutput()
	assert.NoError(t, err, "%s", output)
}

func TestTheDashboardsPanelsAreDrawn(t *testing.T) {
	panels, err := alerts.Dashboard("..")
	require.NoError(t, err)
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, panel := range panels {
		assert.False(t, ids[panel.ID], "%s has the ID of another panel", panel.Title)
		ids[panel.ID] = true
		assert.NotEmpty(t, panel.Title)
		assert.LessOrEqual(t, panel.GridPos.X+panel.GridPos.W, 24, panel.Title)
		for x := range panel.GridPos.W {
			for y := range panel.GridPos.H {
				place := [2]int{panel.GridPos.X + x, panel.GridPos.Y + y}
				assert.Empty(t, taken[place], "%s lies over another panel", panel.Title)
				taken[place] = panel.Title
			}
		}
		if panel.Type == "row" {
			continue
		}
		assert.Contains(t, []string{"stat", "timeseries"}, panel.Type, panel.Title)
		assert.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			for _, label := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				assert.True(t, slices.ContainsFunc(alerts.Selectors(target.Expr), func(s alerts.Selector) bool { return slices.Contains(s.Labels, label[1]) }),
					"%s: its query leaves no label %s for the legend", panel.Title, label[1])
			}
		}
	}
}

// What the operator's users apply is what promtool has checked.
func TestThePrometheusRuleHasTheRules(t *testing.T) {
	var plain, rule struct {
		Groups []any `json:"groups"`
		Spec   struct {
			Groups []any `json:"groups"`
		} `json:"spec"`
	}
	for file, into := range map[string]any{"monitoring/rules.yaml": &plain, "components/prometheus-operator/prometheusrule.yaml": &rule} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, into))
	}
	assert.Equal(t, plain.Groups, rule.Spec.Groups)
}

// The monitors select the Pods of the base, at a port that these have.
func TestThePodMonitorsFindWorkerAndBridge(t *testing.T) {
	var found []string
	for _, document := range documents(t, "components/prometheus-operator", "PodMonitor") {
		var monitor struct {
			Spec struct {
				Selector struct {
					MatchLabels map[string]string `json:"matchLabels"`
				} `json:"selector"`
				Endpoints []struct {
					Port string `json:"port"`
				} `json:"podMetricsEndpoints"`
			} `json:"spec"`
		}
		require.NoError(t, yaml.Unmarshal(document, &monitor))
		require.Len(t, monitor.Spec.Endpoints, 1)
		for _, deployment := range objects[appsv1.Deployment](t, "Deployment") {
			template := deployment.Spec.Template
			if template.Labels["app.kubernetes.io/name"] != monitor.Spec.Selector.MatchLabels["app.kubernetes.io/name"] {
				continue
			}
			for _, port := range template.Spec.Containers[0].Ports {
				if port.Name == monitor.Spec.Endpoints[0].Port {
					found = append(found, deployment.Name)
				}
			}
		}
	}
	assert.ElementsMatch(t, []string{"ostinato-worker", "ostinato-bridge"}, found)
}

// Whose token Prometheus gets may read metrics and no more.
func TestPrometheusGetsTheTokenOfWhoReadsMetrics(t *testing.T) {
	const folder, reader = "components/prometheus-operator/authentication", "ostinato-metrics-reader"
	bindings := objectsOf[binding](t, folder, "ClusterRoleBinding")
	require.Len(t, bindings, 1)
	assert.Equal(t, reader, bindings[0].RoleRef.Name)
	assert.Equal(t, []string{"get /metrics"}, rights[reader].rules)
	require.Len(t, bindings[0].Subjects, 1)
	assert.Equal(t, reader, bindings[0].Subjects[0].Name)
	secrets := objectsOf[corev1.Secret](t, folder, "Secret")
	require.Len(t, secrets, 1)
	assert.Equal(t, reader, secrets[0].Annotations[corev1.ServiceAccountNameKey])
	kustomization, err := os.ReadFile(folder + "/kustomization.yaml")
	require.NoError(t, err)
	assert.Contains(t, string(kustomization), "name: "+secrets[0].Name+"\n          key: "+corev1.ServiceAccountTokenKey)
	for _, kind := range []string{"Role", "RoleBinding", "ClusterRole"} {
		assert.Empty(t, all[role](t, folder, kind))
	}
}
