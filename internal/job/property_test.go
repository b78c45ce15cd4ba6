package job_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// drawFact draws a fact about one of a few Pods of the Job: some named by
// Ostinato, some not.
func drawFact(t *rapid.T) job.PodFact {
	pod := rapid.IntRange(1, 6).Draw(t, "pod")
	name, uid := names.Pod("work", "uid-1", int64(pod)), names.Pod("uid", "", int64(pod))
	if pod > 4 {
		name = "stranger-" + uid
	}
	return job.PodFact{
		Name:     name,
		UID:      uid,
		Version:  rapid.Int64Range(0, 3).Draw(t, "version"),
		Phase:    rapid.SampledFrom([]corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodUnknown, corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "phase"),
		Ready:    rapid.Bool().Draw(t, "ready"),
		Deleting: rapid.Bool().Draw(t, "deleting"),
		Gone:     rapid.IntRange(0, 4).Draw(t, "gone") == 0,
		Tracked:  rapid.Bool().Draw(t, "tracked"),
		Restarts: rapid.Int32Range(0, 2).Draw(t, "restarts"),
		Finished: rapid.SampledFrom([]time.Time{{}, start, start.Add(time.Second)}).Draw(t, "finished"),
		ExitCode: rapid.Int32Range(0, 2).Draw(t, "exit code"),
		Reason:   rapid.SampledFrom([]string{"", "Error", "OOMKilled"}).Draw(t, "reason"),
		Message:  rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "message"),
	}
}

// Properties of Observe: facts may come in any order, in any grouping, and twice.
func TestObserveIsAJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := job.Spec{Parallelism: 3, Completions: pointer[int32](5), BackoffLimit: 6}
		outcome := job.Plan(job.DefaultConfig(), job.NewState("default", "work", "uid-1"), spec, start)
		state := outcome.Next // three Pods are asked for; whether they exist is not known

		facts := rapid.SliceOfN(rapid.Custom(drawFact), 1, 12).Draw(t, "facts")
		want := state.Observe(facts)

		shuffled := rapid.Permutation(append(slices.Clone(facts), facts...)).Draw(t, "shuffled")
		cut := rapid.IntRange(0, len(shuffled)).Draw(t, "cut")
		got := state.Observe(shuffled[:cut]).Observe(shuffled[cut:])
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order and twice:\n%+v\nwant\n%+v", got.Pods, want.Pods)
		}
	})
}

// The properties of the planner over random histories of a cluster: whatever
// happens, the Job ends, every Pod is counted once and as it ended, none keeps the
// finalizer, and every status on the way is valid.
func TestJobsEndWithTheRightCounters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t, drawSpec(t))
		t.Repeat(map[string]func(*rapid.T){
			"":        func(*rapid.T) { c.settle(); c.checkRest() },
			"start":   func(t *rapid.T) { c.withPod(t, (*modelPod).active, c.start) },
			"succeed": func(t *rapid.T) { c.withPod(t, (*modelPod).running, c.endWell) },
			"fail":    func(t *rapid.T) { c.withPod(t, (*modelPod).running, c.endBadly) },
			"delete":  func(t *rapid.T) { c.withPod(t, (*modelPod).running, c.delete) },
			"vanish":  func(t *rapid.T) { c.withPod(t, c.known, c.vanish) },
			"deliver": func(t *rapid.T) { c.deliverSome(t) },
			"wait":    func(t *rapid.T) { c.pass(time.Duration(rapid.IntRange(0, 3000).Draw(t, "seconds")) * time.Second) },
			"suspend": func(*rapid.T) { c.spec.Suspend = !c.spec.Suspend; c.spec.Generation++ },
			"scale":   func(t *rapid.T) { c.spec.Parallelism = rapid.Int32Range(0, 4).Draw(t, "parallelism") },
			"refuse": func(t *rapid.T) {
				c.refuseCreates = rapid.IntRange(0, 3).Draw(t, "creates")
				c.refuseStatus = rapid.IntRange(0, 1).Draw(t, "statuses")
				c.loseCreates = rapid.Bool().Draw(t, "lose")
			},
		})
		c.runToTheEnd()
		c.checkEnd()
	})
}

func drawSpec(t *rapid.T) job.Spec {
	spec := job.Spec{
		Parallelism:          rapid.Int32Range(0, 4).Draw(t, "parallelism"),
		BackoffLimit:         rapid.Int32Range(0, 6).Draw(t, "backoffLimit"),
		Suspend:              rapid.Bool().Draw(t, "suspend"),
		RestartPolicy:        rapid.SampledFrom([]corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}).Draw(t, "restartPolicy"),
		PodReplacementPolicy: rapid.SampledFrom([]batchv1.PodReplacementPolicy{batchv1.TerminatingOrFailed, batchv1.Failed}).Draw(t, "podReplacementPolicy"),
	}
	if rapid.IntRange(0, 3).Draw(t, "work queue") > 0 {
		spec.Completions = pointer(rapid.Int32Range(0, 6).Draw(t, "completions"))
	}
	if rapid.Bool().Draw(t, "with deadline") {
		spec.ActiveDeadlineSeconds = pointer(rapid.Int64Range(0, 5000).Draw(t, "deadline"))
	}
	return spec
}

