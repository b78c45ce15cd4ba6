package claim_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/names"
)

type decideCase struct {
	name  string
	pod   podBuilder
	owner ownerBuilder
	want  claim.Verdict
}

func check(t *testing.T, cases []decideCase) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			if got := claim.Decide(test.pod.Pod, test.owner.Owner); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestPodsThatTheJobControls(t *testing.T) {
	failed := living().with(batchv1.JobFailed, corev1.ConditionTrue)
	check(t, []decideCase{
		{"running", pod(), living(), claim.Keep},
		{"ended", pod().ended(), living(), claim.Keep},
		{"being deleted", pod().deleting(), living(), claim.Keep},
		{"not tracked", pod().untracked(), living(), claim.Keep},
		{"of a suspended Job", pod(), living().with(batchv1.JobSuspended, corev1.ConditionTrue), claim.Keep},
		{"of a Job that is not failed", pod(), living().with(batchv1.JobFailed, corev1.ConditionFalse), claim.Keep},

		{"without PodWatch's label", pod().unwatched(), living(), claim.Label},
		{"with another Job's watch label", pod().labelled(names.WatchBucketLabel, "-1"), living(), claim.Label},
		{"ended, without PodWatch's label", pod().ended().unwatched(), living(), claim.Label},
		{"counted, without PodWatch's label", pod().ended().untracked().unwatched(), living(), claim.Keep},

		{"labels don't match", pod().stranger(), living(), claim.Disown},
		{"labels don't match, ended", pod().stranger().ended(), living(), claim.Disown},
		{"labels don't match, being deleted", pod().stranger().deleting(), living(), claim.Disown},
		{"manual selector, labels match", pod().stranger().labelled("app", "hello"), living().manual(), claim.Keep},
		{"manual selector, only the UID label", pod(), living().manual(), claim.Disown},
		{"unreadable selector", pod(), living().selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Operator: "?"}}}), claim.Keep},

		{"Job being deleted", pod(), living().deleting(), claim.Keep},
		{"Job finished", pod(), living().finished(), claim.Keep},
		{"Job being deleted, labels don't match", pod().stranger(), living().deleting(), claim.Release},
		{"Job finished, labels don't match", pod().stranger(), failed, claim.Release},
		{"Job finished, labels don't match, released", pod().stranger().untracked(), failed, claim.Foreign},

		{"no workflow, Job living", pod(), living().unattended(), claim.Keep},
		{"no workflow, Job finished", pod(), living().finished().unattended(), claim.Release},
		{"no workflow, Job being deleted", pod(), living().deleting().unattended(), claim.Release},
		{"no workflow, Job finished, released", pod().ended().untracked().unwatched(), living().finished().unattended(), claim.Keep},
		{"no workflow, Job finished, released while it runs", pod().untracked().unwatched(), living().finished().unattended(), claim.Keep},

		{"taken over", pod().unwatched(), living().unmarked().takenOver(), claim.Label},
		{"taken over, built-in controller named", pod(), living().managedBy(batchv1.JobControllerName).takenOver(), claim.Keep},
	})
}

func TestPodsOfJobsThatAreNotOurs(t *testing.T) {
	other := func() ownerBuilder { return living().managedBy("kueue.x-k8s.io/multikueue").takenOver().unattended() }
	check(t, []decideCase{
		{"controlled", pod(), other(), claim.Foreign},
		{"controlled, labels don't match", pod().stranger(), other(), claim.Foreign},
		{"without a controller", pod().orphan(), other(), claim.Foreign},
		{"Job finished", pod().ended(), other().finished(), claim.Foreign},
		{"Job being deleted", pod().ended(), other().deleting(), claim.Foreign},
		{"unmarked, not taken over", pod(), living().unmarked(), claim.Foreign},
		{"unmarked, not taken over, orphan", pod().orphan(), living().unmarked(), claim.Foreign},
		{"built-in controller named, not taken over", pod(), living().managedBy(batchv1.JobControllerName), claim.Foreign},
	})
}

