package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	kept "ostinato.dev/ostinato/internal/evidence"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/steering"
)

// maxAnnotationSeconds bounds the annotations that give a time: ten years.
const maxAnnotationSeconds = 10 * 365 * 24 * 3600

// readAnnotations reads the extensions that a Job or its Pod template asks for by
// annotation. A time that can't be read counts as not given. Evidence and signals
// are for those who read the object (kept.Of, steering.Accepts); here only what
// is wrong with them is found.
func (s *Spec) readAnnotations(job *batchv1.Job) {
	s.PendingDeadlineSeconds = s.seconds(job, names.PendingDeadlineAnnotation)
	s.BackoffBaseSeconds = s.seconds(job, names.BackoffBaseAnnotation)
	s.BackoffCapSeconds = s.seconds(job, names.BackoffCapAnnotation)
	for _, mistake := range []string{
		kept.Mistake(job.Annotations), kept.Mistake(job.Spec.Template.Annotations), steering.Mistake(job.Annotations),
	} {
		if mistake != "" && !slices.Contains(s.Mistakes, mistake) {
			s.Mistakes = append(s.Mistakes, mistake)
		}
	}
}

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
	// BackoffBase and BackoffCap bound the delay of Pods after failures; 0 means
	// DefaultConfig's.
	BackoffBase time.Duration `json:"backoffBase,omitempty"`
	BackoffCap  time.Duration `json:"backoffCap,omitempty"`
}

// WithDefaults returns the Spec with the defaults where the Job says nothing.
func (s Spec) WithDefaults(defaults Defaults) Spec {
	s.Defaults = defaults
	return s
}

// configure returns the constants with the Job's own, or the defaults, in their
// place. A base beyond the cap is the cap.
func (s Spec) configure(config Config) Config {
	config.BackoffBase = cmp.Or(time.Duration(s.BackoffBaseSeconds)*time.Second, s.Defaults.BackoffBase, config.BackoffBase)
	config.BackoffCap = cmp.Or(time.Duration(s.BackoffCapSeconds)*time.Second, s.Defaults.BackoffCap, config.BackoffCap)
	return config
}
