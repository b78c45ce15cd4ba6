package moving_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/moving"
	"ostinato.dev/ostinato/internal/names"
)

// full has every field of a spec of batch/v1.
func full(cronJob *batchv1.CronJob) {
	cronJob.Labels = map[string]string{"team": "billing"}
	cronJob.Annotations = map[string]string{"note": "kept", "kubectl.kubernetes.io/last-applied-configuration": "{}", names.ObservedUIDAnnotation: "x"}
	cronJob.Spec.TimeZone, cronJob.Spec.StartingDeadlineSeconds = ptr.To("Europe/Paris"), ptr.To[int64](7)
	cronJob.Spec.SuccessfulJobsHistoryLimit, cronJob.Spec.FailedJobsHistoryLimit = ptr.To[int32](5), ptr.To[int32](6)
	cronJob.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "busybox"}}
}

func TestAMoveThereAndBackKeepsTheSpec(t *testing.T) {
	from := native(full)
	there := moving.ToOurs(from, at("10:00:00"), at("10:00:09"))
	assert.Equal(t, map[string]string{
		"note": "kept", names.MovedFromAnnotation: "batch/v1/native-uid",
		names.LastScheduleTimeAnnotation: "2026-03-02T10:00:00Z noted 2026-03-02T10:00:09Z",
	}, there.Annotations)
	back, err := moving.ToNative(there, at("10:00:10"))
	assert.NoError(t, err)
	assert.True(t, *back.Spec.Suspend, "it starts when the runs of ours have ended")
	back.Spec.Suspend = ptr.To(false)
	assert.Equal(t, from.Spec, back.Spec)
	assert.Equal(t, from.Labels, back.Labels)
	assert.Equal(t, map[string]string{
		"note": "kept", names.MovedFromAnnotation: "batch.ostinato.dev/v1/", names.SuspendedForMoveAnnotation: "2026-03-02T10:00:10Z",
	}, back.Annotations)
}

func TestWhoHasSuspendedItCounts(t *testing.T) {
	assert.False(t, *moving.ToOurs(native(held), at("10:00:00"), at("10:00:09")).Spec.Suspend, "the move has")
	assert.True(t, *moving.ToOurs(native(suspended), at("10:00:00"), at("10:00:09")).Spec.Suspend, "a person has")
	back, err := moving.ToNative(ours(suspendedOurs), at("10:00:00"))
	assert.NoError(t, err)
	assert.NotContains(t, back.Annotations, names.SuspendedForMoveAnnotation)
}

func TestNoTimeIsNotedOfOneThatNeverRan(t *testing.T) {
	assert.NotContains(t, moving.ToOurs(native(), time.Time{}, at("10:00:09")).Annotations, names.LastScheduleTimeAnnotation)
}

func TestWhatBatchV1DoesNotKnowIsNotLostSilently(t *testing.T) {
	for field, change := range map[string]func(*ostinatov1.CronJobSpec){
		"[catchUp]":               func(spec *ostinatov1.CronJobSpec) { spec.CatchUp = ostinatov1.CatchUpNone },
		"[scheduledTimeVariable]": func(spec *ostinatov1.CronJobSpec) { spec.ScheduledTimeVariable = ptr.To("AT") },
		"[queueLimit concurrencyPolicy Queue]": func(spec *ostinatov1.CronJobSpec) {
			spec.ConcurrencyPolicy, spec.QueueLimit = ostinatov1.QueueConcurrent, ptr.To[int32](3)
		},
		"[maxConcurrent pauseAfterFailures]": func(spec *ostinatov1.CronJobSpec) {
			spec.MaxConcurrent, spec.PauseAfterFailures = ptr.To[int32](3), ptr.To[int32](3)
		},
		"[catchUp catchUpLimit catchUpWindowSec": func(spec *ostinatov1.CronJobSpec) {
			spec.CatchUp, spec.CatchUpLimit, spec.CatchUpWindowSeconds = ostinatov1.CatchUpAll, ptr.To[int32](1), ptr.To[int64](1)
		},
	} {
		_, err := moving.ToNative(ours(func(cronJob *ostinatov1.CronJob) { change(&cronJob.Spec) }), at("10:00:00"))
		assert.ErrorContains(t, err, field)
	}
}

