package main

// Outcome is what the suite says of a spec.
type Outcome string

const (
	// Passed is a spec that held.
	Passed Outcome = "passed"
	// Failed is a spec that did not hold.
	Failed Outcome = "failed"
	// NotApplicable is a spec of something that the cluster does not have: a feature gate that is off, or what made the
	// spec skip itself.
	NotApplicable Outcome = "not applicable"
)

// Spec is one spec of the suite and how it went.
type Spec struct {
	// Name is the spec's full text, which no other spec has.
	Name string `json:"name"`
	// File and Line are where in k8s.io/kubernetes it stands.
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Outcome Outcome `json:"outcome"`
	// Reason says why the spec failed or does not apply.
	Reason  string  `json:"reason,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Controller says whose Jobs are judged.
type Controller string

const (
	// Builtin is kube-controller-manager with all its controllers.
	Builtin Controller = "builtin"
	// Ostinato is kube-controller-manager without cronjob and job controller, and Ostinato in their place.
	Ostinato Controller = "ostinato"
)

// title is the controller's name in tables.
func (c Controller) title() string {
	if c == Builtin {
		return "kube-controller-manager"
	}
	return "Ostinato"
}

// Run is one run of the suite against a controller.
type Run struct {
	Controller Controller `json:"controller"`
	// Date is the day it ran, as 2006-01-02.
	Date string `json:"date"`
	// Seconds is how long the suite took, the cluster's start left out.
	Seconds float64 `json:"seconds"`
	// Processes is how many ran specs at the same time.
	Processes int      `json:"processes"`
	Command   string   `json:"command"`
	Machine   string   `json:"machine"`
	Versions  []string `json:"versions"`
	// Specs are in the order of the suite's sources.
	Specs []Spec `json:"specs"`
}

// count returns how many specs had the outcome.
func (r Run) count(outcome Outcome) int {
	n := 0
	for _, spec := range r.Specs {
		if spec.Outcome == outcome {
			n++
		}
	}
	return n
}
