package job_test

import (
	"cmp"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
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
	if c.ledger != nil && len(report.Unseen) == 0 {
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
	if plan.Terminate == job.TerminateForVerdict {
		if report, refuted := c.refutes(plan); refuted {
			c.state = c.roundTrip(job.Apply(plan, report, c.now))
			if c.ledger != nil {
				c.ledger.refuted(report)
			}
			c.record()
			return true
		}
	}
	var report job.Report
	if !c.carriedOut(plan, func() []func() {
		report = job.Report{}
		var facts []job.PodFact
		for _, pod := range c.pods {
			if !pod.gone && !pod.disowned {
				facts = append(facts, pod.fact())
			}
		}
		targets := plan.Terminate.Targets(facts, nil, nil)
		var effects []func()
		if plan.Terminate == job.TerminateForVerdict && len(targets) > 0 {
			effects = append(effects, func() { c.noteVerdict(plan.Next.Verdict) })
		}
		return append(effects, c.deletes(targets, &report, func() bool { return true })...)
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

// noteVerdict writes a verdict into the status before the first Pod is deleted for it.
func (c *cluster) noteVerdict(verdict job.Verdict) {
	condition, err := verdict.Condition(c.now)
	if err != nil {
		c.t.Fatalf("no activity notes the verdict: %v", err)
	}
	if !job.Decided(c.object()) {
		c.status.Conditions = append(slices.Clone(c.status.Conditions), condition)
	}
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
	why := ""
	if report.Unseen, why = c.audited(plan); len(report.Unseen) > 0 {
		return nil
	}
	if verdict := plan.Next.Verdict; why != "" && !job.Decided(c.object()) && job.Misquoted(c.object(), verdict) == why {
		// The stop was taken back before the Job's status had it: the State is made anew.
		report.Unfounded = why
		return nil
	}
	if why != "" {
		c.t.Fatalf("what the plan counts is refused: %s", why)
	}
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
	if c.spec.Stop != nil {
		object.Annotations = map[string]string{names.StopAnnotation: c.spec.Stop.Annotation()}
	}
	if c.spec.Deleting {
		object.DeletionTimestamp = &metav1.Time{Time: c.now}
	}
	object.Spec.CompletionMode, object.Spec.Suspend = &mode, &c.spec.Suspend
	object.Spec.Parallelism, object.Spec.Completions = &c.spec.Parallelism, c.spec.Completions
	object.Spec.SuccessPolicy, object.Spec.PodFailurePolicy = c.policy, c.spec.PodFailurePolicy
	object.Spec.BackoffLimit, object.Spec.BackoffLimitPerIndex = &c.spec.BackoffLimit, c.spec.BackoffLimitPerIndex
	object.Spec.MaxFailedIndexes = c.spec.MaxFailedIndexes
	object.Spec.Template.Spec.RestartPolicy = c.spec.RestartPolicy
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
	case pod.disowned:
		report.Unexpected = append(report.Unexpected, pod.fact())
	case pod.stuck:
		report.Failures = append(report.Failures, job.PodFailure{UID: pod.uid, Message: "the webhook does not answer"})
	case pod.tracked:
		pod.tracked = false
		c.changed(pod)
	}
}

// write is the API server's answer to a status.
func (c *cluster) write(status batchv1.JobStatus, counted []job.Counted) (refusal string) {
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
	c.status, c.counted, c.byOthers = status, nil, job.ByOthers{}
	for _, pod := range counted {
		if !isFinished(status) && pod.Fate != job.Undecided {
			c.counted = append(c.counted, pod.UID)
		}
	}
	c.writes = append(c.writes, status)
	return ""
}

func isFinished(status batchv1.JobStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed
	})
}

// audited says what the activity sees otherwise than the plan counts it. Pods that were let go and are the Job's again are unseen.
func (c *cluster) audited(plan job.Plan) (unseen []string, why string) {
	if plan.Status == nil {
		return nil, ""
	}
	object, seen, fresh := c.object(), map[string]job.PodFact{}, []job.Counted{}
	for _, counted := range plan.Counted {
		if slices.Contains(c.counted, counted.UID) {
			continue
		}
		fresh = append(fresh, counted)
		pod := c.byUID(counted.UID)
		if pod.gone {
			continue
		}
		fact := pod.fact()
		// The activity would refuse it; here it counts as it did when the workflow last heard of it.
		fact.Disowned, fact.Removed = false, false
		seen[counted.UID] = fact
		deleted := slices.ContainsFunc(plan.Deletes, func(target job.Delete) bool { return target.UID == counted.UID })
		if counted.Shown(object, fact, deleted) {
			continue
		}
		known := find(c.state, counted.UID)
		// One that is being deleted counts for a verdict, and may have ended since in a way that the policy ignores: a list tells.
		unheard := counted.Fate == job.PodFailed && fact.Phase == corev1.PodFailed && known.Phase != corev1.PodFailed
		// One that a status counts which was not taken may end otherwise since, or run on if its delete was not taken either: the State
		// is made anew.
		if !unheard && counted.Fate != job.PodUncounted && known.Fate == job.Undecided {
			return nil, fmt.Sprintf("Pod %+v is %+v", counted, fact)
		}
		unseen = append(unseen, counted.UID)
	}
	// Where a plan was forgotten the object may lack what the State has, such as indexes: the State is made anew then.
	if isFinished(c.status) && sameStatus(c.status, *plan.Status) || c.indexed() || c.ledger != nil && c.ledger.crashed {
		return unseen, ""
	}
	return unseen, cmp.Or(job.Unfounded(object, *plan.Status, fresh, seen), job.Forgotten(object, *plan.Status, fresh, seen))
}

// refutes says what the activity sees otherwise than a verdict has it. The workflow may not have heard that a Pod is gone whose
// container had been restarted, or that one has started at last.
func (c *cluster) refutes(plan job.Plan) (report job.Report, refuted bool) {
	why := ""
	var facts []job.PodFact
	lost := false
	for _, pod := range c.pods {
		if !pod.gone {
			facts = append(facts, pod.fact())
		}
		if known := find(c.state, pod.uid); known != nil && known.Fate == job.Undecided {
			lost = lost || pod.gone && known.Phase == corev1.PodFailed
		}
	}
	if job.Decided(c.object()) {
		return job.Report{}, false
	}
	report.NoReason = job.UnfoundedVerdict(c.object(), *plan.Status, plan.Next.Verdict.Reason, facts, c.now)
	if report.NoReason == "" {
		if report.Unseen, why = c.audited(plan); len(report.Unseen) > 0 {
			return report, true
		}
		if why != "" {
			c.t.Fatalf("what the verdict rests on is refused: %s", why)
		}
		return job.Report{}, false
	}
	restarted := plan.Next.Verdict.Reason == batchv1.JobReasonBackoffLimitExceeded && c.spec.RestartPolicy == corev1.RestartPolicyOnFailure
	// How a Pod failed that was removed by force nothing shows any more: it counts as failed, and by no rule.
	failed := plan.Next.Verdict.Reason == batchv1.JobReasonPodFailurePolicy && lost
	// Where no Pod was deleted for a verdict that was recorded, one that was given up may have started, or the Job was edited.
	if !failed && !restarted && c.state.Verdict == (job.Verdict{}) {
		c.t.Fatalf("the verdict is refused: %s", report.NoReason)
	}
	return report, true
}

// sameStatus reports whether a write changes nothing, so that nothing is said of it.
func sameStatus(a, b batchv1.JobStatus) bool { return describeStatus(a) == describeStatus(b) }
