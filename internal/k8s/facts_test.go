package k8s_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

var created = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(created.Add(time.Duration(seconds) * time.Second))
}

// podBuilder builds a Pod of Job job-uid.
type podBuilder struct{ *corev1.Pod }

func pod(phase corev1.PodPhase) podBuilder {
	return podBuilder{&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "hello-1-abcde", Namespace: "default", UID: "pod-uid", CreationTimestamp: at(0),
			Finalizers: []string{names.TrackingFinalizer},
		},
		Status: corev1.PodStatus{Phase: phase},
	}}
}

func (p podBuilder) ended(name string, exitCode int32, finished int) podBuilder {
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, terminated(name, exitCode, finished))
	return p
}

func (p podBuilder) running(name string, restarts int32) podBuilder {
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, RestartCount: restarts})
	return p
}

func (p podBuilder) sidecar(name string, status corev1.ContainerStatus) podBuilder {
	p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)})
	p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, status)
	return p
}

func (p podBuilder) ready(status corev1.ConditionStatus, since int) podBuilder {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: at(since)})
	return p
}

func (p podBuilder) deleted(seconds int, grace int64) podBuilder {
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(at(seconds)), &grace
	return p
}

func terminated(name string, exitCode int32, finished int) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: exitCode, Reason: "Error", Message: name + " failed", FinishedAt: at(finished),
	}}}
}

func TestFinishTimeOfAPod(t *testing.T) {
	tests := map[string]struct {
		pod  podBuilder
		want time.Time
	}{
		"latest container": {
			pod(corev1.PodSucceeded).ended("a", 0, 10).ended("b", 0, 20).ready(corev1.ConditionFalse, 30), at(20).Time,
		},
		"restartable init container ends last": {
			pod(corev1.PodSucceeded).ended("a", 0, 10).sidecar("proxy", terminated("proxy", 0, 25)), at(25).Time,
		},
		"a container without finish time: when it stopped being ready": {
			pod(corev1.PodFailed).ended("a", 1, 10).running("b", 0).ready(corev1.ConditionFalse, 30), at(30).Time,
		},
		"a sidecar without finish time: when it stopped being ready": {
			pod(corev1.PodFailed).ended("a", 1, 10).sidecar("proxy", corev1.ContainerStatus{Name: "proxy"}).ready(corev1.ConditionFalse, 30), at(30).Time,
		},
		"no status at all, deleted: when the deletion was asked for": {
			pod(corev1.PodFailed).deleted(60, 20), at(40).Time,
		},
		"a deleted Pod that has not ended has one too": {
			pod(corev1.PodRunning).running("a", 0).deleted(60, 20), at(40).Time,
		},
		"nothing to go by: creation": {pod(corev1.PodFailed), at(0).Time},
		"running":                    {pod(corev1.PodRunning).running("a", 0).ready(corev1.ConditionFalse, 5), time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := k8s.PodFact(test.pod.Pod).Finished; !got.Equal(test.want) {
				t.Errorf("finished %v, want %v", got, test.want)
			}
		})
	}
}

func TestAttemptAndRemovalOfAPod(t *testing.T) {
	made := func() podBuilder {
		p := pod(corev1.PodFailed)
		p.Name = names.Pod("hello-1", "job-uid", 7)
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(helloJob("hello-1"), batchv1.SchemeGroupVersion.WithKind("Job"))}
		return p
	}
	elsewhere, orphan, other, removed, template := made(), made(), made(), made(), made()
	elsewhere.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
	orphan.OwnerReferences = nil
	other.Name = "hello-1-x"
	removed.Annotations = map[string]string{names.RemovedAnnotation: ""}
	removed.Finalizers = nil
	template.Annotations = map[string]string{names.RemovedAnnotation: ""}
	for name, test := range map[string]struct {
		pod     podBuilder
		attempt int64
		removed bool
	}{
		"made by Ostinato":                       {made(), 7, false},
		"made elsewhere":                         {elsewhere, 0, false},
		"controlled by no Job":                   {orphan, 0, false},
		"another name":                           {other, 0, false},
		"removed":                                {removed, 7, true},
		"annotated by its template, and tracked": {template, 7, false},
	} {
		t.Run(name, func(t *testing.T) {
			if fact := k8s.PodFact(test.pod.Pod); fact.Attempt != test.attempt || fact.Removed != test.removed {
				t.Errorf("attempt %d, removed %v", fact.Attempt, fact.Removed)
			}
		})
	}
}

