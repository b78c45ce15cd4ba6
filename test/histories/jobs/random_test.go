package jobs

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
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
	if oneIn(t, 3, "with faults") {
		s.Faults = faults{
			Seed: rapid.Uint64().Draw(t, "seed"), OneIn: rapid.SampledFrom([]int{3, 5, 10}).Draw(t, "one in"), Kinds: rapid.IntRange(1, 3).Draw(t, "kinds"),
		}
		s.Hangs = rapid.SampledFrom([]time.Duration{0, 0, 3 * time.Second, 10 * time.Second}).Draw(t, "hangs")
	}
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		s.Steps = append(s.Steps, drawStep(t, s))
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
		spec.ActiveDeadlineSeconds = ptr.To(rapid.Int64Range(20, 200).Draw(t, "deadline"))
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
		spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{
			SucceededCount: ptr.To(rapid.Int32Range(1, *spec.Completions).Draw(t, "succeededCount")),
		}}}
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
	kinds := []string{"suspend", "resume", "suspend edit", "resume edit", "scale", "ttl", "quota", "outage", "statuses", "webhook", "accept", "accept", "delete", "evict", "anew", "long", "unwatched", "watched", "late"}
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
	case "deadline":
		does = bounded(at, rapid.Int64Range(30, 200).Draw(t, "to"))
	default:
		return step{At: at, Does: kind}
	}
	return does.heard(rapid.SampledFrom([]time.Duration{0, 0, time.Second, 20 * time.Second, -1}).Draw(t, "heard"))
}
