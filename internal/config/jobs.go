package config

import (
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/order"
)

// Jobs holds the settings of how Jobs are run.
type Jobs struct {
	// JobDefaults are what a Job gets that does not say it itself, in whole seconds.
	// Worker and bridge of one cluster must agree: either may read a Job first.
	JobDefaults job.Defaults
	// Weights are the shares of Kubernetes namespaces. Worker and bridge of one cluster should agree: either starts workflows.
	Weights order.Weights
}

func (j *Jobs) addFlags(flags *command.Flags) {
	group := flags.Group(groupJobs)
	upstream := job.DefaultConfig()
	group.DurationVar(&j.JobDefaults.BackoffBase, "pod-backoff-base", upstream.BackoffBase,
		"wait before the next Pod after a failure, doubled with each failure; a Job's annotation wins; the same for worker and bridge")
	group.DurationVar(&j.JobDefaults.BackoffCap, "pod-backoff-cap", upstream.BackoffCap,
		"longest wait before a Pod after failures; a Job's annotation wins; the same for worker and bridge")
	flags.Group(groupWork).Var(&j.Weights, "fairness-weights",
		"comma-separated namespace=weight, 0.001 to 1000: the share of a Kubernetes namespace when runs wait, relative to others, which have 1; the same for worker and bridge")
}

func (j Jobs) validate(p *problems) {
	base, limit := j.JobDefaults.BackoffBase, j.JobDefaults.BackoffCap
	p.wholeSeconds(base, "pod-backoff-base")
	p.wholeSeconds(limit, "pod-backoff-cap")
	p.check(base <= limit, "pod-backoff-base", "is %v; set it to --pod-backoff-cap, %v, or less", base, limit)
	for _, namespace := range j.Weights.Namespaces() {
		p.namespace(namespace, "fairness-weights", "give namespace=weight, separated by commas")
	}
}