// TestTheEndOfARemovedPodIsShort: a suspension ends thousands, and nobody judges how.
func TestTheEndOfARemovedPodIsShort(t *testing.T) {
	removed := pod(corev1.PodFailed).ended("main", 143, 5)
	removed.Finalizers, removed.Annotations = nil, map[string]string{names.RemovedAnnotation: "true"}
	removed.ResourceVersion, removed.DeletionTimestamp, removed.Spec.NodeName = "7", ptr.To(at(3)), "node-1"
	removed.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	want := job.PodFact{Name: removed.Name, UID: "pod-uid", Version: 7, Phase: corev1.PodFailed, Deleting: true, Removed: true}
	if got := k8s.PodFact(removed.Pod); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	removed.Annotations = nil
	if got := k8s.PodFact(removed.Pod); got.ExitCode != 143 || got.Finished.IsZero() || got.Node == "" {
		t.Errorf("of a Pod that others have released: %+v", got)
	}
}

func TestFailureOfAPod(t *testing.T) {
	long := pod(corev1.PodFailed)
	long.Status.Reason, long.Status.Message = "Evicted", strings.Repeat("é", 200)
	restarted := pod(corev1.PodRunning).running("a", 2)
	restarted.Status.ContainerStatuses[0].LastTerminationState = terminated("a", 9, 5).State
	recovered := pod(corev1.PodSucceeded).ended("a", 0, 9)
	recovered.Status.ContainerStatuses[0].LastTerminationState = terminated("a", 9, 5).State
	tests := map[string]struct {
		pod             podBuilder
		code            int32
		reason, message string
	}{
		"first failed container":           {pod(corev1.PodFailed).ended("a", 0, 1).ended("b", 3, 1).ended("c", 4, 1), 3, "Error", "b failed"},
		"evicted: the Pod's own reason":    {long, 0, "Evicted", strings.Repeat("é", 126) + "..."},
		"restarted: how it ended last":     {restarted, 9, "Error", "a failed"},
		"succeeded after a restart: none":  {recovered, 0, "", ""},
		"succeeded: none":                  {pod(corev1.PodSucceeded).ended("a", 0, 1), 0, "", ""},
		"killed while another goes on yet": {pod(corev1.PodRunning).running("a", 0).ended("b", 137, 1), 137, "Error", "b failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fact := k8s.PodFact(test.pod.Pod)
			if fact.ExitCode != test.code || fact.Reason != test.reason || fact.Message != test.message {
				t.Errorf("exit code %d, reason %q, message %q", fact.ExitCode, fact.Reason, fact.Message)
			}
			if len(fact.Message) > 256 || !utf8.ValidString(fact.Message) {
				t.Errorf("message of %d bytes, valid %v", len(fact.Message), utf8.ValidString(fact.Message))
			}
		})
	}
}

func TestPodFactOfARunningPod(t *testing.T) {
	running := pod(corev1.PodRunning).running("a", 1).running("b", 2).ready(corev1.ConditionTrue, 3).
		sidecar("proxy", corev1.ContainerStatus{Name: "proxy", RestartCount: 4})
	running.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "7"}
	running.ResourceVersion, running.Spec.NodeName = "1234", "node-1"
	fact := k8s.PodFact(running.Pod)
	if !fact.Ready || !fact.Tracked || fact.Deleting || fact.Restarts != 7 || fact.Index == nil || *fact.Index != 7 {
		t.Errorf("fact %+v", fact)
	}
	if fact.Version != 1234 || fact.Node != "node-1" || fact.Conditions != nil || fact.Exits != nil || fact.Pending != "" {
		t.Errorf("fact %+v", fact)
	}
	ended := pod(corev1.PodSucceeded).ready(corev1.ConditionTrue, 3)
	ended.Finalizers, ended.ResourceVersion = []string{"example.com/other"}, "not a number"
	if fact := k8s.PodFact(ended.Pod); fact.Ready || fact.Tracked || fact.Version != 0 {
		t.Errorf("a finished Pod is ready or tracked: %+v", fact)
	}
}

