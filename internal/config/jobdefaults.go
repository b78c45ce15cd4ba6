package config

import (
	"time"

	"ostinato.dev/ostinato/internal/job"
)

func registerJobDefaults(set *flagSet, defaults *job.Defaults) {
	upstream := job.DefaultConfig()
	set.DurationVar(&defaults.BackoffBase, "pod-backoff-base", upstream.BackoffBase,
		"wait before the first Pod after a failure, doubled with each one, where a Job has no annotation; the same for worker and bridge")
	set.DurationVar(&defaults.BackoffCap, "pod-backoff-cap", upstream.BackoffCap,
		"longest wait before a Pod after failures, where a Job has no annotation; the same for worker and bridge")
}

func validateJobDefaults(p *problems, defaults job.Defaults) {
	for _, wait := range []struct {
		value time.Duration
		flag  string
	}{{defaults.BackoffBase, "pod-backoff-base"}, {defaults.BackoffCap, "pod-backoff-cap"}} {
		p.check(wait.value >= time.Second && wait.value%time.Second == 0, wait.flag, "is %v; set it to whole seconds, 1s or more", wait.value)
	}
	p.check(defaults.BackoffBase <= defaults.BackoffCap, "pod-backoff-base",
		"is %v; set it to --pod-backoff-cap, %v, or less", defaults.BackoffBase, defaults.BackoffCap)
}
