package job_test

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
)

// execute carries out a plan as the activity does, effect by effect, and takes in what
// came of it. It reports false when the worker has died before that: then nothing is
// remembered of the plan.
func (c *cluster) execute(plan job.Plan) (remembered bool) {
	c.t.Helper()
	if job.Overtaken(c.status, c.byOthers, plan.Base()) {
		c.readAgain()
		return true
	}
	var report job.Report
	if !c.carriedOut(plan, func() []func() { report = job.Report{}; return c.effects(plan, &report) }) {
		return false
	}
	if c.ledger != nil {
		c.ledger.report(plan, report)
	}
	c.state = c.roundTrip(job.Apply(plan, report, c.now))
	if c.recorded {
		c.record() // So is the answer.
	}
	if c.misled || report.StatusRefused != "" && c.reread {
		c.misled = false
		c.readAgain()
	}
	return true
}

// carriedOut brings about the effects of a plan, one after the other. It reports false when the
// worker has died before the end and the plan was not recorded; one that was is carried out
// once more from its beginning.
func (c *cluster) carriedOut(plan job.Plan, effects func() []func()) bool {
	recorded := plan.Recorded()
	if recorded {
		if c.record(); c.crash.in > 0 && plan.Terminate == "" {
			c.crash.ledger = c.before
		}
	}
	for {
		died := false
		for _, effect := range effects() {
			if died = c.dies(); died {
				break
			}
			effect()
		}
		switch {
		case !died && !c.dies():
			c.recorded = recorded
			return true
		case !recorded || c.crash.accident != diedAccident:
			c.forget(plan)
			return false
		}
		c.tryAgain()
	}
}

// terminate ends all Pods that have not ended, and lists what there is then.
func (c *cluster) terminate(plan job.Plan) (remembered bool) {
	c.t.Helper()
	var report job.Report
	if !c.carriedOut(plan, func() []func() {
		report = job.Report{}
		var facts []job.PodFact
		for _, pod := range c.pods {
			if !pod.gone && !pod.disowned {
				facts = append(facts, pod.fact())
			}
		}
		return c.deletes(plan.Terminate.Targets(facts, nil, nil), &report, func() bool { return true })
	}) {
		return false
	}
	list := c.list(c.state.Undecided(), false)
	list.Failures = report.Failures
	c.state = c.roundTrip(plan.Terminated(list.Short(plan.Asked().Undecided()), c.now, c.now))
	if c.ledger != nil {
		c.ledger.terminated(plan, list)
	}
	c.record()
	return true
}

// readAgain takes in the Job as it is.
func (c *cluster) readAgain() {
	c.state, _ = c.state.Reread(c.spec, c.spec, c.status)
	if c.ledger != nil {
		c.ledger.rebase()
	}
}

// effects are what the activity does one after the other; between any two of them its
// worker may die. Each looks at the report first, as the activity does.
func (c *cluster) effects(plan job.Plan, report *job.Report) []func() {
	var effects []func()
	add := func(effect func()) { effects = append(effects, effect) }
	if refusal := c.prescribed(plan.Creates); refusal != "" {
		report.CreateRefused, c.misled = refusal, true
		return nil
	}
	for _, create := range plan.Creates {
		add(func() { c.createPod(plan, create, report) })
	}
	podsDone := func() bool { return report.CreateRefused == "" }
	effects = append(effects, c.deletes(plan.Deletes, report, podsDone)...)
	said := false
	add(func() {
		if podsDone() && plan.Status != nil {
			said = sameStatus(c.status, *plan.Status)
			report.StatusRefused = c.write(*plan.Status, plan.Counted)
		}
		if podsDone() && report.StatusRefused == "" && !said {
			for action, count := range plan.Handled {
				c.handled[action] += count
			}
		}
	})
	written := func() bool { return podsDone() && report.StatusRefused == "" }
	add(func() {
		if written() && !said {
			c.events = append(c.events, plan.Events...)
		}
	})
	for _, target := range plan.Releases {
		add(func() {
			if written() {
				c.readLog(target, report)
			}
		})
	}
	for _, target := range plan.Releases {
		add(func() {
			if written() {
				c.releasePod(target, report)
			}
		})
	}
	return effects
}

// deletes are the effects of deletes, as long as these are to be carried out.
func (c *cluster) deletes(targets []job.Delete, report *job.Report, goOn func() bool) []func() {
	var effects []func()
	for _, target := range targets {
		deletes := false
		effects = append(effects, func() {
			deletes = goOn() && c.mayDelete(target, report) && (!target.Release || c.untrack(target))
		}, func() {
			if deletes {
				c.delete(c.byUID(target.UID))
			}
		})
	}
	return effects
}

// prescribed is how the activity guards against plans that the Job does not prescribe:
// made up ones.
func (c *cluster) prescribed(creates []job.Create) (refusal string) {
	if len(creates) == 0 {
		return ""
	}
	object := c.object()
	count, refusal := job.Prescribed(object, creates, c.now)
	if refusal != "" || !count {
		return refusal
	}
	var running []job.PodFact
	for _, pod := range c.pods {
		if pod.active() {
			running = append(running, job.PodFact{Name: pod.name, Index: pod.index})
		}
	}
	return job.TooMany(object, creates, running)
}

