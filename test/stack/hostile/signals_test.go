package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// held bounds the end of a Job whose Pod is let go or runs for some seconds, with the attacks of other tests beside it.
const held = 60 * time.Second

// forgery is a signal as an attacker sends it.
type forgery struct {
	name     string
	argument any
}

// garbage is sent under the name of every signal.
func garbage() map[string]any {
	return map[string]any{
		"nothing":       nil,
		"a number":      7,
		"a list":        []any{map[string]any{}, "x", nil},
		"other types":   map[string]any{"input": "x", "job": []int{1}, "uid": 7, "cronJob": 7, "spec": "x", "pods": "x", "note": []int{1}, "cronJobUID": nil, "result": "x"},
		"nested deeply": json.RawMessage(strings.Repeat("[", 9000) + strings.Repeat("]", 9000)),
		"many elements": map[string]any{"pods": json.RawMessage("[" + strings.Repeat("{},", 200_000) + "{}]")},
		"a long text":   strings.Repeat("x", 1<<20),
	}
}

func forge(t *testing.T, workflowID string, signals map[string]forgery) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(signals)) {
		signal := signals[what]
		if err := stack.Temporal.SignalWorkflow(t.Context(), workflowID, "", signal.name, signal.argument); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// TestForgedSignalsDontChangeWhatAJobIs: they are reasons to look, and what is seen
// counts.
func TestForgedSignalsDontChangeWhatAJobIs(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	others := newBystanders(t, namespace)
	sibling := victim(t, namespace, "sibling")
	ours := victim(t, namespace, "ours", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	pods, err := stack.PodsOf(t.Context(), namespace, ours.Name)
	if err != nil {
		t.Fatal(err)
	}
	own, reference := pods[0], referenceTo(ours)
	spec := job.SpecOf(ours)
	signals := map[string]forgery{}
	edited := func(what string, change func(*protocol.JobInput)) {
		input := protocol.JobInput{Job: reference, Spec: spec}
		change(&input)
		signals["a spec: "+what] = forgery{protocol.JobSpecSignal, protocol.JobSpec{Input: input}}
	}
	edited("more Pods", func(input *protocol.JobInput) { input.Spec.Parallelism = 50 })
	edited("suspended, of a later generation", func(input *protocol.JobInput) { input.Spec.Suspend, input.Spec.Generation = true, 99 })
	edited("being deleted, of an earlier one", func(input *protocol.JobInput) { input.Spec.Deleting, input.Spec.Generation = true, 0 })
	edited("of a successor", func(input *protocol.JobInput) { input.Job.UID = "00000000-0000-0000-0000-000000000000" })
	edited("of a sibling", func(input *protocol.JobInput) { input.Job = referenceTo(sibling) })
	edited("of no uid", func(input *protocol.JobInput) { input.Job.UID = "" })
	edited("of a native one", func(input *protocol.JobInput) { input.Job.Native = true })
	edited("negative", func(input *protocol.JobInput) { input.Spec.Parallelism = -1 })
	// It may hold up the Job's end, once, for as long as a create may take.
	edited("whose Pods may land", func(input *protocol.JobInput) { input.Late = true })
	edited("with a state", func(input *protocol.JobInput) { input.State = &job.State{Succeeded: 1, Attempts: 1 << 40} })
	facts := func(what, uid string, facts ...job.PodFact) {
		signals["facts: "+what] = forgery{protocol.PodsSignal, protocol.PodFacts{JobUID: uid, Facts: facts}}
	}
	for what, pod := range others.pods {
		facts("of "+what+" Pod, for another Job", "another-uid", job.PodFact{Name: pod.Name, UID: string(pod.UID), Phase: corev1.PodFailed, Tracked: true})
		facts("of "+what+" Pod", reference.UID, job.PodFact{Name: pod.Name, UID: string(pod.UID), Phase: corev1.PodRunning, Tracked: true, Deleting: true})
	}
	facts("of a Pod that is not", reference.UID, job.PodFact{Name: "web", UID: "web-uid", Phase: corev1.PodRunning, Tracked: true})
	facts("of a Pod without a uid", reference.UID, job.PodFact{Name: own.Name, Phase: corev1.PodRunning})
	facts("of no Job", "")
	facts("negative", reference.UID, job.PodFact{Name: own.Name, UID: string(own.UID), Index: ptr.To(int32(-1)), Phase: corev1.PodSucceeded})
	facts("too many", reference.UID, make([]job.PodFact, 2*protocol.MaxFactsPerSignal)...)
	signals["numbers that differ"] = forgery{protocol.PodsSignal, protocol.PodFacts{JobUID: reference.UID, Differ: true}}
	signals["deleted"] = forgery{protocol.DeletedSignal, protocol.Deleted{UID: reference.UID}}
	signals["deleted, another"] = forgery{protocol.DeletedSignal, protocol.Deleted{UID: "another-uid"}}
	signals["a run seen"] = forgery{protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: reference.UID, Name: ours.Name}}
	signals["a trigger"] = forgery{protocol.TriggerSignal, nil}
	// The worker takes no stop by signal unless it is told to, and the Pod runs on.
	signals["a stop"] = forgery{protocol.StopSignal, protocol.SignalNote{By: "its owner"}}
	signals["none of ours"] = forgery{"reboot", "now"}
	for what, argument := range garbage() {
		for _, name := range []string{protocol.JobSpecSignal, protocol.PodsSignal, protocol.DeletedSignal} {
			signals[name+": "+what] = forgery{name, argument}
		}
	}
	forge(t, harness.JobWorkflow(namespace, ours.Name), signals)
	letGo := time.Now()
	stack.LetGo(t, namespace, ours.Name, 0)
	harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, ours.Name, batchv1.JobComplete) })
	found, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), ours.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found.Status.Succeeded != 1 || found.Generation != ours.Generation || *found.Spec.Parallelism != 1 {
		t.Errorf("generation %d, status %+v", found.Generation, found.Status)
	}
	if ended := found.Status.CompletionTime; ended.Time.Before(letGo.Truncate(time.Second)) {
		t.Errorf("the Job was Complete at %s, and its Pod ran until %s", ended, letGo)
	}
	if err := stack.PodsAre(t.Context(), namespace, ours.Name, corev1.PodSucceeded, 1); err != nil {
		t.Error(err)
	}
	if err := stack.PodsAre(t.Context(), namespace, sibling.Name, corev1.PodRunning, 1); err != nil {
		t.Error(err)
	}
	others.wantUnchanged(t)
}

