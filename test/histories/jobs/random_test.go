package jobs

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
)

// drawn is the name of what is drawn.
const drawn = "random"

// drawScenario draws what happens to a Job.
func drawScenario(t *rapid.T) scenario {
	s := scenario{
		Name: drawn, Spec: drawSpec(t),
		Lasts:   time.Duration(rapid.IntRange(60, 300).Draw(t, "seconds")) * time.Second,
		Courses: rapid.SliceOfN(rapid.Custom(drawCourse), 1, 8).Draw(t, "courses"),
	}
	s.Watched = rapid.SampledFrom([]time.Duration{0, time.Millisecond, 40 * time.Millisecond, 900 * time.Millisecond, 4 * time.Second}).Draw(t, "watched")
	s.Starts = rapid.SampledFrom([]time.Duration{0, 0, time.Second, 4 * time.Second, -1}).Draw(t, "starts")
	if mended("3") {
		s.Lists = rapid.SampledFrom([]time.Duration{0, 0, 1300 * time.Millisecond}).Draw(t, "lists")
	}
	if oneIn(t, 3, "with short plans") {
		s.Cut = rapid.IntRange(1, 3).Draw(t, "Pods of a plan")
	}
	if oneIn(t, 3, "with faults") {
		s.Faults = faults{
			Seed: rapid.Uint64().Draw(t, "seed"), OneIn: rapid.SampledFrom([]int{3, 5, 10}).Draw(t, "one in"), Kinds: rapid.IntRange(1, 3).Draw(t, "kinds"),
		}
		s.Hangs = rapid.SampledFrom([]time.Duration{0, 0, 3 * time.Second, 10 * time.Second}).Draw(t, "hangs")
	}
	if oneIn(t, 4, "with an outage amid the writes") {
		s.Faults.First, s.Faults.Many = rapid.IntRange(2, 12).Draw(t, "first write"), rapid.IntRange(1, 40).Draw(t, "writes")
	}
	if oneIn(t, 8, "without rights at first") {
		until := time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second
		s.Steps = append(s.Steps, step{Does: "rights"}, step{At: min(until, s.Lasts-2*time.Second), Does: "accept"})
	}
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		s.Steps = append(s.Steps, drawStep(t, s))
	}
	if oneIn(t, 3, "with a stop") {
		s.Steps = append(s.Steps, drawStop(t, s)...)
	}
	if oneIn(t, 4, "lies about an end") {
		s.Steps = append(s.Steps, drawLies(t, s)...)
	}
	if oneIn(t, 3, "with forged requests") {
		s.Steps = append(s.Steps, drawForgeries(t, s)...)
	}
	return s
}

func oneIn(t *rapid.T, n int, what string) bool { return rapid.IntRange(1, n).Draw(t, what) == n }

func drawSpec(t *rapid.T) batchv1.JobSpec {
	spec := batchv1.JobSpec{
		Parallelism:  ptr.To(rapid.SampledFrom([]int32{1, 2, 2, 3, 4, 6, 12}).Draw(t, "parallelism")),
		BackoffLimit: ptr.To(rapid.SampledFrom([]int32{0, 1, 2, 6, 6}).Draw(t, "backoffLimit")),
	}
	if !oneIn(t, 5, "work queue") {
		spec.Completions = ptr.To(rapid.Int32Range(1, 8).Draw(t, "completions"))
	}
	if mended("6") && oneIn(t, 6, "with a deadline") {
		spec.ActiveDeadlineSeconds = ptr.To(rapid.Int64Range(5, 200).Draw(t, "deadline"))
	}
	if rapid.Bool().Draw(t, "indexed") {
		drawIndexed(t, &spec)
	}
	if oneIn(t, 3, "with a failure policy") {
		spec.PodReplacementPolicy = ptr.To(batchv1.Failed)
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
		for range rapid.IntRange(1, 2).Draw(t, "rules") {
			spec.PodFailurePolicy.Rules = append(spec.PodFailurePolicy.Rules, drawRule(t, spec.BackoffLimitPerIndex != nil))
		}
	} else if oneIn(t, 3, "replaces ended Pods") {
		spec.PodReplacementPolicy = ptr.To(batchv1.Failed)
	}
	return spec
}

