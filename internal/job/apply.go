package job

import (
	"slices"
	"time"
)

// Report says what came of a Plan. Deletes, and what it says nothing about,
// were carried out; who can't carry out something goes on trying.
type Report struct {
	// Error says what kept the Plan from being carried out to its end, when there is no
	// other answer; how much of it was done is not known.
	Error string
	// Created lists the Pods that exist now.
	Created []CreatedPod
	// CreateRefused is the API server's message when it refused a create; then
	// neither status nor releases nor events were carried out.
	CreateRefused string
	// NameTaken says that another owner's object has a Pod's name, so that other
	// names are needed, and Unclear that a Pod may have been created all the same.
	NameTaken, Unclear bool
	// StatusRefused is the API server's message when it did not accept the status;
	// then the releases were not carried out.
	StatusRefused string
	// Logs are the ends of the logs that releases asked for.
	Logs []PodLog
	// Vanished are the UIDs of Pods that a delete or release found gone, and of those that
	// were removed by their release.
	Vanished []string
	// Found are Pods that are not as their delete or release says, as they are; with
	// them nothing was done.
	Found []PodFact
	// Failures are deletes and releases that failed; the others were carried out.
	Failures []PodFailure
}

// CreatedPod is a Pod that a create made, or found from an earlier attempt.
type CreatedPod struct {
	Name, UID string
	// Released says that it was found, has ended and was released: nobody will tell how.
	Released bool
}

// PodFailure is a delete or release of one Pod that the API server answered with an
// error: an admission webhook that does not answer, a policy, a bug. It concerns this
// Pod only.
type PodFailure struct {
	UID     string `json:"uid"`
	Message string `json:"message"`
	// Released says that the finalizer is gone and the delete failed: the Pod runs on, and is
	// not to be counted.
	Released bool `json:"released,omitempty"`
}

// Apply returns the State after a Plan was carried out as the report says. What was
// refused is planned again after a delay.
func Apply(plan Plan, report Report, now time.Time) State {
	if report.Error != "" {
		state := plan.Asked()
		state.ErrorRetry = state.ErrorRetry.refused(plan.config, report.Error, now)
		return state
	}
	state := plan.Next
	state.ErrorRetry = Retry{}
	state.Pods = slices.Clone(state.Pods)
	if report.CreateRefused != "" || report.StatusRefused != "" {
		state = state.withStatusOf(plan.before)
	} else {
		state.markReleased(plan.Releases)
	}
	state.takePodReports(plan, report, now)
	state.takeLogs(report.Logs)
	state.takeCreated(plan.Creates, report.Created, report.NameTaken)
	state.Doubtful = state.Doubtful || report.NameTaken || report.Unclear
	switch {
	case report.CreateRefused != "":
		state.CreateRetry = state.CreateRetry.refused(plan.config, report.CreateRefused, now)
	case len(plan.Creates) > 0:
		state.CreateRetry = Retry{}
	}
	switch {
	case report.StatusRefused != "":
		state.StatusRetry = state.StatusRetry.refused(plan.config, report.StatusRefused, now)
		state.Doubtful = true
	case plan.Status != nil && report.CreateRefused == "":
		state.StatusRetry = Retry{}
	}
	sortPods(state.Pods)
	return state
}

func (r Retry) refused(config Config, message string, now time.Time) Retry {
	r.Refusals++
	r.Until = now.Add(doubled(config.RetryBase, config.RetryCap, r.Refusals))
	r.Message = message
	return r
}

func (s *State) markReleased(releases []Release) {
	known := byUID(s.Pods)
	for _, release := range releases {
		if i, ok := known[release.UID]; ok {
			s.Pods[i].Tracked, s.Pods[i].Announced = false, true
		}
	}
}

// takeCreated takes in the Pods that exist now. Where names are taken the numbers of the others
// are used up.
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
		switch _, seen := known[pod.UID]; {
		case !ok && create.Index != nil:
			s.Indexes = slices.Clone(s.Indexes).used(create.pod())
		case ok && !seen:
			s.Doubtful = s.Doubtful || pod.Released
			made := create.pod()
			made.UID = pod.UID
			s.Pods = append(s.Pods, made)
		}
	}
}

// pod is the Pod as it is right after its create.
func (c Create) pod() Pod {
	return Pod{PodFact: PodFact{
		Name: c.Name, Attempt: c.Attempt, Index: c.Index, Failures: c.Failures, Ignored: c.Ignored, Tracked: true,
	}}
}