// object is the Job as the API server has it, as far as creates are judged by it.
func (c *cluster) object() *batchv1.Job {
	mode := c.spec.CompletionMode
	object := &batchv1.Job{Status: c.status}
	object.Namespace, object.Name, object.UID = "default", "work", "uid-1"
	if c.spec.Deleting {
		object.DeletionTimestamp = &metav1.Time{Time: c.now}
	}
	object.Spec.CompletionMode, object.Spec.Suspend = &mode, &c.spec.Suspend
	object.Spec.Parallelism, object.Spec.Completions = &c.spec.Parallelism, c.spec.Completions
	object.Spec.SuccessPolicy = c.policy
	object.Spec.ActiveDeadlineSeconds = c.spec.ActiveDeadlineSeconds
	return object
}

func (c *cluster) createPod(plan job.Plan, create job.Create, report *job.Report) {
	c.t.Helper()
	if report.CreateRefused != "" {
		return
	}
	pod, refused := c.create(create)
	if refused {
		report.CreateRefused, report.Unclear = "exceeded quota", c.loseCreates
		if report.NameTaken = pod != nil && pod.disowned; report.NameTaken && c.ledger != nil {
			c.ledger.giveUp(pod)
		}
		report.Unclear = report.Unclear && !report.NameTaken
		return
	}
	report.Created = append(report.Created, job.CreatedPod{Name: pod.name, UID: pod.uid, Released: pod.terminal() && !pod.tracked})
	if c.ledger != nil {
		c.ledger.created(pod)
	}
}

func (c *cluster) create(create job.Create) (pod *modelPod, refused bool) {
	c.t.Helper()
	c.creates = append(c.creates, create)
	refused = c.refuseCreates > 0
	if refused {
		c.refuseCreates--
	}
	for _, pod := range c.pods {
		if pod.name == create.Name && !pod.gone {
			return pod, refused || pod.disowned
		}
	}
	if refused && !c.loseCreates {
		return nil, true
	}
	pod = c.newPod(create.Name)
	pod.attempt, pod.index, pod.failures, pod.ignored = create.Attempt, create.Index, create.Failures, create.Ignored
	c.changed(pod)
	c.checkActive(pod)
	return pod, refused
}

// mayDelete looks at a Pod before its delete: one that was to be removed uncounted and
// has ended is to be counted first.
func (c *cluster) mayDelete(target job.Delete, report *job.Report) bool {
	c.t.Helper()
	switch pod := c.byUID(target.UID); {
	case pod.gone:
		report.Vanished = append(report.Vanished, pod.uid)
	case pod.disowned, target.Release && pod.terminal() && pod.tracked:
		report.Unexpected = append(report.Unexpected, pod.fact())
	case pod.stuck:
		pod.disturbed = true // Until the next attempt all may be decided.
		report.Failures = append(report.Failures, job.PodFailure{UID: pod.uid, Message: "the webhook does not answer"})
	default:
		// What is deleted and not removed was decided upon, however it ends, or has ended.
		pod.disturbed = pod.disturbed || !target.Release || !pod.terminal()
		return true
	}
	return false
}

// untrack takes the finalizer off a Pod that is not to be counted, and notes it there.
func (c *cluster) untrack(target job.Delete) bool {
	c.t.Helper()
	pod := c.byUID(target.UID)
	if pod.tracked {
		pod.removed, pod.tracked = true, false
		c.removed = append(c.removed, pod.uid)
		c.changed(pod)
	}
	return true
}

func (c *cluster) readLog(target job.Release, report *job.Report) {
	c.t.Helper()
	pod := c.byUID(target.UID)
	if !target.Logs || pod.gone {
		return
	}
	pod.logged, c.crash.logged = true, append(c.crash.logged, pod)
	switch c.logs {
	case logsRead:
		report.Logs = append(report.Logs, job.PodLog{UID: pod.uid, Lines: "last words of " + pod.name})
	case logsMissing:
		report.Logs = append(report.Logs, job.PodLog{UID: pod.uid, Missing: "the node is gone"})
	case logsLate:
	}
}

// releasePod releases a Pod that is in the phase that the plan believes.
func (c *cluster) releasePod(target job.Release, report *job.Report) {
	c.t.Helper()
	switch pod := c.byUID(target.UID); {
	case pod.gone:
		report.Vanished = append(report.Vanished, pod.uid)
	case pod.disowned, target.Phase != "" && pod.phase != target.Phase:
		report.Unexpected = append(report.Unexpected, pod.fact())
	case pod.stuck:
		report.Failures = append(report.Failures, job.PodFailure{UID: pod.uid, Message: "the webhook does not answer"})
	case pod.tracked:
		pod.tracked = false
		c.changed(pod)
	}
}

// write is the API server's answer to a status.
func (c *cluster) write(status batchv1.JobStatus, counted []string) (refusal string) {
	c.t.Helper()
	if c.refuseStatus > 0 {
		c.refuseStatus--
		return "conflict"
	}
	if err := validateStatus(c.status, status, c.spec); err != nil {
		if c.unknown {
			// Written by a plan of a lost workflow task: the answer says so.
			c.unknown = false
			return err.Error()
		}
		c.t.Fatalf("the API server refuses the status: %v", err)
	}
	if verdict := recordedVerdict(status); verdict != recordedVerdict(c.status) && verdict.reason == "CompletionsReached" &&
		c.spec.Completions != nil && status.Succeeded < *c.spec.Completions {
		c.t.Fatalf("Complete with %d of %d completions", status.Succeeded, *c.spec.Completions)
	}
	c.status, c.counted, c.byOthers = status, counted, job.ByOthers{}
	c.writes = append(c.writes, status)
	return ""
}

// sameStatus reports whether a write changes nothing, so that nothing is said of it.
func sameStatus(a, b batchv1.JobStatus) bool { return describeStatus(a) == describeStatus(b) }