func drawIndexed(t *rapid.T, spec *batchv1.JobSpec) {
	spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	if spec.Completions == nil || oneIn(t, 3, "elastic") {
		spec.Completions = ptr.To(*spec.Parallelism)
	}
	if rapid.Bool().Draw(t, "per index") {
		spec.BackoffLimit, spec.BackoffLimitPerIndex = nil, ptr.To(rapid.Int32Range(0, 2).Draw(t, "backoffLimitPerIndex"))
		if rapid.Bool().Draw(t, "limit of failed indexes") {
			spec.MaxFailedIndexes = ptr.To(rapid.Int32Range(0, *spec.Completions).Draw(t, "maxFailedIndexes"))
		}
	}
	if mended("6") && oneIn(t, 4, "with a success policy") {
		rule := batchv1.SuccessPolicyRule{SucceededCount: ptr.To(rapid.Int32Range(1, *spec.Completions).Draw(t, "succeededCount"))}
		if rapid.Bool().Draw(t, "by index") {
			rule = batchv1.SuccessPolicyRule{SucceededIndexes: ptr.To(strconv.Itoa(rapid.IntRange(0, int(*spec.Completions)-1).Draw(t, "succeededIndexes")))}
		}
		spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{rule}}
	}
}

func drawRule(t *rapid.T, perIndex bool) batchv1.PodFailurePolicyRule {
	if oneIn(t, 4, "by condition") {
		return batchv1.PodFailurePolicyRule{
			Action:          batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
		}
	}
	actions, codes := []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount}, []int32{42, 42, 1}
	if perIndex {
		actions = append(actions, batchv1.PodFailurePolicyActionFailIndex)
	}
	if mended("6") {
		actions, codes = append(actions, batchv1.PodFailurePolicyActionFailJob), append(codes, terminated)
	}
	rule := failsBy(rapid.SampledFrom(codes).Draw(t, "exit code")).Rules[0]
	rule.Action = rapid.SampledFrom(actions).Draw(t, "action")
	return rule
}

func drawCourse(t *rapid.T) course {
	seconds := func(from ...int) time.Duration {
		return time.Duration(rapid.SampledFrom(from).Draw(t, "seconds")) * time.Second
	}
	return course{
		Takes: seconds(3, 8, 9, 20, 45, 90, 200), Grace: seconds(0, 2, 2, 12),
		Exit: rapid.SampledFrom([]int32{0, 0, 0, 1, 1, 42}).Draw(t, "exit"),
	}
}

// drawStep draws what somebody does, often when a Pod ends.
func drawStep(t *rapid.T, s scenario) step {
	at := time.Duration(rapid.IntRange(0, int(s.Lasts/time.Second)-30).Draw(t, "at")) * time.Second
	if rapid.Bool().Draw(t, "when a Pod ends") {
		at = startsAfter + rapid.SampledFrom(s.Courses).Draw(t, "of the course").Takes + time.Duration(rapid.IntRange(0, 2).Draw(t, "later"))*500*time.Millisecond
	}
	at = min(at, s.Lasts-2*time.Second)
	kinds := []string{"suspend", "resume", "suspend edit", "resume edit", "scale", "ttl", "quota", "outage", "statuses", "webhook", "accept", "accept", "delete", "evict", "anew", "long", "unwatched", "watched", "late", "deaf", "lie", "lie"}
	if mended("8") && mended("14") {
		kinds = append(kinds, "protect")
	}
	if mended("6") {
		kinds = append(kinds, "deadline")
	}
	var does step
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "suspend edit":
		does = suspending(at)
	case "resume edit":
		does = resuming(at)
	case "scale":
		to := rapid.Int32Range(0, 5).Draw(t, "to")
		does = scaled(at, to)
		if s.Spec.CompletionMode != nil && *s.Spec.Completions == *s.Spec.Parallelism && s.Spec.SuccessPolicy == nil && s.Spec.MaxFailedIndexes == nil && to > 0 {
			does = elastic(at, to)
		}
	case "ttl":
		does = kept(at, rapid.Int32Range(100, 200).Draw(t, "ttl"))
	case "late":
		if s.Watched > 0 && rapid.Bool().Draw(t, "of the first Pods") {
			at = 0
		}
		return step{At: at, Does: kind}
	case "lie":
		return step{At: at, Does: kind, Lie: rapid.SampledFrom(lies).Draw(t, "lie"), Of: rapid.IntRange(-1, 3).Draw(t, "of")}
	case "deadline":
		does = bounded(at, rapid.Int64Range(5, 200).Draw(t, "to"))
	default:
		return step{At: at, Does: kind}
	}
	return does.heard(rapid.SampledFrom([]time.Duration{0, 0, time.Second, 20 * time.Second, -1}).Draw(t, "heard"))
}

