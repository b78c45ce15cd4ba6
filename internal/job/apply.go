package job

import (
	"slices"
	"time"
)

// Report is the result of a Plan. What it says nothing about was carried out.
type Report struct {
	// Error says what kept the Plan from being carried out, when there is no other answer; part of it may have been.
	Error string `json:"-"`
	// Created lists the Pods that exist now, new or found from an earlier attempt.
	Created []CreatedPod `json:"created,omitempty"`
	// CreateRefused says why a create was not carried out: no status, release or Event followed.
	CreateRefused string `json:"-"`
	// NameTaken says that another owner's object has a Pod's name, so that other
	// names are needed, and Unclear that a Pod may have been created all the same.
	NameTaken bool `json:"-"`
	Unclear   bool `json:"-"`
	// StatusRefused says why the status was not written, or not for certain; then the releases were not carried out.
	StatusRefused string `json:"statusRefused,omitempty"`
	// Unseen are the UIDs of Pods that are not as the status counts them, or run where the plan has others made or ends the Job.
	// Unfounded says what is counted without a Pod, NoReason what is decided without a reason. With any of them nothing was carried out.
	Unseen    []string `json:"unseen,omitempty"`
	Unfounded string   `json:"unfounded,omitempty"`
	NoReason  string   `json:"noReason,omitempty"`
	// Logs are the ends of the logs that releases asked for.
	Logs []PodLog `json:"logs,omitempty"`
	// Vanished are the UIDs of Pods that a delete or release found gone, and of those that went with their release.
	Vanished []string `json:"vanished,omitempty"`
	// Unexpected are Pods that are not as their delete or release says, as they are; with them nothing was done.
	Unexpected []PodFact `json:"found,omitempty"`
	// Failures are the deletes and releases that the API server answered with an error, or not at all.
	Failures []PodFailure `json:"failures,omitempty"`
}

// And returns the report with what another one says about single Pods.
func (r Report) And(other Report) Report {
	r.Vanished = append(r.Vanished, other.Vanished...)
	r.Unexpected = append(r.Unexpected, other.Unexpected...)
	r.Failures = append(r.Failures, other.Failures...)
	return r
}

// CreatedPod is a Pod that a create made, or found from an earlier attempt.
type CreatedPod struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Released says that it was found, has ended and was released: it was counted, or given up.
	Released bool `json:"released,omitempty"`
	// Ended is the Pod as it was found where it has ended and was not counted; nil for others.
	Ended *PodFact `json:"ended,omitempty"`
}

// PodFailure is a delete or release of one Pod that the API server answered with an error, a webhook's, say, or not at all.
type PodFailure struct {
	UID     string `json:"uid"`
	Message string `json:"message"`
	// Unclear says that there was no answer: it may have been carried out.
	Unclear bool `json:"unclear,omitempty"`
	// Released says that the finalizer is gone and the delete failed: the Pod runs on, and is not to be counted.
	Released bool `json:"released,omitempty"`
	// Unnoted says that the Job does not name the Pod as counted, so that it was not released: the next status names it.
	Unnoted bool `json:"unnoted,omitempty"`
}

// Apply returns the State after a Plan was carried out as the report says. What was refused is planned again later.
func Apply(plan Plan, report Report, now time.Time) State {
	if report.Error != "" {
		state := plan.Asked()
		if len(plan.Creates) > 0 {
			state = state.Awaits(now)
		}
		state.ErrorRetry = state.ErrorRetry.refused(retryCap, report.Error, now)
		return state
	}
	if len(report.Unseen) > 0 || report.Unfounded+report.NoReason != "" {
		return plan.refuted(report, now)
	}
	state := plan.Next
	state.ErrorRetry = Retry{}
	state.Pods = slices.Clone(state.Pods)
	if report.CreateRefused != "" || report.StatusRefused != "" {
		state = state.withStatusOf(plan.before)
	} else {
		known := byUID(state.Pods)
		for _, release := range plan.Releases {
			if pod := known[release.UID]; pod != nil {
				pod.Tracked, pod.Announced = false, true
			}
		}
		for _, counted := range plan.Counted {
			if pod := known[counted.UID]; pod != nil && pod.Fate != Undecided {
				pod.Stated = true
			}
		}
	}
	state.takePodReports(plan, report, now)
	state.takeLogs(report.Logs)
	state.takeCreated(plan.Creates, report.Created, report.NameTaken)
	switch {
	case report.Unclear:
		state = state.Awaits(now).leavesOpen(plan.Creates, report.Created)
	case plan.first() && report.CreateRefused == "":
		state.Taken, state.Late = state.Late, time.Time{}
	}
	state.NeedsList = state.NeedsList || report.NameTaken || report.Unclear
	switch {
	case report.CreateRefused != "":
		if report.Unclear && len(report.Created) > 0 {
			// The plan made progress, so its next part need not wait long.
			state.CreateRetry = Retry{}
		}
		state.CreateRetry = state.CreateRetry.refused(retryCap, report.CreateRefused, now)
	case len(plan.Creates) > 0:
		state.CreateRetry = Retry{}
	}
	switch {
	case report.StatusRefused != "":
		state.StatusRetry = state.StatusRetry.refused(retryCap, report.StatusRefused, now)
		state.NeedsList, state.Unanswered = true, true
	case plan.Status != nil && report.CreateRefused == "":
		state.StatusRetry = Retry{}
	}
	sortPods(state.Pods)
	return state
}

func (r Retry) refused(limit time.Duration, message string, now time.Time) Retry {
	refusals := r.Refusals + 1
	return Retry{Refusals: refusals, Until: now.Add(doubled(retryBase, limit, refusals)), Message: message}
}

// first reports whether the plan makes the Pods that may have been asked for before the workflow began.
func (p Plan) first() bool {
	return len(p.Creates) > 0 && len(p.before.Pods) == 0 && p.before.Attempts == 0 && p.before.Listing.IsZero()
}

// leavesOpen keeps the numbers of the creates that made no Pod, below those that did.
func (s State) leavesOpen(creates []Create, created []CreatedPod) State {
	for _, create := range creates {
		made := slices.ContainsFunc(created, func(pod CreatedPod) bool { return pod.Name == create.Name })
		if create.Index == nil && !made && create.Attempt <= s.Attempts && !slices.Contains(s.Open, create.Attempt) {
			s.Open = append(slices.Clip(s.Open), create.Attempt)
		}
	}
	return s
}

// takeCreated takes in the Pods that exist now. Numbers of those that are over, or whose names are taken, are used up.
func (s *State) takeCreated(creates []Create, created []CreatedPod, nameTaken bool) {
	known, exist := byUID(s.Pods), make(map[string]CreatedPod, len(created))
	for _, pod := range created {
		exist[pod.Name] = pod
	}
	for _, create := range creates {
		pod, ok := exist[create.Name]
		if !ok && !nameTaken {
			continue
		}
		s.Attempts = max(s.Attempts, create.Attempt)
		s.Open = slices.DeleteFunc(slices.Clone(s.Open), func(number int64) bool { return number == create.Attempt })
		made := Pod{PodFact: PodFact{
			Name: create.Name, UID: pod.UID, Attempt: create.Attempt, Index: create.Index,
			Failures: create.Failures, Ignored: create.Ignored, Tracked: true,
		}}
		switch {
		case ok && !pod.Released && known[pod.UID] == nil:
			if pod.Ended != nil {
				made.take(*pod.Ended)
			}
			s.Pods = append(s.Pods, made)
		case (!ok || pod.Released) && create.Index != nil:
			s.Indexes = slices.Clone(s.Indexes).used(made)
		}
	}
}
