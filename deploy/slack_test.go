package deploy_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// blocks returns the blocks of code of a language in docs/alerts-to-slack.md.
func blocks(t *testing.T, language string) (found []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/alerts-to-slack.md")
	require.NoError(t, err)
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		found = append(found, match[1])
	}
	require.NotEmpty(t, found, language)
	return found
}

// routing is what of Alertmanager's configuration the page uses.
type routing struct {
	Route struct {
		Receiver string   `json:"receiver"`
		GroupBy  []string `json:"group_by"`
		Routes   []struct {
			Receiver string   `json:"receiver"`
			Matchers []string `json:"matchers"`
		} `json:"routes"`
	} `json:"route"`
	Receivers []struct {
		Name  string           `json:"name"`
		Slack []map[string]any `json:"slack_configs"`
	} `json:"receivers"`
	Global map[string]string `json:"global"`
}

var matcher = regexp.MustCompile(`^(\w+) (=~|=) "(.+)"$`)

// receives returns who gets an alert with the labels, as Alertmanager takes the first route that matches.
func (r routing) receives(t *testing.T, labels map[string]string) string {
	t.Helper()
	for _, route := range r.Route.Routes {
		if !slices.ContainsFunc(route.Matchers, func(text string) bool {
			parts := matcher.FindStringSubmatch(text)
			require.NotNil(t, parts, text)
			pattern := parts[3]
			if parts[2] == "=" {
				pattern = regexp.QuoteMeta(pattern)
			}
			return !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(labels[parts[1]])
		}) {
			return route.Receiver
		}
	}
	return r.Route.Receiver
}

// TestTheSlackPageRoutesEachAlertToItsOwner: the alerts that the page calls the owner's have the label that it routes by, and no others.
func TestTheSlackPageRoutesEachAlertToItsOwner(t *testing.T) {
	var config routing
	require.NoError(t, yaml.UnmarshalStrict([]byte(blocks(t, "yaml")[0]), &config))
	var names []string
	for _, receiver := range config.Receivers {
		names = append(names, receiver.Name)
		for _, slack := range receiver.Slack {
			assert.Regexp(t, "^#", slack["channel"])
		}
	}
	for _, route := range config.Route.Routes {
		assert.Contains(t, names, route.Receiver)
	}
	assert.Contains(t, names, config.Route.Receiver)
	page, err := os.ReadFile("../docs/alerts-to-slack.md")
	require.NoError(t, err)
	owners, _, _ := strings.Cut(string(page), "| all others |")
	for _, alert := range rules(t) {
		of := strings.Contains(alert.Expr, "by (object_namespace")
		assert.Equal(t, of, strings.Contains(owners, "`"+alert.Name+"`"), "the table says whose %s is", alert.Name)
		labels := map[string]string{"alertname": alert.Name}
		want := "platform"
		if of {
			labels["object_namespace"], want = "shop-eu", "shop"
		}
		if alert.Name == "OstinatoCronJobFailing" {
			want = "silent"
		}
		assert.Equal(t, want, config.receives(t, labels), alert.Name)
	}
	assert.Equal(t, "billing", config.receives(t, map[string]string{"alertname": "OstinatoRunsStuck", "object_namespace": "billing"}))
	assert.Equal(t, "platform", config.receives(t, map[string]string{"alertname": "OstinatoRunsStuck", "object_namespace": "workshop"}))
}

// TestTheSlackPagesExpressionIsTested: promtool evaluates the same.
func TestTheSlackPagesExpressionIsTested(t *testing.T) {
	var file struct {
		Tests []struct {
			Expressions []struct {
				Expr string `json:"expr"`
			} `json:"promql_expr_test"`
		} `json:"tests"`
	}
	text, err := os.ReadFile("monitoring/tests/owners.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &file))
	assert.Equal(t, strings.Fields(blocks(t, "promql")[0]), strings.Fields(file.Tests[0].Expressions[0].Expr))
}
