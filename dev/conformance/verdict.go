package main

import "fmt"

// verdict returns what makes the run a failure, a line each: every spec that failed. Ostinato need not hold what
// kube-controller-manager's own controller does not on the same machine; reference is its run, nil where there is none.
func verdict(run Run, reference *Run) []string {
	forgiven := map[string]bool{}
	if run.Controller == Ostinato && reference != nil {
		for _, spec := range reference.Specs {
			forgiven[spec.Name] = spec.Outcome == Failed
		}
	}
	var failures []string
	for _, spec := range run.Specs {
		if spec.Outcome == Failed && !forgiven[spec.Name] {
			failures = append(failures, fmt.Sprintf("%s: %s", spec.Name, spec.Reason))
		}
	}
	return failures
}
