package job

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kept "ostinato.dev/ostinato/internal/evidence"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/steering"
)

// Spec holds the fields of a batch/v1 JobSpec that decide when Pods start and when the Job ends. It holds no Pod
// template: what runs is read from the Job object by the activity that creates Pods, never from Temporal.
type Spec struct {
	// Generation is the Job's metadata.generation the other fields were read at.
	Generation int64 `json:"generation"`
	// Parallelism is spec.parallelism, defaulted.
	Parallelism int32 `json:"parallelism"`
	// Completions is spec.completions; nil for a work-queue Job.
	Completions *int32 `json:"completions,omitempty"`
	// CompletionMode is spec.completionMode, defaulted.
	CompletionMode batchv1.CompletionMode `json:"completionMode,omitempty"`
	// BackoffLimit is spec.backoffLimit, defaulted.
	BackoffLimit int32 `json:"backoffLimit"`
	// ActiveDeadlineSeconds is spec.activeDeadlineSeconds.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// Suspend is spec.suspend.
	Suspend bool `json:"suspend,omitempty"`
	// RestartPolicy is spec.template.spec.restartPolicy: Never or OnFailure.
	RestartPolicy corev1.RestartPolicy `json:"restartPolicy,omitempty"`
	// PodReplacementPolicy is spec.podReplacementPolicy, defaulted.
	PodReplacementPolicy batchv1.PodReplacementPolicy `json:"podReplacementPolicy,omitempty"`
	// BackoffLimitPerIndex and MaxFailedIndexes are the fields of an Indexed Job.
	BackoffLimitPerIndex *int32 `json:"backoffLimitPerIndex,omitempty"`
	MaxFailedIndexes     *int32 `json:"maxFailedIndexes,omitempty"`
	// PodFailurePolicy is spec.podFailurePolicy; it names containers, exit codes and Pod conditions.
	PodFailurePolicy *batchv1.PodFailurePolicy `json:"podFailurePolicy,omitempty"`
	// HasSuccessPolicy: an Indexed Job has a spec.successPolicy, which is immutable and stays in the object (MatchedRule).
	HasSuccessPolicy bool `json:"hasSuccessPolicy,omitempty"`
	// ManualSelector is spec.manualSelector: Pods that match may exist before the Job.
	ManualSelector bool `json:"manualSelector,omitempty"`
	// PendingDeadlineSeconds is how long a Pod may wait for its start before its
	// attempt fails (names.PendingDeadlineAnnotation); 0 means for ever.
	PendingDeadlineSeconds int64 `json:"pendingDeadlineSeconds,omitempty"`
	// KeepsSuccesses: evidence is kept of Pods that succeeded, too (names.EvidenceSuccessesAnnotation).
	KeepsSuccesses bool `json:"keepsSuccesses,omitempty"`
	// BackoffBaseSeconds and BackoffCapSeconds bound the delay of Pods after failures; 0: the Job does not say.
	BackoffBaseSeconds int64 `json:"backoffBaseSeconds,omitempty"`
	BackoffCapSeconds  int64 `json:"backoffCapSeconds,omitempty"`
	// Stop says that a person ends the Job (names.StopAnnotation); nil for none.
	Stop *Stop `json:"stop,omitempty"`
	// Mistakes are annotations that can't be read, in words; they are announced once and otherwise count as not given.
	Mistakes []string `json:"mistakes,omitempty"`
	// Defaults are what counts where the Job does not say.
	Defaults Defaults `json:"defaults,omitzero"`
	// Deleting is set when the Job carries a deletionTimestamp: no Pod is
	// created any more, finalizers of all owned Pods are released (parity 2.15).
	Deleting bool `json:"deleting,omitempty"`
}

