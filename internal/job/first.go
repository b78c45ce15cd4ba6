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

// Made returns the State of a new Job with the Pods that were made with it (First). Where they are
// others than First says, which somebody has made up, a list tells.
func (s State) Made(spec Spec, pods []CreatedPod, now time.Time) State {
	if len(pods) == 0 {
		return s
	}
	before := len(s.Pods)
	s.takeCreated(Decide(DefaultConfig(), s, spec, now).Creates, pods, false)
	s.Doubtful = s.Doubtful || len(s.Pods)-before != len(pods)
	return s
}
