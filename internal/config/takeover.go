package config

import (
	"errors"
	"fmt"
	"strings"
)

// TakeOver says which objects of batch/v1 are Ostinato's without being marked.
// Worker and bridge of one cluster must agree, and kube-controller-manager must
// run without the controllers taken over (docs/takeover.md).
type TakeOver struct {
	// Jobs are those that name the built-in job controller in spec.managedBy, or nobody.
	Jobs bool
}

// String, Type and Set make *TakeOver a flag: a comma-separated list.
func (t *TakeOver) String() string {
	if t.Jobs {
		return "jobs"
	}
	return ""
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
		case "jobs":
			t.Jobs = true
		case "cronjobs":
			return errors.New("taking over cronjobs is not there yet; use jobs, " +
				"and CronJobs of batch.ostinato.dev/v1 (the kind batch/v1 CronJob stays the built-in controller's)")
		default:
			return fmt.Errorf("%q can't be taken over; use jobs, or leave it empty", strings.TrimSpace(name))
		}
	}
	return nil
}
