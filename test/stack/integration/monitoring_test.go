package integration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.temporal.io/sdk/client"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/test/alerts"
)

const (
	// censusPeriod is how often the leading bridge counts.
	censusPeriod = 10 * time.Second
	// sdkReports is how often the metrics of Temporal's SDK are brought up to date.
	sdkReports = 5 * time.Second
)

// unseen are metrics without a series while nothing is wrong that this test could bring
// about. That they are registered is a test of package deploy.
var unseen = []string{"ostinato_bridge_temporal_errors_total", "ALERTS"}

// What rules and dashboard ask for is exported by a worker and a bridge that run, and where
// something is wrong the alert fires that says so.
func TestAlertsAndDashboardOnRealMetrics(t *testing.T) {
	t.Parallel()
	before := scrape(t, t.Context())
	namespace := stack.Namespace(t)
	addQuota(t, namespace, corev1.ResourcePods, 1)
	goWrong(t, namespace)

	queries, err := alerts.Queries("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var after []series
	harness.Eventually(t, harness.Prompt+censusPeriod+sdkReports, func(ctx context.Context) error {
		after = scrape(t, ctx)
		var missing []error
		for where, query := range queries {
			for _, selector := range alerts.Selectors(query) {
				if err := has(after, selector); err != nil && !slices.Contains(unseen, selector.Metric) {
					missing = append(missing, fmt.Errorf("%s: %w", where, err))
				}
			}
		}
		for _, one := range after {
			if one.name == "ostinato_bridge_consecutive_failures" && one.labels["object_namespace"] == namespace && one.value == 3 {
				return errors.Join(missing...)
			}
		}
		return errors.Join(append(missing, errors.New("the bridge has not counted 3 failures"))...)
	})

	for _, outcome := range []string{"Started", "SkippedDeadline"} {
		if count := slices.DeleteFunc(slices.Clone(after), func(one series) bool {
			return one.name != "ostinato_cronjob_scheduled_times_total" || one.labels["outcome"] != outcome
		}); len(count) != len(stack.Workers()) {
			t.Errorf("there are %d series of the outcome %s, so it does not count on from 0", len(count), outcome)
		}
	}
	want := map[string]string{
		`sum by (alertname, alertstate) (ALERTS{alertname=~"OstinatoCronJobFail.*", object_namespace="` + namespace + `"}) >= 1`: `
    - {labels: '{alertname="OstinatoCronJobFailing", alertstate="firing"}', value: 1}
    - {labels: '{alertname="OstinatoCronJobFailsRepeatedly", alertstate="firing"}', value: 1}`,
		`ALERTS{alertname=~"OstinatoNo.*|OstinatoCreationSkewHigh|OstinatoBuiltInControllerRuns"}`:            ` []`,
		`sum(increase(ostinato_cronjob_scheduled_times_total{outcome="Started"}[30m])) >= bool 3`:             ` [{labels: '{}', value: 1}]`,
		`count(rate(cronjob_controller_job_creation_skew_duration_seconds_bucket{le="+Inf"}[30m])) >= bool 1`: ` [{labels: '{}', value: 1}]`,
	}
	for _, query := range drawn(t) {
		want["count("+query+") >= bool 1"] = " [{labels: '{}', value: 1}]"
	}
	judge(t, before, after, want)
	// What the runbook asks Temporal.
	for _, query := range []string{`TemporalReportedProblems IN ("category=WorkflowTaskFailed")`, `WorkflowType="Job" AND ExecutionStatus="Failed"`} {
		if _, err := stack.Stack.Temporal(t.Context(), "workflow", "list", "--query", query); err != nil {
			t.Error(err)
		}
	}
}

// drawn are the queries of the dashboard's panels that have something to draw after
// goWrong, of all namespaces, without the bounds that leave out what is at 0.
func drawn(t *testing.T) []string {
	t.Helper()
	panels, err := alerts.Dashboard("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, panel := range panels {
		for _, target := range panel.Targets {
			query := strings.ReplaceAll(strings.TrimSuffix(target.Expr, " > 0"), `=~"shop"`, `=~".+"`)
			if !slices.ContainsFunc(alerts.Selectors(query), func(s alerts.Selector) bool { return slices.Contains(unseen, s.Metric) }) {
				queries = append(queries, query)
			}
		}
	}
	return queries
}

// goWrong lets go wrong what the rules are about: a CronJob fails three times, a Pod is
// refused, a workflow can't go on, and the bridge signals one that somebody has ended.
func goWrong(t *testing.T, namespace string) {
	t.Helper()
	stack.AddCronJob(t, harness.NewCronJob(namespace, "failing", harness.Yearly, harness.JobSpec(harness.ExitCode(1), harness.BackoffLimit(0))))
	stuck, err := stack.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "nobody/" + namespace, TaskQueue: names.Cluster("").JobTaskQueue(),
	}, "NobodyKnowsIt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Temporal.TerminateWorkflow(context.Background(), stuck.GetID(), "", "the test is over"); err != nil {
			t.Error(err)
		}
	})
	for range 3 {
		job := stack.Trigger(t, namespace, "failing")
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, job, batchv1.JobFailed) })
		harness.NextSecond(t)
	}
	stack.CreateJob(t, namespace, "refused", harness.JobSpec(harness.Parallelism(3), harness.Completions(3), harness.RunSeconds(60)))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return hasEventOfKind(ctx, namespace, "Job", "FailedCreate", "exceeded quota")
	})
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.Temporal.TerminateWorkflow(ctx, harness.JobWorkflow(namespace, "refused"), "", "by the test")
	})
	remove(t, namespace, "refused")
}

