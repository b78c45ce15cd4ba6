package commands

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
)

// natives gives the world CronJobs of batch/v1, which have run at two, and an API server that keeps what is written.
func natives(named ...string) func(*world) {
	return func(w *world) {
		w.api.keeps, w.api.seen = true, true
		for _, name := range named {
			w.api.natives = append(w.api.natives, batchv1.CronJob{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", CreationTimestamp: at(0, 0),
					Labels: map[string]string{"team": "billing"},
				},
				Spec: batchv1.CronJobSpec{
					Schedule: "0 2 * * *", TimeZone: ptr.To("UTC"), ConcurrencyPolicy: batchv1.ForbidConcurrent, Suspend: ptr.To(false),
					JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
						RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "busybox"}},
					}}}},
				},
				Status: batchv1.CronJobStatus{LastScheduleTime: ptr.To(at(2, 0))},
			})
		}
	}
}

// nightly is a world with one, changed.
func nightly(changes ...func(*world)) func(*world) {
	return func(w *world) {
		natives("nightly")(w)
		for _, change := range changes {
			change(w)
		}
	}
}

// busy gives it a run that does not end.
func busy(w *world) {
	job := jobOf("nightly", "nightly-29540760", at(2, 0), "", "")
	w.api.jobs = append(w.api.jobs, job)
}

func ofHelm(w *world) {
	w.api.natives[0].Annotations = map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}
}

// movedBefore is a move that was done.
func movedBefore(w *world) {
	native := &w.api.natives[0]
	native.Spec.Suspend = ptr.To(true)
	native.Annotations = map[string]string{names.SuspendedForMoveAnnotation: "2026-03-02T09:00:00Z"}
	ours := cronJob("nightly", "0 2 * * *")
	ours.UID, ours.CreationTimestamp = "uid-made", at(9, 0)
	ours.Spec.Suspend, ours.Spec.ConcurrencyPolicy = ptr.To(false), batchv1.ForbidConcurrent
	ours.Annotations = map[string]string{
		names.MovedFromAnnotation: "batch/v1/uid-nightly", names.LastScheduleTimeAnnotation: "2026-03-02T02:00:00Z noted 2026-03-02T09:00:00Z",
	}
	ours.Status = ostinatov1.CronJobStatus{ObservedGeneration: 1, LastScheduleTime: ptr.To(at(2, 0))}
	w.api.cronJobs = append(w.api.cronJobs, ours)
}

// richer gives ours what batch/v1 does not know.
func richer(w *world) { w.api.cronJobs[len(w.api.cronJobs)-1].Spec.CatchUp = ostinatov1.CatchUpNone }

func unseenByOstinato(w *world) { w.api.seen = false }

func refusing(what string) func(*world) {
	return func(w *world) { w.api.refuse = forbidden(what) }
}