func TestEvidenceOfAFailedPod(t *testing.T) {
	failed := pod(corev1.PodFailed).ended("a", 0, 10).ended("b", 3, 20).ended("c", -1, 20).
		sidecar("proxy", terminated("proxy", 137, 21)).ready(corev1.ConditionFalse, 22)
	failed.Status.ContainerStatuses[1].State.Terminated.Signal = 9
	failed.Status.ContainerStatuses[2].State.Terminated.StartedAt = at(4)
	failed.Status.ContainerStatuses[1].State.Terminated.StartedAt = at(2)
	failed.Status.Conditions = append(failed.Status.Conditions,
		corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
		corev1.PodCondition{Type: "example.com/Checked", Status: corev1.ConditionUnknown},
		corev1.PodCondition{Type: corev1.PodConditionType(strings.Repeat("x", 318)), Status: corev1.ConditionTrue},
	)
	failed.Spec.NodeName = "node-1"
	fact := k8s.PodFact(failed.Pod)
	if fact.Container != "b" || fact.ExitCode != 3 || fact.Signal != 9 || fact.Node != "node-1" || !fact.Started.Equal(at(2).Time) {
		t.Errorf("fact %+v", fact)
	}
	// App containers before init containers, and only those that failed.
	if want := []job.Exit{{Container: "b", Code: 3}, {Container: "c", Code: -1}, {Container: "proxy", Code: 137}}; !slices.Equal(fact.Exits, want) {
		t.Errorf("exits %v, want %v", fact.Exits, want)
	}
	if want := []string{"Ready=False", "DisruptionTarget=True", "example.com/Checked=Unknown"}; !slices.Equal(fact.Conditions, want) {
		t.Errorf("conditions %v, want %v", fact.Conditions, want)
	}
	succeeded := failed.DeepCopy()
	succeeded.Status.Phase = corev1.PodSucceeded
	if fact := k8s.PodFact(succeeded); fact.Exits != nil || fact.Conditions != nil {
		t.Errorf("a Pod that did not fail: %+v", fact)
	}
}

func TestFailureCountsOfAPod(t *testing.T) {
	tests := map[string]struct {
		failures, ignored         string
		wantFailures, wantIgnored int32
	}{
		"none":      {"", "", 0, 0},
		"both":      {"3", "2", 3, 2},
		"no number": {"x", "2", 0, 2},
		"negative":  {"-1", "-1", 0, 0},
		"too large": {"2147483648", "1", 0, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			counted := pod(corev1.PodRunning)
			counted.Annotations = map[string]string{
				batchv1.JobIndexFailureCountAnnotation: test.failures, batchv1.JobIndexIgnoredFailureCountAnnotation: test.ignored,
			}
			if fact := k8s.PodFact(counted.Pod); fact.Failures != test.wantFailures || fact.Ignored != test.wantIgnored {
				t.Errorf("%d failures, %d ignored", fact.Failures, fact.Ignored)
			}
		})
	}
}

