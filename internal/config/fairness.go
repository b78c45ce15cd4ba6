package config

import (
	"k8s.io/apimachinery/pkg/util/validation"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/order"
)

// Fairness holds the settings of how Kubernetes namespaces share what is scarce.
type Fairness struct {
	// Weights are the shares of namespaces. Worker and bridge of one cluster should agree: either starts workflows.
	Weights order.Weights
}

func (f *Fairness) addFlags(flags *command.Flags) {
	flags.Group(groupWork).Var(&f.Weights, "fairness-weights",
		"comma-separated namespace=weight, 0.001 to 1000: what a Kubernetes namespace gets where runs wait, in proportion to others, which have 1; the same for worker and bridge")
}

func (f Fairness) validate(p *problems) {
	for _, namespace := range f.Weights.Namespaces() {
		p.check(len(validation.IsDNS1123Label(namespace)) == 0, "fairness-weights", "%q is no namespace name; give namespace=weight, separated by commas", namespace)
	}
}
