package protocol

import (
	"errors"
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

const (
	// maxUID bounds a UID, which is 36 characters where the API server makes it.
	maxUID = 128
)

// Validate reports whether the reference can be that of an object: anybody who may
// write to Temporal may have sent it.
func (r ObjectReference) Validate() error {
	if problems := validation.IsDNS1123Label(r.Namespace); len(problems) > 0 {
		return fmt.Errorf("namespace %.70q: %s", r.Namespace, problems[0])
	}
	if problems := apivalidation.NameIsDNSSubdomain(r.Name, false); len(problems) > 0 {
		return fmt.Errorf("name %.70q: %s", r.Name, problems[0])
	}
	// Pods are found by a label with the UID.
	if r.UID == "" || len(r.UID) > maxUID || len(validation.IsValidLabelValue(r.UID)) > 0 {
		return fmt.Errorf("uid %.70q: want the object's metadata.uid", r.UID)
	}
	return nil
}

// Validate reports whether the input is one that the bridge, a CronJob workflow or the
// run before may send.
func (i JobInput) Validate() error {
	if err := i.Job.Validate(); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	if i.Job.Native {
		return errors.New("job: native says of a CronJob that it is one of batch/v1, and of nothing else")
	}
	if err := i.Spec.Validate(); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	if len(i.Pods) > job.MaxFirst {
		return fmt.Errorf("pods: %d, want %d at most", len(i.Pods), job.MaxFirst)
	}
	for _, pod := range i.Pods {
		if err := (ObjectReference{Namespace: i.Job.Namespace, Name: pod.Name, UID: pod.UID}).Validate(); err != nil {
			return fmt.Errorf("pods: %w", err)
		}
	}
	if err := validateWishes(i.Wishes); err != nil || i.State == nil {
		return err
	}
	if err := i.State.Validate(); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

// Validate reports whether the input is one that the bridge or the run before may send.
func (i CronJobInput) Validate() error {
	if err := i.CronJob.Validate(); err != nil {
		return fmt.Errorf("cronJob: %w", err)
	}
	if err := i.Spec.Validate(); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	if err := i.Heard.validate(i.CronJob.Namespace); err != nil {
		return fmt.Errorf("heard: %w", err)
	}
	if err := validateWishes(i.Wishes); err != nil || i.State == nil {
		return err
	}
	if err := i.State.Validate(); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

// validate reports whether the runs can be looked up.
func (h *CronJobHeard) validate(namespace string) error {
	if h == nil {
		return nil
	}
	if len(h.Runs) > MaxLooks {
		return fmt.Errorf("runs: %d, want %d at most", len(h.Runs), MaxLooks)
	}
	for _, run := range h.Runs {
		if err := (ObjectReference{Namespace: namespace, Name: run.Name, UID: run.UID}).Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Validate reports whether the input names a shard.
func (i PodWatchInput) Validate() error {
	if i.Shards < 1 || i.Shards > names.WatchBuckets || i.Shard < 0 || i.Shard >= i.Shards {
		return fmt.Errorf("watch shard %d of %d: want 0 <= shard < shards <= %d", i.Shard, i.Shards, names.WatchBuckets)
	}
	return nil
}

// Validate reports whether the signal is one that the bridge may send.
func (s CronJobSpec) Validate() error {
	return CronJobInput{CronJob: s.CronJob, Spec: s.Spec}.Validate()
}

// Validate reports whether the signal is one that PodWatch may send.
func (f PodFacts) Validate() error {
	if f.JobUID == "" || len(f.JobUID) > maxUID {
		return errors.New("no Job's uid")
	}
	if len(f.Facts) > MaxFactsPerSignal {
		return fmt.Errorf("%d pods, want %d at most", len(f.Facts), MaxFactsPerSignal)
	}
	return job.ValidateFacts(f.Facts)
}
