package job_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/job"
)

// unanswered applies a plan of creates. The last but one had no answer.
func unanswered(d *desk) (open job.Create) {
	plan := d.decide()
	report := job.Report{CreateRefused: "ServerError: 504", Unclear: true}
	for i, create := range plan.Creates {
		if i == len(plan.Creates)-2 {
			open = create
			continue
		}
		uid := uidOf(int(create.Attempt))
		report.Created = append(report.Created, job.CreatedPod{Name: create.Name, UID: uid})
		d.pods = append(d.pods, job.PodFact{Name: create.Name, UID: uid, Attempt: create.Attempt, Tracked: true, Version: 1})
	}
	d.apply(plan, report)
	return open
}

func emptyDesk(t *testing.T, spec job.Spec) *desk {
	return &desk{t: t, spec: spec, state: job.State{}.Of("default", "hello", "uid-1"), now: start}
}

// TestACreateWithoutAnAnswerIsAskedForAgain under the same name: it may land after the list.
func TestACreateWithoutAnAnswerIsAskedForAgain(t *testing.T) {
	d := emptyDesk(t, specOf(6, 6))
	open := unanswered(d)
	d.listed()
	plan := d.decide()
	equal(t, "active", plan.Status.Active, 5)
	equal(t, "creates beside the status", len(plan.Creates), 0)
	d.apply(plan, job.Report{})
	d.now = d.now.Add(time.Second)
	plan = d.decide()
	equal(t, "creates", plan.Creates, []job.Create{open})
	d.apply(plan, job.Report{Created: []job.CreatedPod{{Name: open.Name, UID: "late"}}})
	equal(t, "open", len(d.state.Open), 0)
}

// TestNumbersThatNoPodHasAreRefused: a writer to Temporal may have made up the state.
func TestNumbersThatNoPodHasAreRefused(t *testing.T) {
	for _, number := range []int64{-1, 0, 7} {
		state := job.State{Attempts: 6, Open: []int64{number}}
		equal(t, "refused", state.Validate() != nil, true)
	}
	equal(t, "valid", job.State{Attempts: 6, Open: []int64{5}}.Validate(), nil)
}

// TestAJobWaitsForCreatesThatMayLand before it is over, and lists its Pods then.
func TestAJobWaitsForCreatesThatMayLand(t *testing.T) {
	spec := specOf(2, 2)
	spec.BackoffLimit = 0
	d := emptyDesk(t, spec)
	open := unanswered(d)
	d.listed()
	d.apply(d.decide(), job.Report{})
	for i := range d.pods {
		d.state = d.state.Observe([]job.PodFact{d.end(i+1, "Failed")})
	}
	d.terminate(d.decide())
	plan := d.decide()
	equal(t, "conditions", conditionsOf(*plan.Status), []string{"FailureTarget/BackoffLimitExceeded"})
	d.apply(plan, job.Report{})
	equal(t, "wake", d.decide().Wake, job.Wake{At: start.Add(40 * time.Second), Reason: job.WakeList})

	d.pods = append(d.pods, job.PodFact{Name: open.Name, UID: "late", Attempt: open.Attempt, Phase: "Running", Tracked: true, Version: 2})
	d.now = start.Add(40 * time.Second)
	equal(t, "list", d.decide().List, true)
	d.listed()
	plan = d.decide()
	equal(t, "the late Pod is ended", deleted(plan), []string{"late"})
	d.apply(plan, job.Report{})
	d.pods[len(d.pods)-1].Deleting = true
	d.state = d.state.Observe([]job.PodFact{d.end(len(d.pods), "Failed")})
	equal(t, "conditions", conditionsOf(*d.decide().Status), []string{"FailureTarget/BackoffLimitExceeded", "Failed/BackoffLimitExceeded"})
}

// TestACreateMayLandOnceItsNameIsFree: another attempt has made the Pod under the same name.
func TestACreateMayLandOnceItsNameIsFree(t *testing.T) {
	for name, test := range map[string]struct {
		goes bool
		want []string
	}{
		"the Pod is there": {false, []string{"SuccessCriteriaMet/CompletionsReached", "Complete/CompletionsReached"}},
		"the Pod is gone":  {true, []string{"SuccessCriteriaMet/CompletionsReached"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, specOf(1, 2))
			d.state = d.state.AwaitsLeft(job.Plan{}, nil, start)
			d.state = d.state.Observe([]job.PodFact{d.end(1, "Succeeded")})
			plan := d.decide()
			d.release("pod-1")
			d.apply(plan, job.Report{Created: []job.CreatedPod{{Name: plan.Creates[0].Name, UID: uidOf(2)}}})
			d.pods = append(d.pods, job.PodFact{Name: plan.Creates[0].Name, UID: uidOf(2), Attempt: 2, Tracked: true, Version: 1})
			if test.goes {
				d.pods[0].Gone = true
				d.pods[0].Version++
				d.state = d.state.Observe(d.pods[:1])
			}
			d.apply(d.decide(), job.Report{})
			d.state = d.state.Observe([]job.PodFact{d.end(2, "Succeeded")})
			equal(t, "conditions", conditionsOf(*d.decide().Status), test.want)
			d.apply(d.decide(), job.Report{})
			d.now = start.Add(40 * time.Second)
			equal(t, "list", d.decide().List, test.goes)
		})
	}
}

// TestASuspendedJobLooksForCreatesThatMayLand: an edit came while they were under way.
func TestASuspendedJobLooksForCreatesThatMayLand(t *testing.T) {
	d := emptyDesk(t, specOf(2, 2))
	open := unanswered(d)
	d.suspend()
	d.terminate(d.decide())
	d.apply(d.decide(), job.Report{})
	d.pods = append(d.pods, job.PodFact{Name: open.Name, UID: "late", Attempt: open.Attempt, Tracked: true, Version: 2})
	d.now = start.Add(40 * time.Second)
	equal(t, "terminates", d.decide().Terminate, job.TerminateForSuspension)
}

// TestADeleteThatIsRepeatedAndFailsIsRepeatedAgain: the Pod has lost its finalizer by the first one.
func TestADeleteThatIsRepeatedAndFailsIsRepeatedAgain(t *testing.T) {
	d := newDesk(t, specOf(2, 4))
	d.edit(func(spec *job.Spec) { spec.Parallelism = 1 })
	d.listed()
	d.apply(d.decide(), job.Report{Failures: []job.PodFailure{{UID: "pod-2", Message: "no answer", Unclear: true, Released: true}}})
	d.pods[1].Tracked, d.pods[1].Removed = false, true
	d.pods[1].Version++
	d.edit(func(spec *job.Spec) { spec.Parallelism = 2 })
	d.listed()
	plan := d.decide()
	equal(t, "deletes after the list", deleted(plan), []string{"pod-2"})
	d.apply(plan, job.Report{Failures: []job.PodFailure{{UID: "pod-2", Message: "get Pod: an error on the server"}}})
	d.now = d.now.Add(time.Minute)
	equal(t, "deletes again", deleted(d.decide()), []string{"pod-2"})
}

// TestARemovalThatLandsAfterTheListIsFinished: its finalizer went, and its delete was not sent.
func TestARemovalThatLandsAfterTheListIsFinished(t *testing.T) {
	spec := specOf(1, 1)
	spec.PodReplacementPolicy = batchv1.Failed
	d := newDesk(t, spec)
	d.suspend()
	d.resume()
	d.listed()
	d.apply(d.decide(), job.Report{})
	d.pods[0].Tracked, d.pods[0].Removed = false, true
	d.pods[0].Version++
	d.listed()
	equal(t, "deleted", deleted(d.decide()), []string{"pod-1"})
}