// SpecOf extracts the Spec of a Job. A field that is nil, as in an object that the API server has
// not stored, has upstream's default (parity 2.1).
func SpecOf(job *batchv1.Job) Spec {
	spec := Spec{
		Generation:            job.Generation,
		Parallelism:           ptr.Deref(job.Spec.Parallelism, 1),
		Completions:           job.Spec.Completions,
		CompletionMode:        ptr.Deref(job.Spec.CompletionMode, batchv1.NonIndexedCompletion),
		BackoffLimit:          ptr.Deref(job.Spec.BackoffLimit, 6),
		ActiveDeadlineSeconds: job.Spec.ActiveDeadlineSeconds,
		Suspend:               ptr.Deref(job.Spec.Suspend, false),
		RestartPolicy:         job.Spec.Template.Spec.RestartPolicy,
		PodReplacementPolicy:  ptr.Deref(job.Spec.PodReplacementPolicy, batchv1.TerminatingOrFailed),
		Deleting:              job.DeletionTimestamp != nil,
		BackoffLimitPerIndex:  job.Spec.BackoffLimitPerIndex,
		MaxFailedIndexes:      job.Spec.MaxFailedIndexes,
		PodFailurePolicy:      job.Spec.PodFailurePolicy,
		HasSuccessPolicy:      job.Spec.SuccessPolicy != nil,
		ManualSelector:        ptr.Deref(job.Spec.ManualSelector, false),
		Stop:                  StopOf(job.Annotations),
	}
	if job.Spec.Parallelism == nil && job.Spec.Completions == nil {
		spec.Completions = ptr.To[int32](1)
	}
	if job.Spec.BackoffLimit == nil && job.Spec.BackoffLimitPerIndex != nil {
		spec.BackoffLimit = math.MaxInt32
	}
	if job.Spec.PodReplacementPolicy == nil && job.Spec.PodFailurePolicy != nil {
		spec.PodReplacementPolicy = batchv1.Failed
	}
	spec.KeepsSuccesses = KeepsSuccesses(job)
	spec.PendingDeadlineSeconds = spec.seconds(job, names.PendingDeadlineAnnotation)
	spec.BackoffBaseSeconds = spec.seconds(job, names.BackoffBaseAnnotation)
	spec.BackoffCapSeconds = spec.seconds(job, names.BackoffCapAnnotation)
	// The readers of the object ask kept.Of and steering.Accepts what these annotations say.
	for _, mistake := range []string{
		kept.Mistake(job.Annotations), kept.Mistake(job.Spec.Template.Annotations), steering.Mistake(job.Annotations),
	} {
		if mistake != "" && !slices.Contains(spec.Mistakes, mistake) {
			spec.Mistakes = append(spec.Mistakes, mistake)
		}
	}
	return spec
}

// KeepsSuccesses reports whether a Job asks for evidence of Pods that succeeded.
func KeepsSuccesses(job *batchv1.Job) bool {
	return job.Annotations[names.EvidenceSuccessesAnnotation] == "true"
}

// Digest returns a short hash of what the Job object says; defaults that are added to
// it (WithDefaults) do not count. Two Specs of one digest prescribe the same.
//
//workflowcheck:ignore encoding/json uses reflection; what it writes is deterministic.
func (s Spec) Digest() string {
	s.Defaults = Defaults{}
	data, err := json.Marshal(plainSpec(s))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// maxAnnotationSeconds bounds the annotations that give a time: ten years.
const maxAnnotationSeconds = 10 * 365 * 24 * 3600

// seconds reads an extension that a Job or its Pod template asks for by annotation; 0 where neither does.
func (s *Spec) seconds(job *batchv1.Job, key string) int64 {
	value, ok := job.Annotations[key]
	if !ok {
		value, ok = job.Spec.Template.Annotations[key]
	}
	if !ok {
		return 0
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || seconds < 1 || seconds > maxAnnotationSeconds {
		s.Mistakes = append(s.Mistakes, fmt.Sprintf("Annotation %s is %.40q: want a whole number of seconds, from 1 to %d", key, value, maxAnnotationSeconds))
		return 0
	}
	return seconds
}

// Defaults apply to Jobs that do not say otherwise by annotation.
type Defaults struct {
	// BackoffBase and BackoffCap bound the delay of Pods after failures; 0 means upstream's.
	BackoffBase time.Duration `json:"backoffBase,omitempty"`
	BackoffCap  time.Duration `json:"backoffCap,omitempty"`
}

// WithDefaults returns the Spec with the defaults where the Job says nothing.
func (s Spec) WithDefaults(defaults Defaults) Spec {
	s.Defaults = defaults
	return s
}

// backoff returns the bounds of the delay of Pods after failures: the Job's, or the defaults. The cap wins.
func (s Spec) backoff() (base, limit time.Duration) {
	return cmp.Or(time.Duration(s.BackoffBaseSeconds)*time.Second, s.Defaults.BackoffBase, DefaultBackoffBase),
		cmp.Or(time.Duration(s.BackoffCapSeconds)*time.Second, s.Defaults.BackoffCap, DefaultBackoffCap)
}
