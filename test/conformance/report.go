package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// suiteReport is what is read of Ginkgo's JSON report.
type suiteReport struct {
	SpecialSuiteFailureReasons []string
	PreRunStats                struct{ SpecsThatWillRun int }
	SpecReports                []specReport
}

// specReport is a spec, or a node of the whole suite such as its set-up.
type specReport struct {
	ContainerHierarchyTexts  []string
	ContainerHierarchyLabels [][]string
	LeafNodeType             string
	LeafNodeText             string
	LeafNodeLabels           []string
	LeafNodeLocation         struct {
		FileName   string
		LineNumber int
	}
	State   string
	RunTime time.Duration
	Failure *struct{ Message string }
}

// parseReport reads the report of a run that went to its end. gates says which feature gates are on. An error means that
// the run says nothing about the controller: it was cut short, its set-up failed, or it ran no spec.
func parseReport(data []byte, gates featureGates) ([]Spec, error) {
	var suites []suiteReport
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
		case report.LeafNodeType != "It":
			if report.hasFailed() {
				failures = append(failures, fmt.Errorf("the suite's %s failed: %s", strings.TrimSpace(report.LeafNodeType+" "+report.LeafNodeText), report.message()))
			}
		case report.isSelected():
			spec, err := report.spec(gates)
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
func (r specReport) isSelected() bool {
	return r.State != "skipped" && r.State != "pending" || r.message() != ""
}

func (r specReport) hasFailed() bool {
	return r.State != "passed" && r.State != "skipped" && r.State != "pending"
}

// spec judges one spec. What asks for a feature gate that is off cannot hold; where it holds nevertheless, it has passed.
func (r specReport) spec(gates featureGates) (Spec, error) {
	spec := Spec{
		Name:    strings.Join(append(slices.Clone(r.ContainerHierarchyTexts), r.LeafNodeText), " "),
		File:    sourceFile(r.LeafNodeLocation.FileName),
		Line:    r.LeafNodeLocation.LineNumber,
		Seconds: r.RunTime.Round(100 * time.Millisecond).Seconds(),
	}
	if r.State == "passed" {
		spec.Outcome = Passed
		return spec, nil
	}
	off, err := gates.off(r.gates())
	if err != nil {
		return Spec{}, fmt.Errorf("%s: %w", spec.Name, err)
	}
	switch {
	case len(off) > 0:
		spec.Outcome, spec.Reason = NotApplicable, areOff(off)
	case r.hasFailed():
		spec.Outcome, spec.Reason = Failed, r.message()
	default:
		spec.Outcome, spec.Reason = NotApplicable, r.message()
	}
	return spec, nil
}

// gates returns the feature gates that the spec's labels ask for.
func (r specReport) gates() []string {
	var gates []string
	for _, label := range slices.Concat(append(slices.Clone(r.ContainerHierarchyLabels), r.LeafNodeLabels)...) {
		if gate, ok := strings.CutPrefix(label, "FeatureGate:"); ok && !slices.Contains(gates, gate) {
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
func (r specReport) message() string {
	if r.Failure == nil {
		return ""
	}
	var kept []string
	for line := range strings.Lines(r.Failure.Message) {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
		if len(kept) == messageLines {
			break
		}
	}
	message := strings.Join(kept, " ")
	if runes := []rune(message); len(runes) > messageLength {
		message = string(runes[:messageLength]) + "..."
	}
	return message
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