func TestWhatOthersWriteIsTheirsToMove(t *testing.T) {
	for want, meta := range map[string]metav1.ObjectMeta{
		"Helm, release web/shop":                {Annotations: map[string]string{"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "web"}},
		"Helm, release shop":                    {Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "shop"}},
		"Helm, release of an unknown name":      {Labels: map[string]string{"app.kubernetes.io/managed-by": "helm"}},
		"Flux, Kustomization flux-system/apps":  {Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}},
		"Flux, HelmRelease web/shop":            {Labels: map[string]string{"helm.toolkit.fluxcd.io/name": "shop", "helm.toolkit.fluxcd.io/namespace": "web", "app.kubernetes.io/managed-by": "Helm"}},
		"Argo CD, application apps":             {Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "apps:batch/CronJob:shop/report"}},
		"Argo CD, application web":              {Labels: map[string]string{"argocd.argoproj.io/instance": "web"}},
		"Argo CD, as the field manager argocd-": {ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "argocd-controller"}}},
		"Backup, nightly":                       {OwnerReferences: []metav1.OwnerReference{{Kind: "Backup", Name: "nightly", Controller: ptr.To(true)}}},
	} {
		owner := moving.OwnerOf(&meta)
		if assert.NotNil(t, owner, want) {
			assert.Contains(t, owner.Tool+", "+owner.Who, want)
		}
	}
	for name, meta := range map[string]metav1.ObjectMeta{
		"nobody":                            {},
		"another tool that writes no more":  {Labels: map[string]string{"app.kubernetes.io/managed-by": "kustomize"}},
		"an owner that does not control it": {OwnerReferences: []metav1.OwnerReference{{Kind: "Backup", Name: "nightly"}}},
		"a person":                          {ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl-client-side-apply"}}},
		"a status alone":                    {ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "argocd-controller", Subresource: "status"}}},
	} {
		assert.Nil(t, moving.OwnerOf(&meta), name)
	}
}

func TestTheStepsThroughAnOwner(t *testing.T) {
	text := moving.Owner{Tool: "Helm", Who: "release web/shop"}.Steps("shop", "report", false)
	assert.Equal(t, `shop/report is written by Helm, release web/shop, which would write it again. Nothing was changed. Make these changes in the chart's template or its values (helm upgrade), one after the other:
  1. Between the start of a run and 5 s before the next, set spec.suspend: true, and wait until it is in the cluster and no run is active:
     kubectl -n shop get cronjobs.batch report -o jsonpath='{.spec.suspend} {.status.active[*].name}'
  2. Have the last run noted, at most an hour before the new object is in the cluster. If there is no last run, leave it out:
     kubectl -n shop get cronjobs.batch report -o jsonpath="{.status.lastScheduleTime} noted $(date -u +%Y-%m-%dT%H:%M:%SZ)"
     Change apiVersion to batch.ostinato.dev/v1 and spec.suspend to false, and add the annotation ostinato.dev/last-schedule-time with all that this prints.
  3. The tool deletes the old object, with its Jobs. To keep these, take it from the tool before step 2 and delete it after:
     kubectl -n shop delete cronjobs.batch report --cascade=orphan
  4. See that the new one is scheduled: kubectl -n shop get cronjobs.batch.ostinato.dev report
`, text)
	assert.Contains(t, moving.Owner{Tool: "Flux", Who: "Kustomization apps"}.Steps("shop", "report", true), "change apiVersion to batch/v1, and spec.suspend to false")
	assert.Contains(t, moving.Owner{Tool: "Backup", Who: "nightly"}.Steps("shop", "report", false), "Make these changes in Backup nightly")
}

func TestTheDifferenceIsShown(t *testing.T) {
	from := native(full)
	text, err := moving.Diff(from, moving.ToOurs(from, at("10:00:00"), at("10:00:09")))
	assert.NoError(t, err)
	assert.Equal(t, `-apiVersion: batch/v1
+apiVersion: batch.ostinato.dev/v1
 kind: CronJob
 metadata:
   annotations:
-    kubectl.kubernetes.io/last-applied-configuration: '{}'
     note: kept
-    ostinato.dev/observed-uid: x
+    ostinato.dev/last-schedule-time: 2026-03-02T10:00:00Z noted 2026-03-02T10:00:09Z
+    ostinato.dev/moved-from: batch/v1/native-uid
   labels:
     team: billing
`, text)
}

// What somebody else has made long takes no time that grows with its square.
func TestTheDifferenceOfLongManifests(t *testing.T) {
	from := native(full)
	var script []string
	for n := range 20_000 {
		script = append(script, fmt.Sprintf("echo %d", n))
	}
	from.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args = []string{strings.Join(script, "\n")}
	text, err := moving.Diff(from, moving.ToOurs(from, at("10:00:00"), at("10:00:09")))
	assert.NoError(t, err)
	assert.Equal(t, 1, strings.Count(text, "-apiVersion"))
	assert.Less(t, len(text), 1000)
}
