package job

import (
	"time"
)

// MaxFirst bounds the Pods that are made with a Job.
const MaxFirst = 10

// First returns the creates of the first plan of a new Job, MaxFirst at most: the plan that
// its workflow comes to, since names and numbers of Pods follow from the Job alone.
func First(namespace, name, uid string, spec Spec, now time.Time) []Create {
	creates := Decide(DefaultConfig(), Begin(namespace, name, uid, spec, false), spec, now).Creates
	return creates[:min(len(creates), MaxFirst)]
}
