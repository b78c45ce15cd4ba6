package config

import (
	"fmt"
	"strings"
)

// TakeOver says which objects of batch/v1 are Ostinato's without being marked.
// Worker and bridge of one cluster must agree, and kube-controller-manager must
// run without the controllers taken over (docs/takeover.md).
type TakeOver struct {
	// Jobs are those that name the built-in job controller in spec.managedBy, or nobody.
	Jobs bool
	// CronJobs are those of batch/v1, all of them.
	CronJobs bool
}

// The names of what can be taken over.
const (
	takeOverCronJobs = "cronjobs"
	takeOverJobs     = "jobs"
)

// Any reports whether anything is to be taken over.
func (t TakeOver) Any() bool { return t.Jobs || t.CronJobs }

// String, Type and Set make *TakeOver a flag: a comma-separated list.
func (t *TakeOver) String() string {
	var names []string
	if t.CronJobs {
		names = append(names, takeOverCronJobs)
	}
	if t.Jobs {
		names = append(names, takeOverJobs)
	}
	return strings.Join(names, ",")
}

// Type is what help calls the value.
func (t *TakeOver) Type() string { return "names" }

// Set reads the list; the last one given counts.
func (t *TakeOver) Set(value string) error {
	var list nameList
	if err := list.Set(value); err != nil {
		return err
	}
	*t = TakeOver{}
	for _, name := range list {
		switch name {
		case takeOverJobs:
			t.Jobs = true
		case takeOverCronJobs:
			t.CronJobs = true
		default:
			return fmt.Errorf("%q can't be taken over; use cronjobs, jobs or both, or leave it empty", strings.TrimSpace(name))
		}
	}
	return nil
}