func TestStartOfAPod(t *testing.T) {
	runs := func(since int) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "a", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(since)}}}
	}
	restarted := runs(50)
	restarted.LastTerminationState = terminated("a", 1, 40).State
	restarted.LastTerminationState.Terminated.StartedAt = at(5)
	notStarted := terminated("a", 128, 9)
	notStarted.State.Terminated.StartedAt = metav1.Unix(0, 0)
	tests := map[string]struct {
		statuses []corev1.ContainerStatus
		want     time.Time
	}{
		"no status":                 {nil, time.Time{}},
		"the first container's":     {[]corev1.ContainerStatus{runs(7), runs(3)}, at(3).Time},
		"before it was restarted":   {[]corev1.ContainerStatus{restarted}, at(5).Time},
		"it could not be started":   {[]corev1.ContainerStatus{notStarted}, time.Time{}},
		"ended, start is not known": {[]corev1.ContainerStatus{terminated("a", 1, 9)}, time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			started := pod(corev1.PodRunning)
			started.Status.ContainerStatuses = test.statuses
			// Init containers don't count.
			started.Status.InitContainerStatuses = []corev1.ContainerStatus{runs(1)}
			if got := k8s.PodFact(started.Pod).Started; !got.Equal(test.want) {
				t.Errorf("started %v, want %v", got, test.want)
			}
		})
	}
}

// TestTrimPodKeepsTheFacts: the informer's trimmed Pods give the facts of whole ones.
func TestTrimPodKeepsTheFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := anyPod(t)
		trimmed, err := k8s.TrimPod(whole.DeepCopy())
		if err != nil {
			t.Fatalf("trim: %v", err)
		}
		small := trimmed.(*corev1.Pod)
		if got, want := k8s.PodFact(small), k8s.PodFact(whole); !reflect.DeepEqual(got, want) {
			t.Fatalf("facts of the trimmed Pod\n%+v\nof the whole\n%+v", got, want)
		}
		gotName, gotUID, gotOK := claim.JobOf(small)
		wantName, wantUID, wantOK := claim.JobOf(whole)
		if gotName != wantName || gotUID != wantUID || gotOK != wantOK {
			t.Fatalf("owner %v/%v/%v, want %v/%v/%v", gotName, gotUID, gotOK, wantName, wantUID, wantOK)
		}
		if len(small.Spec.Containers) != 0 || len(small.ManagedFields) > 1 || small.Labels["app"] != "" && wantOK {
			t.Fatal("the trimmed Pod still has what nobody reads")
		}
	})
}

// A Pod's owner may write more than a megabyte into it; the informer keeps some kilobytes.
func TestTrimmedPodsAreSmall(t *testing.T) {
	long := strings.Repeat("x", 250_000)
	whole := pod(corev1.PodPending).Pod
	whole.Labels = map[string]string{names.WatchBucketLabel: "0"}
	for i := range 10_000 {
		whole.Labels[fmt.Sprintf("label-%044d", i)] = strings.Repeat("v", 50)
	}
	whole.Annotations = map[string]string{names.EvidenceAnnotation: long, names.RemovedAnnotation: long}
	whole.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "work" + long, UID: types.UID(long), Controller: ptr.To(true)}}
	always := corev1.ContainerRestartPolicyAlways
	for i := range 20_000 {
		name := fmt.Sprint("c", i)
		whole.Spec.InitContainers = append(whole.Spec.InitContainers, corev1.Container{Name: name, RestartPolicy: &always})
		whole.Status.InitContainerStatuses = append(whole.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name})
	}
	trimmed, err := k8s.TrimPod(whole)
	if err != nil {
		t.Fatal(err)
	}
	small := trimmed.(*corev1.Pod)
	if size := small.Size(); size > 16<<10 {
		t.Errorf("%d bytes are kept, want 16 KiB at most", size)
	}
	if !k8s.LabelsCut(small) {
		t.Error("a selector may take what is left of the labels for all")
	}
	if again, err := k8s.TrimPod(small); err != nil || !k8s.LabelsCut(again.(*corev1.Pod)) {
		t.Errorf("labels are not cut any more when the Pod is trimmed again, error %v", err)
	}
}

