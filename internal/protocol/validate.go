package protocol

import (
	"cmp"
	"errors"
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// maxUID bounds a UID, which is 36 characters where the API server makes it.
const maxUID = 128

// Validate reports whether the reference can be that of an object: anybody who may write to Temporal may have sent it.
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

// Validate reports whether the input is one that the bridge, a CronJob workflow or the run before may send.
func (i JobInput) Validate() error {
	if i.Job.Native {
		return errors.New("job: native marks a CronJob of batch/v1, and nothing else")
	}
	pod := func(made job.CreatedPod) ObjectReference {
		return ObjectReference{Namespace: i.Job.Namespace, Name: made.Name, UID: made.UID}
	}
	return cmp.Or(in("job", i.Job), in("spec", i.Spec), validateEach("pods", i.Pods, job.MaxFirst, pod), validateWishes(i.Wishes),
		in("unknown", i.Unknown), in("state", ptr.Deref(i.State, job.State{})))
}

// Validate reports whether the input is one that the bridge or the run before may send.
func (i CronJobInput) Validate() error {
	run := func(run schedule.Run) ObjectReference {
		return ObjectReference{Namespace: i.CronJob.Namespace, Name: run.Name, UID: run.UID}
	}
	return cmp.Or(in("cronJob", i.CronJob), in("spec", i.Spec), validateEach("looks", i.Looks, MaxLooks, run),
		validateWishes(i.Wishes), validateTriggers(i.Triggers), in("unknown", i.Unknown), in("state", ptr.Deref(i.State, schedule.State{})))
}

func validateTriggers(triggers []schedule.TriggerRequest) error {
	if len(triggers) > schedule.MaxTriggers {
		return fmt.Errorf("triggers: %d, want %d at most", len(triggers), schedule.MaxTriggers)
	}
	for _, trigger := range triggers {
		if mistake := schedule.OverlapMistake(trigger.Overlap); mistake != "" {
			return fmt.Errorf("a trigger's %s", mistake)
		}
		if length := max(len(trigger.Note), len(trigger.By), len(trigger.User), len(trigger.Caller)); length > maxWishText {
			return fmt.Errorf("a trigger has a text of %d bytes, want %d at most", length, maxWishText)
		}
	}
	return nil
}

// in says which part of an input can't be.
func in(field string, part interface{ Validate() error }) error {
	if err := part.Validate(); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

func validateEach[Item any](field string, items []Item, limit int, referenceOf func(Item) ObjectReference) error {
	if len(items) > limit {
		return fmt.Errorf("%s: %d, want %d at most", field, len(items), limit)
	}
	for _, item := range items {
		if err := in(field, referenceOf(item)); err != nil {
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

// Validate reports whether the signal is one that the bridge may send.
func (s JobSpec) Validate() error { return s.Input.Validate() }

// Validate reports whether a Job can have the name and UID.
func (s JobSeen) Validate() error {
	return ObjectReference{Namespace: "any", Name: s.Name, UID: s.UID}.Validate()
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