func (p *modelPod) running() bool { return !p.terminal() }

func (c *cluster) withPod(t *rapid.T, match func(*modelPod) bool, action func(*modelPod)) {
	var matching []*modelPod
	for _, pod := range c.pods {
		if match(pod) {
			matching = append(matching, pod)
		}
	}
	if len(matching) > 0 {
		action(matching[rapid.IntRange(0, len(matching)-1).Draw(t, "which pod")])
	}
}

func (c *cluster) start(pod *modelPod) {
	pod.phase, pod.ready = corev1.PodRunning, !pod.ready
	pod.restarts++
	c.changed(pod)
}

func (c *cluster) endWell(pod *modelPod)  { c.end(pod, corev1.PodSucceeded) }
func (c *cluster) endBadly(pod *modelPod) { c.end(pod, corev1.PodFailed) }

// known Pods run, and the workflow has heard of them.
func (c *cluster) known(pod *modelPod) bool { return pod.running() && find(c.state, pod.uid) != nil }

// vanish is a forced removal, finalizer and all.
func (c *cluster) vanish(pod *modelPod) {
	pod.disturbed, pod.gone, pod.deleting, pod.tracked, pod.ready = true, true, true, false, false
	c.changed(pod)
}

// deliverSome delivers some of the waiting facts in any order, and keeps some of
// these to deliver them again.
func (c *cluster) deliverSome(t *rapid.T) {
	if len(c.mailbox) == 0 {
		return
	}
	shuffled := rapid.Permutation(c.mailbox).Draw(t, "mailbox")
	cut := rapid.IntRange(0, len(shuffled)).Draw(t, "delivered")
	again := rapid.IntRange(0, cut).Draw(t, "again")
	c.hear(shuffled[:cut]...)
	c.mailbox = slices.Concat(shuffled[cut:], shuffled[:again])
}

// checkRest asserts what holds when there is nothing left to do.
func (c *cluster) checkRest() {
	outcome := job.Plan(c.config, c.state, c.spec, c.now)
	if !outcome.Idle() {
		c.t.Fatalf("planning again wants more: %+v", outcome)
	}
	if !outcome.Wake.At.IsZero() && !outcome.Wake.At.After(c.now) {
		c.t.Fatalf("the wake %+v is not after %s, so the workflow would spin", outcome.Wake, c.now)
	}
	if outcome.Wake.At.IsZero() && outcome.Finished == nil {
		c.t.Fatalf("an unfinished Job would sleep for ever: %+v", outcome)
	}
}

// runToTheEnd takes all obstacles away and lets every Pod succeed.
func (c *cluster) runToTheEnd() {
	c.refuseCreates, c.refuseStatus = 0, 0
	c.spec.Suspend = false
	c.spec.Parallelism = max(c.spec.Parallelism, 1)
	c.spec.Generation++
	for range 200 {
		c.settle()
		if c.finished != nil {
			return
		}
		for _, pod := range c.pods {
			if !pod.terminal() {
				c.end(pod, corev1.PodSucceeded)
			}
		}
		c.deliver()
		c.pass(11 * time.Minute)
	}
	c.t.Fatalf("the Job does not end; it waits for %q: %+v", c.waiting, c.state)
}

func (c *cluster) checkEnd() {
	var succeeded, failed, disturbed int32
	for _, pod := range c.pods {
		switch {
		case pod.tracked:
			c.t.Fatalf("Pod %+v keeps the finalizer", *pod)
		case pod.active():
			c.t.Fatalf("Pod %+v was left running", *pod)
		case pod.disturbed:
			disturbed++
		case pod.phase == corev1.PodSucceeded:
			succeeded++
		default:
			failed++
		}
	}
	status := c.status
	if status.Succeeded < succeeded || status.Failed < failed || status.Succeeded+status.Failed > succeeded+failed+disturbed {
		c.t.Fatalf("status counts %d succeeded and %d failed; of %d Pods %d succeeded, %d failed, %d were deleted",
			status.Succeeded, status.Failed, len(c.pods), succeeded, failed, disturbed)
	}
	if c.finished.Succeeded != status.Succeeded || c.finished.Failed != status.Failed {
		c.t.Fatalf("result %+v differs from status %s", *c.finished, describeStatus(status))
	}
	if isTrue(status, batchv1.JobComplete) && c.spec.Completions != nil && status.Succeeded < *c.spec.Completions {
		c.t.Fatalf("Complete with %d of %d completions", status.Succeeded, *c.spec.Completions)
	}
}