func TestPodsOfOthers(t *testing.T) {
	for name, theirs := range map[string]podBuilder{
		"other Job":                          pod().of(controller("batch/v1", "Job", "other", "other-uid")),
		"Job of the same name, re-created":   pod().of(controller("batch/v1", "Job", jobName, "new-uid")),
		"Job of another name, with the UID":  pod().of(controller("batch/v1", "Job", "other", jobUID)),
		"other kind, with the name and UID":  pod().of(controller("apps/v1", "ReplicaSet", jobName, jobUID)),
		"other group, with the name and UID": pod().of(controller("batch.example.com/v1", "Job", jobName, jobUID)),
		"Job without UID":                    pod().of(controller("batch/v1", "Job", jobName, "")),
		"other namespace":                    pod().in("elsewhere"),
		"other namespace, orphan":            pod().in("elsewhere").orphan(),
		"other namespace, ended":             pod().in("elsewhere").ended(),
	} {
		for state, owner := range map[string]ownerBuilder{
			"living": living(), "finished": living().finished().unattended(), "being deleted": living().deleting().unattended(),
			"gone": gone(), "gone, taken over": gone().takenOver(),
		} {
			check(t, []decideCase{{name + ", Job " + state, theirs, owner, claim.Foreign}})
		}
	}
}

func TestPodsWithoutAController(t *testing.T) {
	check(t, []decideCase{
		{"running", pod().orphan(), living(), claim.Adopt},
		{"never tracked nor watched", pod().orphan().untracked().unwatched(), living(), claim.Adopt},
		{"ended", pod().orphan().ended(), living(), claim.Adopt},
		{"ended, someone else's", pod().orphan().ended().untracked().unwatched(), living(), claim.Adopt},
		{"counted, watched", pod().orphan().ended().untracked(), living(), claim.Foreign},
		{"counted, made by Ostinato", pod().orphan().ended().untracked().unwatched().named(names.Pod(jobName, jobUID, 3)), living(), claim.Foreign},
		{"manual selector", pod().orphan().labelled("app", "hello"), living().manual(), claim.Adopt},
		{"taken over", pod().orphan(), living().unmarked().takenOver(), claim.Adopt},
		{"with an owner that is no controller", pod().of(metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}), living(), claim.Adopt},

		{"being deleted", pod().orphan().deleting(), living(), claim.Release},
		{"being deleted, released", pod().orphan().deleting().untracked(), living(), claim.Foreign},
		{"Job being deleted", pod().orphan(), living().deleting(), claim.Release},
		{"Job complete", pod().orphan(), living().finished(), claim.Release},
		{"Job failed", pod().orphan(), living().with(batchv1.JobFailed, corev1.ConditionTrue), claim.Release},
		{"Job failed, ended and released", pod().orphan().untracked().ended().unwatched(), living().with(batchv1.JobFailed, corev1.ConditionTrue), claim.Foreign},

		{"labels don't match, named", pod().orphan().stranger(), living(), claim.Release},
		{"labels don't match, named, not watched", pod().orphan().stranger().unwatched(), living(), claim.Foreign},
		{"labels don't match, another named", pod().orphan().stranger().labelled(batchv1.JobNameLabel, "other"), living(), claim.Foreign},
		{"labels don't match, nobody named", pod().orphan().stranger().nameless(), living(), claim.Foreign},
		{"unreadable selector", pod().orphan(), living().selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Operator: "?"}}}), claim.Foreign},
	})
}

func TestPodsOfAJobThatIsGone(t *testing.T) {
	recreated := living()
	recreated.UID = "old-uid"
	made := gone()
	made.Name = "made-up"
	unknown := gone()
	unknown.Name, unknown.UID = "", ""
	check(t, []decideCase{
		{"running", pod(), gone(), claim.Release},
		{"ended", pod().ended(), gone(), claim.Release},
		{"released, running", pod().untracked(), gone(), claim.Foreign},
		{"released, ended, watched", pod().untracked().ended(), gone(), claim.Release},
		{"released, ended", pod().untracked().ended().unwatched(), gone(), claim.Foreign},
		{"other labels", pod().stranger().nameless(), gone(), claim.Release},
		{"never watched", pod().unwatched(), gone(), claim.Foreign},
		{"never watched, taken over", pod().unwatched(), gone().takenOver(), claim.Release},
		{"re-created", pod().of(controller("batch/v1", "Job", jobName, "old-uid")), recreated, claim.Release},

		{"orphan", pod().orphan(), gone(), claim.Release},
		{"orphan, only the UID named", pod().orphan().nameless(), gone(), claim.Release},
		{"orphan, only the name", pod().orphan().stranger(), gone(), claim.Foreign},
		{"orphan, never watched", pod().orphan().unwatched(), gone(), claim.Foreign},
		{"orphan, never watched, taken over", pod().orphan().unwatched(), gone().takenOver(), claim.Release},
		{"orphan, never watched, only the UID named, taken over", pod().orphan().unwatched().nameless(), gone().takenOver(), claim.Foreign},

		{"under a name that is made up", pod(), made, claim.Foreign},
		{"orphan, under a name that is made up", pod().orphan(), made, claim.Foreign},
		{"under a name that is made up, taken over", pod(), made.takenOver(), claim.Foreign},

		{"orphan of nobody known", pod().orphan().stranger().nameless(), unknown, claim.Release},
		{"orphan of nobody known, never watched", pod().orphan().stranger().nameless().unwatched(), unknown.takenOver(), claim.Foreign},
		{"controlled by nobody known", pod(), unknown, claim.Foreign},
		{"orphan of someone", pod().orphan(), unknown, claim.Foreign},
	})
}