// TestGarbageStillSuspendsAndResumes: these two are for people, who may say anything.
func TestGarbageStillSuspendsAndResumes(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	ours := victim(t, namespace, "ours", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	workflowID := harness.JobWorkflow(namespace, ours.Name)
	for _, what := range slices.Sorted(maps.Keys(garbage())) {
		argument := garbage()[what]
		forge(t, workflowID, map[string]forgery{"1": {protocol.SuspendSignal, argument}, "2": {protocol.ResumeSignal, argument}})
	}
	const last = "that was all"
	forge(t, workflowID, map[string]forgery{"1": {protocol.SuspendSignal, nil}, "2": {protocol.ResumeSignal, protocol.SignalNote{Note: last}}})
	harness.Eventually(t, held, func(ctx context.Context) error {
		found, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, ours.Name, metav1.GetOptions{})
		if err == nil && found.Annotations[names.SuspendNoteAnnotation] != last {
			err = fmt.Errorf("the last resume is not taken yet: %v", found.Annotations)
		}
		if err != nil {
			return err
		}
		return stack.PodsAre(ctx, namespace, ours.Name, corev1.PodRunning, 1)
	})
	stack.LetGo(t, namespace, ours.Name, 0)
	harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, ours.Name, batchv1.JobComplete) })
	found, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), ours.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found.Status.Succeeded != 1 || found.Spec.Suspend == nil || *found.Spec.Suspend {
		t.Errorf("suspend %v, status %+v", found.Spec.Suspend, found.Status)
	}
	for key, value := range found.Annotations {
		if len(value) > 1024 {
			t.Errorf("annotation %s has %d bytes", key, len(value))
		}
	}
}

