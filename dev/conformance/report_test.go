package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gatesOfRelease are those that the specs in testdata ask for, as Kubernetes 1.37 has them.
var gatesOfRelease = featureGates{"WorkloadWithJob": false, "GenericWorkload": false, "ContainerRestartRules": true}

// testdata/report.json is a report of the suite in which most specs and all logs are left out.
func TestTheReportOfARealRun(t *testing.T) {
	data, err := os.ReadFile("testdata/report.json")
	require.NoError(t, err)
	specs, err := parseReport(data, gatesOfRelease)
	require.NoError(t, err)
	assert.Equal(t, []Spec{
		{
			Name: "[sig-apps] Job should propagate an elastic gang minCount change to the Workload and PodGroup [FeatureGate:WorkloadWithJob] [Alpha] [Beta] [Feature:OffByDefault] [FeatureGate:GenericWorkload]",
			File: "test/e2e/apps/job.go", Line: 174, Outcome: NotApplicable, Reason: "feature gates WorkloadWithJob, GenericWorkload are off", Seconds: 300,
		},
		{Name: "[sig-apps] Job should delete a job [Conformance]", File: "test/e2e/apps/job.go", Line: 1043, Outcome: Passed, Seconds: 2.5},
		{
			Name: "[sig-apps] Job containers restarted by container restart policy should not trigger PodFailurePolicy [FeatureGate:ContainerRestartRules] [Beta] [NodeConformance]",
			File: "test/e2e/apps/job.go", Line: 1488, Outcome: Passed, Seconds: 6.1,
		},
		{Name: "[sig-apps] TTLAfterFinished job should be deleted once it finishes after TTL seconds", File: "test/e2e/apps/ttl_after_finished.go", Line: 49, Outcome: Passed, Seconds: 44.2},
	}, specs, "in the order of the sources, and without what the focus left out")

	on := featureGates{"WorkloadWithJob": true, "GenericWorkload": true, "ContainerRestartRules": true}
	specs, err = parseReport(data, on)
	require.NoError(t, err)
	assert.Equal(t, Failed, specs[0].Outcome, "with its feature gates on a failure is one")
	assert.Equal(t, "Timed out after 300.001s. expected the Workload gang minCount to match the initial value", specs[0].Reason)
}

// specJSON renders a spec as the suite's report has it.
func specJSON(t *testing.T, state, message string, labels ...string) string {
	t.Helper()
	report := map[string]any{
		"LeafNodeType": "It", "LeafNodeText": "should do", "LeafNodeLabels": labels, "State": state,
		"ContainerHierarchyTexts": []string{"[sig-apps] Job"}, "ContainerHierarchyLabels": [][]string{{"sig-apps"}},
	}
	if message != "" {
		report["Failure"] = map[string]string{"Message": message}
	}
	data, err := json.Marshal(report)
	require.NoError(t, err)
	return string(data)
}

func suiteJSON(willRun, reasons string, reports ...string) []byte {
	return []byte(`[{"PreRunStats": {"SpecsThatWillRun": ` + willRun + `}, "SpecialSuiteFailureReasons": ` + reasons + `, "SpecReports": [` + strings.Join(reports, ",") + `]}]`)
}

func TestOutcomes(t *testing.T) {
	gates := featureGates{"On": true, "Off": false, "AlsoOff": false}
	for name, test := range map[string]struct {
		state, message string
		labels         []string
		outcome        Outcome
		reason         string
	}{
		"passed":                      {"passed", "", nil, Passed, ""},
		"passed though a gate is off": {"passed", "", []string{"FeatureGate:Off"}, Passed, ""},
		"failed":                      {"failed", "it did not", nil, Failed, "it did not"},
		"failed with its gate on":     {"failed", "it did not", []string{"FeatureGate:On", "Beta"}, Failed, "it did not"},
		"failed with its gate off":    {"failed", "it could not", []string{"FeatureGate:On", "FeatureGate:Off"}, NotApplicable, "feature gate Off is off"},
		"failed with two gates off, one named twice": {"failed", "it could not", []string{"FeatureGate:Off", "FeatureGate:AlsoOff", "FeatureGate:Off"}, NotApplicable, "feature gates Off, AlsoOff are off"},
		"panicked":                    {"panicked", "nil map", nil, Failed, "nil map"},
		"cut off by its own deadline": {"timedout", "A spec timeout occurred", nil, Failed, "A spec timeout occurred"},
		"skipped by itself":           {"skipped", "Only supported for providers [gce] (not skeleton)", nil, NotApplicable, "Only supported for providers [gce] (not skeleton)"},
		"a message of many lines":     {"failed", "\n  first \n\nsecond\nthird\n", nil, Failed, "first second"},
		"a message without end":       {"failed", strings.Repeat("é", 1000), nil, Failed, strings.Repeat("é", messageLength) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			specs, err := parseReport(suiteJSON("1", "[]", specJSON(t, test.state, test.message, test.labels...)), gates)
			require.NoError(t, err)
			require.Len(t, specs, 1)
			assert.Equal(t, "[sig-apps] Job should do", specs[0].Name)
			assert.Equal(t, test.outcome, specs[0].Outcome)
			assert.Equal(t, test.reason, specs[0].Reason)
		})
	}
}