func TestAJobWithoutUIDHasNoPods(t *testing.T) {
	nobody := living()
	nobody.UID, nobody.Job.UID = "", ""
	for name, some := range map[string]podBuilder{
		"controlled": pod().of(controller("batch/v1", "Job", jobName, "")), "orphan": pod().orphan(),
		"orphan without UID label": pod().orphan().stranger(), "orphan with an empty UID label": pod().orphan().labelled(batchv1.ControllerUidLabel, ""),
	} {
		check(t, []decideCase{{name, some, nobody, claim.Foreign}})
	}
}

// TestClaimant: by whom a Pod without a controller is judged, and what comes of it.
func TestClaimant(t *testing.T) {
	other := living()
	other.Job.UID, other.Job.Spec.Selector = "new-uid", &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "new-uid"}}
	taken := other.Job.DeepCopy()
	taken.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.JobNameLabel: jobName}}
	for name, test := range map[string]struct {
		pod   podBuilder
		found *batchv1.Job
		want  claim.Verdict
	}{
		"its Job":                             {pod().orphan(), living().Job, claim.Adopt},
		"its Job, another's":                  {pod().orphan(), living().unmarked().Job, claim.Foreign},
		"its Job, which it does not match":    {pod().orphan().stranger(), living().Job, claim.Release},
		"its Job, gone":                       {pod().orphan(), nil, claim.Release},
		"its Job, re-created":                 {pod().orphan(), other.Job, claim.Release},
		"its Job, re-created, which wants it": {pod().orphan(), taken, claim.Adopt},
		"no UID named, Job gone":              {pod().orphan().stranger(), nil, claim.Release},
		"nobody named":                        {pod().orphan().stranger().nameless(), nil, claim.Release},
		"only a UID named":                    {pod().orphan().nameless(), nil, claim.Release},
		"not watched":                         {pod().orphan().unwatched(), nil, claim.Foreign},
	} {
		t.Run(name, func(t *testing.T) {
			if got := claim.Decide(test.pod.Pod, claim.Claimant(test.pod.Pod, test.found, false)); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestVerdicts(t *testing.T) {
	for verdict, want := range map[claim.Verdict]struct {
		text string
		own  bool
	}{
		claim.Foreign: {"Foreign", false}, claim.Keep: {"Keep", true}, claim.Label: {"Label", true}, claim.Adopt: {"Adopt", false},
		claim.Disown: {"Disown", false}, claim.Release: {"Release", false},
	} {
		if string(verdict) != want.text || verdict.Own() != want.own {
			t.Errorf("%v, own %v; want %s, %v", verdict, verdict.Own(), want.text, want.own)
		}
	}
}

// One name in about nine that the API server makes up reads like one of Ostinato's.
func TestAPodThatOthersMadeIsAdoptedWhateverItsName(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello", UID: "uid-1"}}
	job.Spec.ManagedBy = ptr.To(names.JobController)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: names.Pod("hello", "uid-1", 3), UID: "pod-1",
			Labels:        map[string]string{batchv1.ControllerUidLabel: "uid-1"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl-create"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodFailed},
	}
	if verdict := claim.Decide(pod, claim.Of(job, false)); verdict != claim.Adopt {
		t.Errorf("made by others: %v", verdict)
	}
	pod.ManagedFields[0].Manager = "ostinato-job-controller"
	if verdict := claim.Decide(pod, claim.Of(job, false)); verdict != claim.Foreign {
		t.Errorf("made by Ostinato and counted: %v", verdict)
	}
}