func anyPod(t *rapid.T) *corev1.Pod {
	phase := rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "phase")
	p := pod(phase)
	p.Status.Message = rapid.String().Draw(t, "message")
	p.Spec.NodeName = "node"
	p.Spec.Containers = []corev1.Container{{Name: "a", Image: "busybox"}}
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	p.Annotations = map[string]string{"other": "x"}
	if level := rapid.SampledFrom([]string{"", "full", "reason"}).Draw(t, "evidence"); level != "" {
		p.Annotations[names.EvidenceAnnotation] = level
	}
	p.Labels = map[string]string{"app": "hello", batchv1.ControllerUidLabel: "job-uid", names.WatchBucketLabel: "15"}
	p.ResourceVersion = rapid.SampledFrom([]string{"", "12", "abc"}).Draw(t, "version")
	if rapid.Bool().Draw(t, "unbound") {
		p.Spec.NodeName = ""
	}
	p.Status.Reason = strings.Repeat("r", rapid.IntRange(0, 200).Draw(t, "reason length"))
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReadyToStartContainers, "example.com/Checked"} {
		if rapid.Bool().Draw(t, "condition "+string(kind)) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: kind, Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "status"),
				Reason: "Reason", Message: strings.Repeat("é", rapid.IntRange(0, 200).Draw(t, "words")),
			})
		}
	}
	if rapid.Bool().Draw(t, "indexed") {
		p.Annotations[batchv1.JobCompletionIndexAnnotation] = rapid.SampledFrom([]string{"0", "12", "-1", "x"}).Draw(t, "index")
		p.Annotations[batchv1.JobIndexFailureCountAnnotation] = rapid.SampledFrom([]string{"0", "2", "x"}).Draw(t, "failures")
		p.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = "1"
	}
	if rapid.Bool().Draw(t, "removed") {
		p.Annotations[names.RemovedAnnotation] = ""
	}
	if rapid.Bool().Draw(t, "made by Ostinato") {
		p.Name = names.Pod("hello-1", "job-uid", 7)
	}
	if rapid.Bool().Draw(t, "made elsewhere") {
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
	}
	if rapid.Bool().Draw(t, "untracked") {
		p.Finalizers = []string{"example.com/other"}
	}
	if rapid.Bool().Draw(t, "deleted") {
		p = p.deleted(rapid.IntRange(0, 90).Draw(t, "deletion"), 30)
	}
	if rapid.Bool().Draw(t, "condition") {
		p = p.ready(rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "ready"), 7)
	}
	if rapid.Bool().Draw(t, "sidecar") {
		p = p.sidecar("proxy", anyStatus(t, "proxy"))
	}
	for _, name := range []string{"a", "b"} {
		if rapid.Bool().Draw(t, "status of "+name) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, anyStatus(t, name))
		}
	}
	if rapid.Bool().Draw(t, "owned") {
		p.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: "node", UID: "node-uid"},
			*metav1.NewControllerRef(helloJob("hello-1"), batchv1.SchemeGroupVersion.WithKind("Job")),
		}
	}
	return p.Pod
}

func anyStatus(t *rapid.T, name string) corev1.ContainerStatus {
	status := corev1.ContainerStatus{Name: name}
	if rapid.Bool().Draw(t, "ended") {
		status = terminated(name, int32(rapid.IntRange(0, 2).Draw(t, "code")), rapid.IntRange(0, 60).Draw(t, "finished"))
		status.State.Terminated.Message = strings.Repeat("x", rapid.IntRange(0, 300).Draw(t, "length"))
		status.State.Terminated.Signal = 9
		status.State.Terminated.StartedAt = at(rapid.IntRange(0, 9).Draw(t, "started"))
	} else if rapid.Bool().Draw(t, "waiting") {
		status.State.Waiting = &corev1.ContainerStateWaiting{
			Reason:  rapid.SampledFrom([]string{"", "ContainerCreating", "ErrImagePull", "RunContainerError", strings.Repeat("r", 200)}).Draw(t, "why"),
			Message: strings.Repeat("é", rapid.IntRange(0, 200).Draw(t, "words")),
		}
	} else if rapid.Bool().Draw(t, "running") {
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: at(4)}
	}
	if rapid.Bool().Draw(t, "restarted") {
		status.RestartCount = 1
		status.LastTerminationState = terminated(name, 5, 1).State
	}
	return status
}
