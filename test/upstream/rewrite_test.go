package upstream

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// replaced are the functions of the suite that tools/kubernetes/jobs has in their place.
var replaced = []string{
	"startJobControllerAndWaitForCaches", "createJobControllerWithSharedInformers", "resetMetrics",
}

// edit is a piece of the suite's text that reads otherwise here. It occurs once.
type edit struct{ from, to string }

var edits = []edit{
	// Counters are read from worker and bridge.
	{"value, err := testutil.GetCounterMetricValue(counterVec.WithLabelValues(wantMetric.Labels...))", "value, err := counted(counterVec, wantMetric.Labels)"},
	{"\t\"k8s.io/component-base/metrics/testutil\"\n", ""},
	// Ostinato has no feature gate: whatever the built-in controller does without it, the Job stays another's, and nobody has made its Pod.
	{`	// Verify the built-in controller reconciles the Job
	validateJobsPodsStatusOnly(ctx, t, clientSet, jobObj, "", podsByStatus{
		Active:      1,
		Ready:       ptr.To[int32](0),
		Terminating: ptr.To[int32](0),
	})

	validateCounterMetric(ctx, t, metrics.JobByExternalControllerTotal, metricLabelsWithValue{
		Labels: []string{customControllerName},
		Value:  0,
	})
`, ""},
	{`	// Marking the pod as finished, but it does not result in updating of the Job status.
	if _, err := setJobPodsPhase(ctx, clientSet, jobObj, v1.PodSucceeded, 1); err != nil {
		t.Fatalf("Error %v when setting phase %s on the pod of job %v", err, v1.PodSucceeded, klog.KObj(jobObj))
	}
`, ""},
	{`	time.Sleep(sleepDurationForControllerLatency)
	validateJobsPodsStatusOnly(ctx, t, clientSet, jobObj, "", podsByStatus{
		Active:      1,
		Ready:       ptr.To[int32](0),
		Terminating: ptr.To[int32](0),
	})
}
`, `	time.Sleep(sleepDurationForControllerLatency)
	validateJobsPodsStatusOnly(ctx, t, clientSet, jobObj, "", podsByStatus{})
}
`},
}

// rewrite returns the suite as it runs here.
func rewrite(source []byte) ([]byte, error) {
	source, err := withoutFunctions(source, replaced)
	if err != nil {
		return nil, err
	}
	for _, one := range edits {
		if count := bytes.Count(source, []byte(one.from)); count != 1 {
			return nil, fmt.Errorf("upstream's suite has %d times and not once:\n%s", count, one.from)
		}
		source = bytes.Replace(source, []byte(one.from), []byte(one.to), 1)
	}
	return format.Source(source)
}

// withoutFunctions returns a file without some of its functions; it must have each of them.
func withoutFunctions(source []byte, names []string) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "suite.go", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	missing := slices.Clone(names)
	// From the last to the first, so that positions stay true.
	for _, declaration := range slices.Backward(file.Decls) {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Recv != nil || !slices.Contains(missing, function.Name.Name) {
			continue
		}
		start := function.Pos()
		if function.Doc != nil {
			start = function.Doc.Pos()
		}
		source = slices.Delete(slices.Clone(source), files.Position(start).Offset, files.Position(function.End()).Offset)
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == function.Name.Name })
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("upstream's suite has no function %s any more", strings.Join(missing, ", "))
	}
	return source, nil
}