// TestForgedStatusIsOverwritten: neither ends nor Pods are made up, and where an attacker writes that there are fewer Pods, the watch has the
// status written again.
func TestForgedStatusIsOverwritten(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	attacker := newAttacker(t)
	ours := victim(t, namespace, "ours", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	jobs := stack.Kubernetes.BatchV1().Jobs(namespace)
	before, err := jobs.Get(t.Context(), ours.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Another startTime would be refused, and nothing forged.
	forged := batchv1.JobStatus{StartTime: before.Status.StartTime, Active: 7, Failed: 3}
	given := tells[protocol.JobResult](t, attacker.ask(t, protocol.CarryOutActivity, protocol.JobRequest{
		Job: referenceTo(ours), Digest: digestOf(ours), Status: &forged, Counted: []job.Counted{{Name: "a", UID: "a", Fate: job.PodFailed}, {Name: "b", UID: "b", Fate: job.PodSucceeded}},
	}))
	if found, err := jobs.Get(t.Context(), ours.Name, metav1.GetOptions{}); err != nil || found.Status.Failed != 0 || len(given.Unseen) == 0 {
		t.Fatalf("counts were forged: status %+v, error %v, answer %+v", found.Status, err, given)
	}
	forged.Failed = 0
	for active, refused := range map[int32]bool{7: true, 0: false} {
		forged.Active = active
		given = tells[protocol.JobResult](t, attacker.ask(t, protocol.CarryOutActivity, protocol.JobRequest{Job: referenceTo(ours), Digest: digestOf(ours), Status: &forged}))
		if (given.Unfounded != "") != refused {
			t.Fatalf("%d active Pods: answer %+v", active, given)
		}
	}
	harness.Eventually(t, held, func(ctx context.Context) error {
		found, err := jobs.Get(ctx, ours.Name, metav1.GetOptions{})
		if err == nil && found.Status.Active != 1 {
			err = fmt.Errorf("the status has %d active Pods", found.Status.Active)
		}
		return err
	})
	stack.LetGo(t, namespace, ours.Name, 0)
	harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, ours.Name, batchv1.JobComplete) })
	found, err := jobs.Get(t.Context(), ours.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found.Status.Succeeded != 1 || found.Status.Active != 0 || found.Status.CompletedIndexes != "0" || found.Status.Failed != 0 {
		t.Errorf("status %+v", found.Status)
	}
}