func remove(t *testing.T, namespace, job string) {
	t.Helper()
	background := metav1.DeletePropagationBackground
	if err := stack.Kubernetes.BatchV1().Jobs(namespace).Delete(t.Context(), job, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
}

// series is one series of one process.
type series struct {
	name, instance string
	labels         map[string]string
	value          float64
}

// key is the series as PromQL writes it.
func (s series) key() string {
	matchers := []string{"instance=" + strconv.Quote(s.instance)}
	for label, value := range s.labels {
		matchers = append(matchers, label+"="+strconv.Quote(value))
	}
	slices.Sort(matchers)
	return s.name + "{" + strings.Join(matchers, ",") + "}"
}

// scrape reads the metrics of every worker and bridge.
func scrape(t *testing.T, ctx context.Context) []series {
	t.Helper()
	var all []series
	for _, member := range slices.Concat(stack.Workers(), stack.Bridges()) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, stack.Stack.MetricsAddress(member.Name()), nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for name, family := range families {
			for _, metric := range family.GetMetric() {
				labels := map[string]string{}
				for _, pair := range metric.GetLabel() {
					labels[pair.GetName()] = pair.GetValue()
				}
				all = append(all, seriesOf(series{name: name, instance: member.Name(), labels: labels}, metric)...)
			}
		}
	}
	return all
}

// seriesOf are the series of a metric: of a histogram its buckets.
func seriesOf(one series, metric *dto.Metric) []series {
	if metric.Histogram == nil {
		one.value = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetUntyped().GetValue()
		return []series{one}
	}
	var buckets []series
	one.name += "_bucket"
	bounds := append(slices.Clone(metric.Histogram.Bucket), &dto.Bucket{UpperBound: ptr.To(math.Inf(1)), CumulativeCount: ptr.To(metric.Histogram.GetSampleCount())})
	for _, bound := range bounds {
		bucket := one
		bucket.labels = map[string]string{"le": strconv.FormatFloat(bound.GetUpperBound(), 'g', -1, 64)}
		for label, value := range one.labels {
			bucket.labels[label] = value
		}
		bucket.value = float64(bound.GetCumulativeCount())
		buckets = append(buckets, bucket)
	}
	return buckets
}

// has returns nil when there are series of the selector's name that have its labels and,
// of a label whose values all exist from the beginning, those values.
func has(all []series, selector alerts.Selector) error {
	named := slices.DeleteFunc(slices.Clone(all), func(one series) bool { return one.name != selector.Metric })
	if len(named) == 0 {
		return fmt.Errorf("no series of %s", selector.Metric)
	}
	for _, label := range selector.Labels {
		values := map[string]bool{}
		for _, one := range named {
			if value, ok := one.labels[label]; ok {
				values[value] = true
			}
		}
		if len(values) == 0 {
			return fmt.Errorf("no series of %s has a label %s", selector.Metric, label)
		}
		for _, value := range selector.Values[label] {
			if (label == "outcome" || label == "result") && !values[value] {
				return fmt.Errorf("no series of %s has the %s %s", selector.Metric, label, value)
			}
		}
	}
	return nil
}

// judge lets promtool evaluate the rules on what was scraped, the first scrape for ten minutes
// and then the second for an hour, and compares expressions of 40 minutes later with what
// is wanted.
func judge(t *testing.T, before, after []series, want map[string]string) {
	t.Helper()
	was := map[string]float64{}
	for _, one := range before {
		was[one.key()] = one.value
	}
	rules, err := filepath.Abs(alerts.RulesFile("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	number := func(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }
	var text strings.Builder
	fmt.Fprintf(&text, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n", rules)
	for _, one := range after {
		if math.IsNaN(one.value) || math.IsInf(one.value, 0) {
			continue
		}
		first := "_x9"
		if value, ok := was[one.key()]; ok {
			first = number(value) + "x9"
		}
		fmt.Fprintf(&text, "  - {series: %s, values: %s %sx60}\n", yamlString(one.key()), first, number(one.value))
	}
	text.WriteString("  promql_expr_test:\n")
	for expr, samples := range want {
		fmt.Fprintf(&text, "  - expr: %s\n    eval_time: 35m\n    exp_samples:%s\n", yamlString(expr), samples)
	}
	file := filepath.Join(t.TempDir(), "scraped.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tools, err := toolchain.Ensure(t.Context(), t.Output(), toolchain.Monitoring...)
	if err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), tools["promtool"], "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, output)
	}
}

// yamlString quotes what may hold anything but a line break.
func yamlString(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
