package config

import (
	"time"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/job"
)

// Jobs holds the settings of how a Job is run.
type Jobs struct {
	// JobDefaults are what a Job gets that does not say it itself, in whole seconds.
	// Worker and bridge of one cluster must agree: either may read a Job first.
	JobDefaults job.Defaults
}

func (j *Jobs) addFlags(flags *command.Flags) {
	group := flags.Group(groupJobs)
	upstream := job.DefaultConfig()
	group.DurationVar(&j.JobDefaults.BackoffBase, "pod-backoff-base", upstream.BackoffBase,
		"wait before the first Pod after a failure, doubled with each one, where a Job has no annotation; the same for worker and bridge")
	group.DurationVar(&j.JobDefaults.BackoffCap, "pod-backoff-cap", upstream.BackoffCap,
		"longest wait before a Pod after failures, where a Job has no annotation; the same for worker and bridge")
}

func (j Jobs) validate(p *problems) {
	defaults := j.JobDefaults
	for _, wait := range []struct {
		value time.Duration
		flag  string
	}{{defaults.BackoffBase, "pod-backoff-base"}, {defaults.BackoffCap, "pod-backoff-cap"}} {
		p.check(wait.value >= time.Second && wait.value%time.Second == 0, wait.flag, "is %v; set it to whole seconds, 1s or more", wait.value)
	}
	p.check(defaults.BackoffBase <= defaults.BackoffCap, "pod-backoff-base",
		"is %v; set it to --pod-backoff-cap, %v, or less", defaults.BackoffBase, defaults.BackoffCap)
}