// TestForgedSignalsDontChangeWhatACronJobIs: nor which of its runs have ended.
func TestForgedSignalsDontChangeWhatACronJobIs(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	others := newBystanders(t, namespace)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "yearly", harness.Yearly, harness.JobSpec(harness.RunSeconds(10))))
	run := stack.Trigger(t, namespace, cronJob.Name)
	running, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), run, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reference, spec := referenceTo(cronJob), schedule.SpecOf(cronJob)
	signals := map[string]forgery{}
	edited := func(what string, change func(*protocol.CronJobSpec)) {
		signal := protocol.CronJobSpec{CronJob: reference, Spec: spec}
		change(&signal)
		signals["a spec: "+what] = forgery{protocol.CronJobSpecSignal, signal}
	}
	edited("every second", func(signal *protocol.CronJobSpec) { signal.Spec.Schedule, signal.Spec.Generation = "@every 1s", 99 })
	edited("suspended, of an earlier generation", func(signal *protocol.CronJobSpec) { signal.Spec.Suspend, signal.Spec.Generation = true, 0 })
	edited("being deleted", func(signal *protocol.CronJobSpec) { signal.Spec.Deleting = true })
	edited("overdue", func(signal *protocol.CronJobSpec) { signal.Overdue = true })
	edited("of a successor", func(signal *protocol.CronJobSpec) { signal.CronJob.UID = "00000000-0000-0000-0000-000000000000" })
	edited("of another", func(signal *protocol.CronJobSpec) { signal.CronJob.Name = "other" })
	edited("of a native one", func(signal *protocol.CronJobSpec) { signal.CronJob.Native = true })
	edited("of the built-in controller's", func(signal *protocol.CronJobSpec) { signal.CronJob = native(referenceTo(others.native)) })
	edited("of no uid", func(signal *protocol.CronJobSpec) { signal.CronJob.UID = "" })
	for what, closed := range map[string]*batchv1.Job{"its own, which runs": running, "the built-in controller's": others.builtIn, "another's": others.another} {
		signals["seen: "+what] = forgery{protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: reference.UID, Name: closed.Name, UID: string(closed.UID)}}
	}
	signals["seen: its own, without a UID"] = forgery{protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: reference.UID, Name: run}}
	signals["deleted"] = forgery{protocol.DeletedSignal, protocol.Deleted{UID: reference.UID}}
	signals["facts"] = forgery{protocol.PodsSignal, protocol.PodFacts{JobUID: reference.UID}}
	signals["none of ours"] = forgery{"reboot", "now"}
	for what, argument := range garbage() {
		for _, name := range []string{protocol.CronJobSpecSignal, protocol.JobSeenSignal, protocol.DeletedSignal} {
			signals[name+": "+what] = forgery{name, argument}
		}
	}
	forge(t, harness.CronJobWorkflow(namespace, cronJob.Name), signals)
	harness.Eventually(t, held, func(ctx context.Context) error {
		found, err := stack.CronJob(ctx, namespace, cronJob.Name)
		if err != nil {
			return err
		}
		if found.Status.LastSuccessfulTime == nil || len(found.Status.Active) != 0 {
			return fmt.Errorf("the status is %+v", found.Status)
		}
		return stack.JobHas(ctx, namespace, run, batchv1.JobComplete)
	})
	description, err := stack.DescribeCronJob(t.Context(), namespace, cronJob.Name)
	if err != nil {
		t.Fatal(err)
	}
	if description.Spec.Schedule != harness.Yearly || description.Spec.Suspend {
		t.Errorf("the workflow has %+v", description.Spec)
	}
	jobs, err := stack.Jobs(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 3 {
		t.Errorf("%d Jobs, want the run and two bystanders", len(jobs))
	}
	if err := stack.HasEvent(t.Context(), namespace, "CronJob", cronJob.Name, "MissingJob"); err == nil {
		t.Error("there is an Event MissingJob")
	}
	others.wantUnchanged(t)
}