// drawStop draws that a person stops the Job, often when it begins or a Pod ends, and maybe takes that back.
func drawStop(t *rapid.T, s scenario) (steps []step) {
	at := time.Duration(rapid.IntRange(0, int(s.Lasts/time.Second)-30).Draw(t, "at")) * time.Second
	switch rapid.SampledFrom([]string{"any time", "the beginning", "the end of a Pod"}).Draw(t, "stopped at") {
	case "the beginning":
		at = time.Duration(rapid.IntRange(0, 10).Draw(t, "later")) * 500 * time.Millisecond
	case "the end of a Pod":
		at = startsAfter + rapid.SampledFrom(s.Courses).Draw(t, "of the course").Takes + time.Duration(rapid.IntRange(0, 2).Draw(t, "later"))*500*time.Millisecond
	}
	at = min(at, s.Lasts-10*time.Second)
	if rapid.Bool().Draw(t, "by signal") {
		return []step{{At: at, Does: "stop"}}
	}
	heard := rapid.SampledFrom([]time.Duration{0, 0, time.Second, 20 * time.Second, -1})
	steps = append(steps, stopped(at).heard(heard.Draw(t, "heard")))
	if oneIn(t, 3, "takes it back") {
		back := step{At: at + time.Duration(rapid.IntRange(0, 16).Draw(t, "takes"))*500*time.Millisecond, Does: "go on"}
		steps = append(steps, back.heard(heard.Draw(t, "heard")))
	}
	return steps
}

// drawLies draws what a stranger says of Pods that have ended, while these are not heard of, counted or released.
func drawLies(t *rapid.T, s scenario) (steps []step) {
	hinders := rapid.SampledFrom([][2]string{{"unwatched", "watched"}, {"statuses", "accept"}, {"webhook", "accept"}}).Draw(t, "hinders")
	ends := min(startsAfter+rapid.SampledFrom(s.Courses).Draw(t, "of the course").Takes, s.Lasts-20*time.Second)
	at := ends
	for range rapid.IntRange(1, 3).Draw(t, "lies") {
		at += time.Duration(rapid.IntRange(1, 8).Draw(t, "later")) * 500 * time.Millisecond
		steps = append(steps, step{At: at, Does: "lie", Lie: rapid.SampledFrom(lies).Draw(t, "lie"), Of: rapid.IntRange(0, 3).Draw(t, "of")})
	}
	return append(steps, step{At: ends - time.Second, Does: hinders[0]}, step{At: at + time.Second, Does: hinders[1]})
}

// lies are what a stranger may say of a Pod.
var lies = []job.PodFact{
	{Phase: corev1.PodSucceeded}, {Phase: corev1.PodSucceeded, Tracked: true, Version: 1 << 40}, failing(1), failing(42), longAgo(failing(42)), failing(terminated),
	{Phase: corev1.PodRunning}, {Phase: corev1.PodRunning, Restarts: 70, Tracked: true}, {Gone: true}, {Gone: true, Removed: true}, {Gone: true, Phase: corev1.PodSucceeded},
	{Deleting: true, Phase: corev1.PodRunning, Tracked: true}, {Deleting: true, Removed: true}, {Deleting: true, Conditions: []string{"DisruptionTarget=True"}},
	{Removed: true}, {Disowned: true}, {Disowned: true, Gone: true}, {Finished: time.Date(9998, 1, 1, 0, 0, 0, 0, time.UTC), Deleting: true},
}

// failing is what is said of a Pod whose container has failed.
func failing(code int32) job.PodFact {
	return job.PodFact{Phase: corev1.PodFailed, ExitCode: code, Exits: []job.Exit{{Container: "main", Code: code}}, Tracked: true}
}

// longAgo is the fact of a Pod that finished then, so that no back-off is left.
func longAgo(fact job.PodFact) job.PodFact {
	fact.Finished = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	return fact
}