// keep answers requests for CronJobs of both kinds from what it has, and keeps what they write. It reports whether it did.
func (s *apiServer) keep(w http.ResponseWriter, r *http.Request, wanted request, body []byte) bool {
	if !strings.HasPrefix(wanted.resource, "cronjobs") {
		return false
	}
	native := wanted.resource == "cronjobs.batch"
	named := func(meta metav1.ObjectMeta) bool { return meta.Name == wanted.name }
	n := slices.IndexFunc(s.cronJobs, func(cronJob ostinatov1.CronJob) bool { return named(cronJob.ObjectMeta) })
	if native {
		n = slices.IndexFunc(s.natives, func(cronJob batchv1.CronJob) bool { return named(cronJob.ObjectMeta) })
	}
	switch {
	case wanted.verb == "list" && native:
		write(w, http.StatusOK, &batchv1.CronJobList{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJobList"}, Items: s.natives})
		return true
	case wanted.verb == "list":
		return false
	case wanted.verb == "create":
		s.create(w, r, native, body)
		return true
	case n < 0:
		notFound(w, wanted)
		return true
	case wanted.verb == "patch" && native:
		s.patches = append(s.patches, string(body))
		merge(&s.natives[n], body)
	case wanted.verb == "patch":
		s.patches = append(s.patches, string(body))
		merge(&s.cronJobs[n], body)
	case wanted.verb == "delete":
		s.deleted = append(s.deleted, wanted.resource+" "+string(body))
		if native {
			s.natives = slices.Delete(s.natives, n, n+1)
		} else {
			s.cronJobs = slices.Delete(s.cronJobs, n, n+1)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
		return true
	}
	if native {
		found := s.natives[n]
		found.APIVersion, found.Kind = "batch/v1", "CronJob"
		write(w, http.StatusOK, &found)
	} else {
		found := s.cronJobs[n]
		found.APIVersion, found.Kind = "batch.ostinato.dev/v1", "CronJob"
		write(w, http.StatusOK, &found)
	}
	return true
}

func (s *apiServer) create(w http.ResponseWriter, r *http.Request, native bool, body []byte) {
	dryRun := r.URL.Query().Get("dryRun") != ""
	if native {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			write(w, http.StatusBadRequest, &metav1.Status{Message: err.Error()})
			return
		}
		made := object.(*batchv1.CronJob)
		made.UID, made.ResourceVersion, made.CreationTimestamp = types.UID("new-"+made.Name), "1", metav1.NewTime(now)
		made.APIVersion, made.Kind = "batch/v1", "CronJob"
		if !dryRun {
			s.natives = append(s.natives, *made)
		}
		write(w, http.StatusCreated, made)
		return
	}
	var made ostinatov1.CronJob
	if err := json.Unmarshal(body, &made); err != nil {
		write(w, http.StatusBadRequest, &metav1.Status{Message: err.Error()})
		return
	}
	made.UID, made.ResourceVersion, made.Generation, made.CreationTimestamp = types.UID("new-"+made.Name), "1", 1, metav1.NewTime(now)
	if s.seen {
		made.Status.ObservedGeneration = 1
	}
	made.APIVersion, made.Kind = "batch.ostinato.dev/v1", "CronJob"
	if !dryRun {
		s.cronJobs = append(s.cronJobs, made)
	}
	write(w, http.StatusCreated, &made)
}

// merge applies a JSON merge patch.
func merge[T any](object *T, patch []byte) {
	var known, change map[string]any
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err == nil {
		err = json.Unmarshal(patch, &change)
	}
	if err != nil {
		panic(err)
	}
	mergeInto(known, change)
	text, err = json.Marshal(known)
	var merged T
	if err == nil {
		err = json.Unmarshal(text, &merged)
	}
	if err != nil {
		panic(err)
	}
	*object = merged
}

func mergeInto(known, change map[string]any) {
	for key, value := range change {
		inner, isMap := value.(map[string]any)
		before, wasMap := known[key].(map[string]any)
		switch {
		case value == nil:
			delete(known, key)
		case isMap && wasMap:
			mergeInto(before, inner)
		case isMap:
			known[key] = map[string]any{}
			mergeInto(known[key].(map[string]any), inner)
		default:
			known[key] = value
		}
	}
}

var moveScenes = []scene{
	{row: "move NAME", given: nightly(), arguments: "move nightly"},
	{row: "move NAME", given: nightly(), arguments: "move nightly --yes"},
	{row: "move NAME", given: nightly(), arguments: "move nightly --yes --delete"},
	{row: "move NAME", given: nightly(), arguments: "move nightly --dry-run"},
	{row: "move NAME", given: nightly(), arguments: "move -f testdata/native.yaml --yes"},
	{row: "move NAME", given: nightly(busy), arguments: "move nightly --yes --timeout 100ms"},
	{row: "move NAME", given: nightly(unseenByOstinato), arguments: "move nightly --yes --timeout 100ms"},
	{row: "move NAME", given: nightly(ofHelm), arguments: "move nightly --yes"},
	{row: "move NAME", given: nightly(movedBefore), arguments: "move nightly --yes"},
	{row: "move NAME", given: nightly(), arguments: "move nobody --yes"},
	{row: "move NAME", given: nightly(refusing("create cronjobs")), arguments: "move nightly --yes"},
	{row: "move NAME", given: nightly(refusing("patch cronjobs.batch")), arguments: "move nightly --yes"},
	{row: "move", given: natives("a", "b", "c", "d"), arguments: "move --all --yes"},
	{row: "move", given: natives("a"), arguments: "move --all --yes"},
	{row: "move", given: natives(), arguments: "move -l team=none"},
	{row: "move --undo NAME", given: nightly(movedBefore), arguments: "move nightly --undo --yes"},
	{row: "move --undo NAME", given: nightly(movedBefore), arguments: "move nightly --undo --yes --delete"},
	{row: "move --undo NAME", given: nightly(movedBefore, richer), arguments: "move nightly --undo --yes"},
	{arguments: "move"},
	{arguments: "move nightly --all"},
	{arguments: "move nightly -A"},
	{arguments: "move -f -"},
	{arguments: "move nightly --timeout 0s"},
}

func TestAMoveWritesWhatItSays(t *testing.T) {
	w := newWorld(t)
	nightly()(w)
	_, _, code := w.run(t, "move", "nightly", "--yes", "--delete")
	assert.Zero(t, code)
	require.Len(t, w.api.patches, 1)
	assert.JSONEq(t, `{"metadata": {"uid": "uid-nightly", "resourceVersion": "7", "annotations": {"`+names.SuspendedForMoveAnnotation+`": "2026-03-02T09:30:00Z"}},
		"spec": {"suspend": true}}`, w.api.patches[0])
	ours := w.api.cronJobs[len(w.api.cronJobs)-1]
	assert.Equal(t, map[string]string{
		names.MovedFromAnnotation: "batch/v1/uid-nightly", names.LastScheduleTimeAnnotation: "2026-03-02T02:00:00Z noted 2026-03-02T09:30:00Z",
	}, ours.Annotations)
	assert.False(t, *ours.Spec.Suspend)
	assert.Empty(t, w.api.natives)
	require.Len(t, w.api.deleted, 1)
	assert.Contains(t, w.api.deleted[0], "Orphan", "its Jobs stay")
}

func TestAMoveBackSaysWhoSuspended(t *testing.T) {
	w := newWorld(t)
	nightly(movedBefore)(w)
	_, _, code := w.run(t, "move", "nightly", "--undo", "--yes", "--by", "ada")
	assert.Zero(t, code)
	ours := w.api.cronJobs[len(w.api.cronJobs)-1]
	assert.True(t, *ours.Spec.Suspend)
	assert.Equal(t, "ada", ours.Annotations[names.SuspendedByAnnotation])
	assert.Equal(t, "moved to batch/v1", ours.Annotations[names.SuspendNoteAnnotation])
	native := w.api.natives[0]
	assert.False(t, *native.Spec.Suspend)
	assert.Equal(t, map[string]string{names.MovedFromAnnotation: "batch.ostinato.dev/v1/uid-made"}, native.Annotations)
}

// A move goes there and back, and there again, and ends as it says each time.
func TestMovesThereAndBack(t *testing.T) {
	w := newWorld(t)
	nightly()(w)
	for _, undo := range []bool{false, true, false, true} {
		arguments := []string{"move", "nightly", "--yes"}
		if undo {
			arguments = append(arguments, "--undo")
		}
		_, complaints, code := w.run(t, arguments...)
		require.Zero(t, code, complaints)
		ours := w.api.cronJobs[len(w.api.cronJobs)-1]
		assert.Equal(t, undo, *ours.Spec.Suspend)
		assert.Equal(t, !undo, *w.api.natives[0].Spec.Suspend)
		assert.Len(t, w.api.natives, 1)
	}
}

// What fails in the middle says where it stands, and the same command goes on from there; so does the way back.
func TestAMoveThatFailedInTheMiddle(t *testing.T) {
	for name, again := range map[string][]string{
		"again": {"move", "nightly", "--yes"},
		"back":  {"move", "nightly", "--yes", "--undo"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			nightly()(w)
			creates := 0
			w.api.refuse = func(asked string) *metav1.Status {
				if asked != "create cronjobs" {
					return nil
				}
				if creates++; creates == 1 {
					return nil // the dry run
				}
				return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no quota"}
			}
			_, complaints, code := w.run(t, "move", "nightly", "--yes")
			assert.Equal(t, 1, code)
			assert.Contains(t, complaints, "no quota; it is suspended and nothing runs it: run the command again to go on, or with --undo to go back")
			assert.True(t, *w.api.natives[0].Spec.Suspend)

			w.api.refuse = nil
			_, complaints, code = w.run(t, again...)
			require.Zero(t, code, complaints)
			assert.Equal(t, name == "again", *w.api.natives[0].Spec.Suspend, "one of the two runs")
		})
	}
}

// Whoever has edited the object in between is not overwritten: the move looks again.
func TestAMoveLooksAgainAfterAConflict(t *testing.T) {
	w := newWorld(t)
	nightly()(w)
	conflicts := 0
	w.api.refuse = func(asked string) *metav1.Status {
		if conflicts++; asked == "patch cronjobs.batch" && conflicts < 20 {
			return &metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: "it was modified"}
		}
		return nil
	}
	_, complaints, code := w.run(t, "move", "nightly", "--yes")
	assert.Zero(t, code, complaints)
}

// A signal that interrupts the command leaves no CronJob that nobody runs on the way back.
func TestTheNextTimeIsNotLostOnTheWayBack(t *testing.T) {
	w := newWorld(t)
	nightly(movedBefore)(w)
	w.api.natives = nil
	w.api.cronJobs[len(w.api.cronJobs)-1].Spec.Suspend = ptr.To(true)
	w.api.cronJobs[len(w.api.cronJobs)-1].Annotations[names.SuspendedForMoveAnnotation] = now.Add(-8 * time.Hour).Format(time.RFC3339)
	stdout, complaints, code := w.run(t, "move", "nightly", "--undo", "--yes", "--timeout", "5s")
	assert.Zero(t, code, complaints)
	assert.Contains(t, stdout, "shop/nightly the one of batch.ostinato.dev/v1 is resumed: 2026-03-02T02:00:00Z came meanwhile, and it is to run it")
}
