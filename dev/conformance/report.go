package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

// parseReport reads the report of a run that went to its end. gates says which feature gates are on. An error means that
// the run says nothing about the controller: it was cut short, its set-up failed, or it ran no spec.
func parseReport(data []byte, gates featureGates) ([]Spec, error) {
	var suites []types.Report
	if err := json.Unmarshal(data, &suites); err != nil {
		return nil, fmt.Errorf("parse the suite's report: %w", err)
	}
	if len(suites) != 1 {
		return nil, fmt.Errorf("parse the suite's report: it holds %d suites, not one", len(suites))
	}
	suite := suites[0]
	// A failed set-up explains the rest, so it comes first.
	var failures []error
	var specs []Spec
	for _, report := range suite.SpecReports {
		switch {
		case !report.LeafNodeType.Is(types.NodeTypeIt):
			if hasFailed(report) {
				failures = append(failures, fmt.Errorf("the suite's %s failed: %s", strings.TrimSpace(report.LeafNodeType.String()+" "+report.LeafNodeText), message(report)))
			}
		case isSelected(report):
			spec, err := specOf(report, gates)
			if err != nil {
				return nil, fmt.Errorf("parse the suite's report: %w", err)
			}
			specs = append(specs, spec)
		}
	}
	if len(suite.SpecialSuiteFailureReasons) > 0 {
		failures = append(failures, fmt.Errorf("the suite was cut short: %s", strings.Join(suite.SpecialSuiteFailureReasons, ", ")))
	}
	if want := suite.PreRunStats.SpecsThatWillRun; want == 0 {
		failures = append(failures, errors.New("no spec was selected"))
	} else if len(specs) != want {
		failures = append(failures, fmt.Errorf("%d of %d specs were run", len(specs), want))
	}
	slices.SortFunc(specs, func(a, b Spec) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
	})
	return specs, errors.Join(failures...)
}

// isSelected tells a spec that the focus let run from one that it left out: only the former has a reason to be skipped.
func isSelected(r types.SpecReport) bool {
	return !r.State.Is(types.SpecStateSkipped|types.SpecStatePending) || message(r) != ""
}

// hasFailed also takes a state for a failure that this release of Ginkgo does not know.
func hasFailed(r types.SpecReport) bool {
	return !r.State.Is(types.SpecStatePassed | types.SpecStateSkipped | types.SpecStatePending)
}

// specOf judges one spec. What asks for a feature gate that is off cannot hold; where it holds nevertheless, it has passed.
func specOf(r types.SpecReport, gates featureGates) (Spec, error) {
	spec := Spec{
		Name:    r.FullText(),
		File:    sourceFile(r.LeafNodeLocation.FileName),
		Line:    r.LeafNodeLocation.LineNumber,
		Seconds: r.RunTime.Round(100 * time.Millisecond).Seconds(),
	}
	if r.State.Is(types.SpecStatePassed) {
		spec.Outcome = Passed
		return spec, nil
	}
	off, err := gates.off(gatesOf(r))
	if err != nil {
		return Spec{}, fmt.Errorf("%s: %w", spec.Name, err)
	}
	switch {
	case len(off) > 0:
		spec.Outcome, spec.Reason = NotApplicable, areOff(off)
	case hasFailed(r):
		spec.Outcome, spec.Reason = Failed, message(r)
	default:
		spec.Outcome, spec.Reason = NotApplicable, message(r)
	}
	return spec, nil
}

// gatesOf returns the feature gates that the spec's labels ask for.
func gatesOf(r types.SpecReport) []string {
	var gates []string
	for _, label := range r.Labels() {
		if gate, ok := strings.CutPrefix(label, "FeatureGate:"); ok {
			gates = append(gates, gate)
		}
	}
	return gates
}

func areOff(gates []string) string {
	if len(gates) == 1 {
		return "feature gate " + gates[0] + " is off"
	}
	return "feature gates " + strings.Join(gates, ", ") + " are off"
}

// What is kept of a failure's message: the log has the rest.
const (
	messageLines  = 2
	messageLength = 240
)

// message returns the first lines that say something: what happened, and to what.
func message(r types.SpecReport) string {
	var kept []string
	for line := range strings.Lines(r.Failure.Message) {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
		if len(kept) == messageLines {
			break
		}
	}
	text := strings.Join(kept, " ")
	if runes := []rune(text); len(runes) > messageLength {
		text = string(runes[:messageLength]) + "..."
	}
	return text
}

// sourceFile returns a path inside k8s.io/kubernetes.
func sourceFile(path string) string {
	if _, rest, ok := strings.Cut(path, "k8s.io/kubernetes@"); ok {
		if _, file, ok := strings.Cut(rest, "/"); ok {
			return file
		}
	}
	return path
}