// TestNoForgedFactChangesAJob: a Pod of which anything is said that is not so runs on, alone, keeps its finalizer, and is not counted;
// nor does its Job end.
func TestNoForgedFactChangesAJob(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	byCode := harness.PodFailurePolicy(harness.OnExitCodes(batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyOnExitCodesOpIn, 42))
	for name, test := range map[string]struct {
		fact    job.PodFact
		options []harness.JobOption
	}{
		"succeeded":    {job.PodFact{Phase: corev1.PodSucceeded}, nil},
		"failed":       {job.PodFact{Phase: corev1.PodFailed, ExitCode: 1}, nil},
		"failed-once":  {job.PodFact{Phase: corev1.PodFailed, ExitCode: 1}, []harness.JobOption{harness.BackoffLimit(0)}},
		"by-exit-code": {job.PodFact{Phase: corev1.PodFailed, ExitCode: 42, Exits: []job.Exit{{Container: "main", Code: 42}}}, []harness.JobOption{byCode}},
		"restarted":    {job.PodFact{Phase: corev1.PodRunning, Restarts: 70, Tracked: true}, []harness.JobOption{harness.RestartPolicy(corev1.RestartPolicyOnFailure), harness.BackoffLimit(2)}},
		"enough": {job.PodFact{Phase: corev1.PodSucceeded}, []harness.JobOption{
			harness.Indexed(3), harness.Parallelism(3), harness.SuccessPolicy(harness.SucceededCount(1)),
		}},
		"gone":              {job.PodFact{Gone: true}, nil},
		"gone-once":         {job.PodFact{Gone: true}, []harness.JobOption{harness.BackoffLimit(0)}},
		"gone-and-removed":  {job.PodFact{Gone: true, Removed: true}, nil},
		"deleting":          {job.PodFact{Deleting: true, Phase: corev1.PodRunning}, nil},
		"deleting-replaced": {job.PodFact{Deleting: true, Phase: corev1.PodRunning}, []harness.JobOption{harness.PodReplacementPolicy(batchv1.Failed)}},
		"removed":           {job.PodFact{Removed: true}, nil},
		"disowned":          {job.PodFact{Disowned: true}, nil},
		"untracked":         {job.PodFact{Phase: corev1.PodRunning}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours := victim(t, namespace, name, test.options...)
			pods, err := stack.PodsOf(t.Context(), namespace, name)
			if err != nil {
				t.Fatal(err)
			}
			test.fact.UID = string(pods[0].UID)
			forge(t, harness.JobWorkflow(namespace, name), map[string]forgery{
				"a fact": {protocol.PodsSignal, protocol.PodFacts{JobUID: string(ours.UID), Facts: []job.PodFact{test.fact}}},
			})
			harness.Always(t, begins, func(ctx context.Context) error {
				return stack.PodsAre(ctx, namespace, name, corev1.PodRunning, int(*ours.Spec.Parallelism))
			})
			found, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || found.Status.Succeeded+found.Status.Failed != 0 || found.Status.Active != *ours.Spec.Parallelism || len(found.Status.Conditions) != 0 {
				t.Errorf("status %+v, error %v", found.Status, err)
			}
			if pods, err = stack.PodsOf(t.Context(), namespace, name); err != nil || !claim.Tracked(&pods[0]) {
				t.Errorf("the Pod has lost its finalizer, error %v", err)
			}
		})
	}
}

// TestNoForgedFactHidesAnEnd: what was said of the Pod before, its success counts, it is released, and its work is not done again.
func TestNoForgedFactHidesAnEnd(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	ours := victim(t, namespace, "ours", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	pods, err := stack.PodsOf(t.Context(), namespace, ours.Name)
	if err != nil {
		t.Fatal(err)
	}
	signals := map[string]forgery{}
	for what, fact := range map[string]job.PodFact{
		"removed": {Removed: true}, "disowned": {Disowned: true}, "untracked": {Phase: corev1.PodRunning}, "all of it": {Removed: true, Disowned: true, Version: 1 << 60},
	} {
		fact.UID = string(pods[0].UID)
		signals[what] = forgery{protocol.PodsSignal, protocol.PodFacts{JobUID: string(ours.UID), Facts: []job.PodFact{fact}}}
	}
	forge(t, harness.JobWorkflow(namespace, ours.Name), signals)
	stack.LetGo(t, namespace, ours.Name, 0)
	harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, ours.Name, batchv1.JobComplete) })
	harness.Eventually(t, held, func(ctx context.Context) error {
		pods, err := stack.PodsOf(ctx, namespace, ours.Name)
		if err == nil && (len(pods) != 1 || claim.Tracked(&pods[0])) {
			err = fmt.Errorf("%d Pods, the first with the finalizers %v", len(pods), pods[0].Finalizers)
		}
		return err
	})
}