func TestARunThatSaysNothingIsAnError(t *testing.T) {
	passed := specJSON(t, "passed", "")
	setUp := `{"LeafNodeType": "SynchronizedBeforeSuite", "State": "failed", "Failure": {"Message": "no node is ready"}}`
	check := `{"LeafNodeType": "ReportAfterSuite", "LeafNodeText": "Invariant Metrics", "State": "failed", "Failure": {"Message": "a metric rose"}}`
	for name, test := range map[string]struct {
		report []byte
		want   string
	}{
		"no JSON":                       {[]byte("half a rep"), "parse the suite's report: invalid character"},
		"another JSON":                  {[]byte(`{"specs": 1}`), "parse the suite's report: json: cannot unmarshal object"},
		"no suite":                      {[]byte("[]"), "it holds 0 suites, not one"},
		"no spec was selected":          {suiteJSON("0", "[]", specJSON(t, "skipped", "")), "no spec was selected"},
		"specs that did not run":        {suiteJSON("2", "[]", passed, specJSON(t, "skipped", "")), "1 of 2 specs were run"},
		"interrupted":                   {suiteJSON("1", `["Interrupted by User"]`, passed), "the suite was cut short: Interrupted by User"},
		"out of time":                   {suiteJSON("2", `["Suite Timeout Elapsed"]`, passed), "the suite was cut short: Suite Timeout Elapsed"},
		"a failed set-up":               {suiteJSON("1", "[]", setUp, specJSON(t, "skipped", "")), "the suite's SynchronizedBeforeSuite failed: no node is ready"},
		"a failed check after the last": {suiteJSON("1", "[]", passed, check), "the suite's ReportAfterSuite Invariant Metrics failed: a metric rose"},
		"a gate of another release":     {suiteJSON("1", "[]", specJSON(t, "failed", "x", "FeatureGate:Newer")), "[sig-apps] Job should do: the API server has no feature gate Newer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseReport(test.report, featureGates{})
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(`[{"PreRunStats": {"SpecsThatWillRun": 1}, "SpecReports": [{"LeafNodeType": "It", "State": "failed", "Failure": {"Message": "x"}}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		specs, err := parseReport(data, featureGates{})
		if err == nil && len(specs) == 0 {
			t.Error("a report without a spec is taken for one that says something")
		}
		for _, spec := range specs {
			if spec.Outcome == Failed && len([]rune(spec.Reason)) > messageLength+3 {
				t.Errorf("the reason is %d characters long", len([]rune(spec.Reason)))
			}
		}
	})
}

func TestGates(t *testing.T) {
	gates, err := parseGates([]byte(`# HELP kubernetes_feature_enabled [BETA] This metric records the data about the stage and enablement of a k8s feature.
# TYPE kubernetes_feature_enabled gauge
kubernetes_feature_enabled{name="ContainerRestartRules",stage="BETA"} 1
kubernetes_feature_enabled{name="JobManagedBy",stage=""} 1
kubernetes_feature_enabled{name="WorkloadWithJob",stage="ALPHA"} 0
`))
	require.NoError(t, err)
	assert.Equal(t, featureGates{"ContainerRestartRules": true, "JobManagedBy": true, "WorkloadWithJob": false}, gates)

	_, err = parseGates([]byte("process_open_fds 7\n"))
	assert.ErrorContains(t, err, "the metrics hold no kubernetes_feature_enabled")
	_, err = parseGates([]byte("<html>"))
	assert.ErrorContains(t, err, "read the feature gates")
}
