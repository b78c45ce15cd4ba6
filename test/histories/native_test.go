package histories

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/schedule"
)

// nativeOn is a process's client of CronJobs of batch/v1. The API server stores them in the shape of ours.
type nativeOn struct {
	batchclient.CronJobInterface
	namespace string
	wire      wire
}

func (b batchOn) CronJobs(namespace string) batchclient.CronJobInterface {
	return nativeOn{b.BatchV1Interface.CronJobs(namespace), namespace, b.wire}
}

func (n nativeOn) Get(ctx context.Context, name string, _ metav1.GetOptions) (*batchv1.CronJob, error) {
	to := n.wire.to(n.namespace, name)
	return ask(ctx, to, asked{what: "get cronjobs"}, func() (*batchv1.CronJob, error) {
		c := to.world.cluster
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.lost {
			return nil, errLost
		}
		return nativeOf(c.stored()), nil
	})
}

func (n nativeOn) Patch(ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string) (*batchv1.CronJob, error) {
	what, to := "patch cronjobs", n.wire.to(n.namespace, name)
	if len(subresources) > 0 {
		what = "update cronjobs/" + subresources[0]
	}
	return ask(ctx, to, asked{what: what}, func() (*batchv1.CronJob, error) { return to.world.cluster.patchesNative(data, len(subresources) > 0) })
}

// patchesNative takes a merge patch of a CronJob of batch/v1, or of its status and annotations.
func (c *cluster) patchesNative(patch []byte, ofStatus bool) (*batchv1.CronJob, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.lost {
		return nil, errLost
	}
	if ofStatus && c.meanwhile != nil {
		c.meanwhile()
		c.meanwhile = nil
	}
	before := c.stored()
	native, sent := nativeOf(before), map[string]any{}
	must(json.Unmarshal(patch, &sent))
	metadata := sent["metadata"].(map[string]any)
	if version, guarded := metadata["resourceVersion"]; guarded && version != before.ResourceVersion || metadata["uid"] != string(before.UID) {
		return nil, apierrors.NewConflict(batchv1.Resource("cronjobs"), c.name, errors.New("the object has been modified"))
	}
	encoded, err := json.Marshal(native)
	must(err)
	whole := map[string]any{}
	must(json.Unmarshal(encoded, &whole))
	encoded, err = json.Marshal(merged(whole, sent))
	must(err)
	native = &batchv1.CronJob{}
	must(json.Unmarshal(encoded, native))
	after := storedOf(native)
	if ofStatus {
		after.Spec = before.Spec
	}
	if schedule.SpecOf(after).Suspend != schedule.SpecOf(before).Suspend {
		c.note(taken{what: "steer"})
	}
	if schedule.SpecOf(after).Digest() != schedule.SpecOf(before).Digest() {
		after.Generation++
	}
	c.suspendedBy(before, after, k8s.CronJobFieldManager)
	c.become(after)
	if c.effects++; c.effects == c.loses {
		c.lost = true
		return nil, errLost
	}
	return nativeOf(c.stored()), nil
}

// merged is an object with a merge patch.
func merged(object, patch map[string]any) map[string]any {
	result := maps.Clone(object)
	if result == nil {
		result = map[string]any{}
	}
	for name, value := range patch {
		part, isPart := value.(map[string]any)
		switch {
		case value == nil:
			delete(result, name)
		case isPart:
			before, _ := result[name].(map[string]any)
			result[name] = merged(before, part)
		default:
			result[name] = value
		}
	}
	return result
}

// nativeOf is a CronJob that is stored as batch/v1 has it.
func nativeOf(stored *ostinatov1.CronJob) *batchv1.CronJob {
	spec := stored.Spec
	return &batchv1.CronJob{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}, ObjectMeta: *stored.ObjectMeta.DeepCopy(),
		Spec: batchv1.CronJobSpec{
			Schedule: spec.Schedule, TimeZone: spec.TimeZone, StartingDeadlineSeconds: spec.StartingDeadlineSeconds, ConcurrencyPolicy: spec.ConcurrencyPolicy,
			Suspend: spec.Suspend, JobTemplate: *spec.JobTemplate.DeepCopy(),
			SuccessfulJobsHistoryLimit: spec.SuccessfulJobsHistoryLimit, FailedJobsHistoryLimit: spec.FailedJobsHistoryLimit,
		},
		Status: batchv1.CronJobStatus{
			Active: stored.Status.Active, LastScheduleTime: stored.Status.LastScheduleTime, LastSuccessfulTime: stored.Status.LastSuccessfulTime,
		},
	}
}

// storedOf is the inverse of nativeOf, with what the annotations say in the status.
func storedOf(native *batchv1.CronJob) *ostinatov1.CronJob {
	stored := k8s.FromNative(native)
	stored.TypeMeta = metav1.TypeMeta{APIVersion: ostinatov1.GroupVersion.String(), Kind: ostinatov1.CronJobKind.Kind}
	return stored
}
