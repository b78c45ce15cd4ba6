package activities_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	goruntime "runtime"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

func (s *stage) list(request protocol.ListPodsRequest) protocol.PodList {
	s.t.Helper()
	request.Job = jobRef
	return must[protocol.PodList](s, protocol.ListPodsActivity, request)
}

// podNames names Pods as helloPod makes them.
func podNames(names ...string) []job.PodName {
	var pods []job.PodName
	for _, name := range names {
		pods = append(pods, job.PodName{Name: name, UID: name + "-uid"})
	}
	return pods
}

// listed describes the facts of a list, in short.
func listed(list protocol.PodList) []string {
	var facts []string
	for _, fact := range list.Facts {
		text := fact.Name
		if fact.Disowned {
			text += " disowned"
		}
		if !fact.Tracked {
			text += " untracked"
		}
		facts = append(facts, text)
	}
	return facts
}

func TestListPodsOfAGoneJob(t *testing.T) {
	recreated := helloJob()
	recreated.UID = "new-uid"
	for name, objects := range map[string][]runtime.Object{"gone": nil, "re-created": {recreated}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, append(objects, helloPod("a", corev1.PodRunning).Pod), nil)
			if list := s.list(protocol.ListPodsRequest{}); !list.Gone || len(list.Facts) != 0 {
				t.Errorf("list %+v", list)
			}
		})
	}
}

func TestListPodsLeavesOutWhatIsAccounted(t *testing.T) {
	s := newStage(t, objects(helloJob(),
		helloPod("running", corev1.PodRunning).Ready(), helloPod("ended", corev1.PodSucceeded),
		helloPod("accounted", corev1.PodFailed).Released(), helloPod("asked", corev1.PodFailed).Released(),
		helloPod("given-up", corev1.PodRunning).Released(),
	), nil)
	list := s.list(protocol.ListPodsRequest{Undecided: podNames("asked", "running")})
	if want := []string{"asked untracked", "ended", "given-up untracked", "running"}; !slices.Equal(listed(list), want) {
		t.Errorf("listed %q, want %q", listed(list), want)
	}
	if len(s.writes()) != 0 {
		t.Errorf("writes %v", s.writes())
	}
}

func TestListPodsCountsAttemptsOfAllPods(t *testing.T) {
	builtin := helloPod(names.Pod(jobName, jobUID, 900), corev1.PodSucceeded).Released()
	builtin.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "ostinato-job-controller", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)},
		{Manager: "kube-controller-manager", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{},"f:spec":{}}`)},
	}
	s := newStage(t, objects(helloJob(),
		helloPod(names.Pod(jobName, jobUID, 3), corev1.PodRunning),
		helloPod(names.IndexedPod(jobName, jobUID, 5, 7), corev1.PodSucceeded).Released(),
		helloPod(names.Pod("other", jobUID, 40), corev1.PodSucceeded),
		helloPod(names.Pod(jobName, jobUID, 41), corev1.PodSucceeded).Of(otherJob()),
		builtin, // its name was not made from an attempt
	), nil)
	if list := s.list(protocol.ListPodsRequest{Rebuild: true}); list.Attempts != 7 {
		t.Errorf("attempts %d, want 7", list.Attempts)
	}
}

func TestListPodsForARebuildTellsTheFailuresOfEveryIndex(t *testing.T) {
	failed := func(name, index, failures string) podBuilder {
		return helloPod(name, corev1.PodFailed).Released().
			Annotated(batchv1.JobCompletionIndexAnnotation, index).Annotated(batchv1.JobIndexFailureCountAnnotation, failures)
	}
	s := newStage(t, objects(helloJob(),
		failed("a", "0", "0"), failed("b", "0", "2"), failed("c", "0", "1"), failed("d", "1", "0"),
		helloPod("succeeded", corev1.PodSucceeded).Released().Annotated(batchv1.JobCompletionIndexAnnotation, "2"),
	), nil)
	if list := s.list(protocol.ListPodsRequest{}); len(list.Facts) != 0 || list.Status != nil {
		t.Errorf("without a rebuild listed %q, status %v", listed(list), list.Status)
	}
	list := s.list(protocol.ListPodsRequest{Rebuild: true})
	if list.Status == nil {
		t.Error("the Job's status is missing")
	}
	if want := []string{"b untracked", "d untracked"}; !slices.Equal(listed(list), want) || list.Facts[0].Failures != 2 {
		t.Errorf("listed %q, want %q", listed(list), want)
	}
}

func TestListPodsMakesItsPodsSeen(t *testing.T) {
	s := newStage(t, objects(helloJob(),
		helloPod("running", corev1.PodRunning).Unseen(), helloPod("ended", corev1.PodSucceeded).Unseen(),
		helloPod("accounted", corev1.PodSucceeded).Released().Unseen(),
	), nil)
	s.list(protocol.ListPodsRequest{Rebuild: true})
	if !s.seen("running") || !s.seen("ended") || s.seen("accounted") {
		t.Errorf("seen by PodWatch: running %v, ended %v, accounted %v", s.seen("running"), s.seen("ended"), s.seen("accounted"))
	}
}

func TestListPodsAdoptsOrphans(t *testing.T) {
	orphan := func(name string, phase corev1.PodPhase) podBuilder {
		return helloPod(name, phase).Released().Uncontrolled().Unseen()
	}
	deletingJob, finishedJob, foreignJob, unmarkedJob := helloJob(), helloJob(), helloJob(), helloJob()
	deletingJob.DeletionTimestamp, deletingJob.Finalizers = ptr.To(metav1.NewTime(scheduled)), []string{"orphan"}
	finishedJob.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobComplete, "")}
	foreignJob.Spec.ManagedBy, unmarkedJob.Spec.ManagedBy = ptr.To("example.com/controller"), nil
	manual := orphan("a", corev1.PodRunning).Stranger().Labelled("app", "hello")
	tests := map[string]struct {
		owner    *batchv1.Job
		pod      podBuilder
		takeOver bool
		adopted  bool
	}{
		"running":                  {helloJob(), orphan("a", corev1.PodRunning), false, true},
		"ended":                    {helloJob(), orphan("a", corev1.PodFailed), false, true},
		"manual selector":          {manualJob(), manual, false, true},
		"being deleted":            {helloJob(), orphan("a", corev1.PodRunning).Deleting(), false, false},
		"other labels":             {manualJob(), orphan("a", corev1.PodRunning), false, false},
		"Job being deleted":        {deletingJob, orphan("a", corev1.PodRunning), false, false},
		"Job finished":             {finishedJob, orphan("a", corev1.PodRunning), false, false},
		"Job of another":           {foreignJob, orphan("a", corev1.PodRunning), true, false},
		"unmarked Job":             {unmarkedJob, orphan("a", corev1.PodRunning), false, false},
		"unmarked Job, taken over": {unmarkedJob, orphan("a", corev1.PodRunning), true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// The fake API server keeps a deleted object only when it has a finalizer.
			test.pod.Finalizers = []string{"example.com/archive"}
			s := newStage(t, objects(test.owner, test.pod), nil, func(options *activities.Options) { options.TakeOverJobs = test.takeOver })
			list := s.list(protocol.ListPodsRequest{Rebuild: true})
			adopted := metav1.IsControlledBy(s.pod("a"), test.owner) && s.tracked("a") && s.seen("a")
			if adopted != test.adopted || (len(list.Facts) == 1) != test.adopted {
				t.Errorf("adopted %v, listed %q", adopted, listed(list))
			}
			if test.adopted && !list.Facts[0].Tracked {
				t.Error("the adopted Pod is listed as it was before")
			}
		})
	}
}

func TestAdoptionLooksAtTheJobAgain(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning).Uncontrolled(), helloPod("b", corev1.PodRunning).Uncontrolled()), nil)
	reads := 0
	s.kubernetes.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		if reads++; reads == 1 {
			return false, nil, nil
		}
		deleting := helloJob()
		deleting.DeletionTimestamp = ptr.To(metav1.NewTime(scheduled))
		return true, deleting, nil
	})
	if list := s.list(protocol.ListPodsRequest{}); len(list.Facts) != 0 || s.tracked("a") || s.tracked("b") {
		t.Errorf("listed %q, tracked %v, %v", listed(list), s.tracked("a"), s.tracked("b"))
	}
	if reads != 2 {
		t.Errorf("%d reads of the Job", reads)
	}
}

func TestListPodsOfPodsThatAreTheJobsNoMore(t *testing.T) {
	deletingJob := helloJob()
	deletingJob.DeletionTimestamp, deletingJob.Finalizers = ptr.To(metav1.NewTime(scheduled)), []string{"orphan"}
	tests := map[string]struct {
		owner *batchv1.Job
		pod   podBuilder
		want  []string
		// controlled and tracked are of the Pod afterwards.
		controlled, tracked bool
	}{
		"labels don't match": {helloJob(), helloPod("a", corev1.PodRunning).Stranger(), []string{"a disowned"}, false, false},
		"no labels at all":   {helloJob(), helloPod("a", corev1.PodRunning).Stranger().Unseen(), []string{"a disowned"}, false, false},
		"labels don't match and the Job is being deleted": {
			deletingJob, helloPod("a", corev1.PodRunning).Stranger(), []string{"a disowned"}, true, false,
		},
		"cut loose, labels don't match": {helloJob(), helloPod("a", corev1.PodRunning).Uncontrolled().Stranger(), []string{" disowned untracked"}, false, true},
		"cut loose and being deleted":   {helloJob(), helloPod("a", corev1.PodRunning).Uncontrolled().Deleting(), []string{"a disowned"}, false, false},
		"another controller's":          {helloJob(), helloPod("a", corev1.PodRunning).Of(otherJob()), []string{" disowned untracked"}, false, true},
		"another controller's, labels don't match": {
			helloJob(), helloPod("a", corev1.PodRunning).Of(otherJob()).Stranger(), []string{" disowned untracked"}, false, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(test.owner, test.pod), nil)
			list := s.list(protocol.ListPodsRequest{Undecided: podNames("a", "vanished")})
			if !slices.Equal(listed(list), test.want) {
				t.Errorf("listed %q, want %q", listed(list), test.want)
			}
			if controlled := metav1.IsControlledBy(s.pod("a"), test.owner); controlled != test.controlled || s.tracked("a") != test.tracked {
				t.Errorf("controlled %v, tracked %v", controlled, s.tracked("a"))
			}
		})
	}
}

func TestListPodsIgnoresOtherJobsPods(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning).Of(otherJob())), nil)
	if list := s.list(protocol.ListPodsRequest{}); len(list.Facts) != 0 || len(s.writes()) != 0 {
		t.Errorf("listed %q, writes %v", listed(list), s.writes())
	}
}

func TestListPodsReportsAnOutage(t *testing.T) {
	s := newStage(t, objects(helloJob()), nil)
	s.refuse("list", "pods", 1, fmt.Errorf("connection refused"))
	if list, err := run[protocol.PodList](s, protocol.ListPodsActivity, protocol.ListPodsRequest{Job: jobRef}); err == nil {
		t.Errorf("list %+v", list)
	}
}

// TestListOfManyFinishedPods: the list is read in pages that nobody keeps.
func TestListOfManyFinishedPods(t *testing.T) {
	const pods, page = 30_000, 500
	s := newStage(t, objects(helloJob()), nil)
	template := helloPod("", corev1.PodSucceeded).Released().Unseen().Annotated("padding", "")
	heap := func() uint64 {
		goruntime.GC()
		var stats goruntime.MemStats
		goruntime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before, most := heap(), uint64(0)
	s.kubernetes.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		options := action.(clienttesting.ListActionImpl).ListOptions
		if options.Limit != page {
			return true, nil, fmt.Errorf("a page of %d Pods is asked for", options.Limit)
		}
		begin, _ := strconv.Atoi(options.Continue)
		if begin%(5*page) == 0 {
			most = max(most, heap())
		}
		list := &corev1.PodList{Items: make([]corev1.Pod, page)}
		for i := range list.Items {
			list.Items[i] = *template.Pod
			list.Items[i].Name = names.Pod(jobName, jobUID, int64(begin+i+1))
			list.Items[i].Annotations = map[string]string{"padding": fmt.Sprintf("%02000d", i)}
		}
		if begin += page; begin < pods {
			list.Continue = strconv.Itoa(begin)
		}
		return true, list, nil
	})
	began := time.Now()
	list := s.list(protocol.ListPodsRequest{Rebuild: true})
	if len(list.Facts) != 0 || list.Attempts != pods {
		t.Errorf("%d facts, %d attempts", len(list.Facts), list.Attempts)
	}
	t.Logf("%d Pods in %v, %d MB of heap more", pods, time.Since(began), (most-min(most, before))>>20)
	// All Pods together take 120 MB.
	if most > before+50<<20 {
		t.Errorf("%d MB of heap, %d MB before", most>>20, before>>20)
	}
}

func TestFactsOfAListAreInOrder(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("b", corev1.PodRunning).Ready(), helloPod("c", corev1.PodPending), helloPod("a", corev1.PodSucceeded)), nil)
	list := s.list(protocol.ListPodsRequest{})
	if !slices.IsSortedFunc(list.Facts, func(a, b job.PodFact) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) }) || !list.Facts[1].Ready {
		t.Errorf("facts %+v", list.Facts)
	}
}

// podReads are the reads of Pods: "get" and the name, or "list" and the selector.
func (s *stage) podReads() (reads []string) {
	for _, action := range s.kubernetes.Actions() {
		if action.GetResource().Resource != "pods" {
			continue
		}
		if list, ok := action.(clienttesting.ListAction); ok {
			reads = append(reads, "list "+list.GetListRestrictions().Labels.String())
		} else if get, ok := action.(clienttesting.GetAction); ok && action.GetVerb() == "get" {
			reads = append(reads, "get "+get.GetName())
		}
	}
	return reads
}

// TestAListCostsWhatIsLeftOfTheJob: what was released is not read, but for the Pods whose end the workflow does not know.
func TestAListCostsWhatIsLeftOfTheJob(t *testing.T) {
	s := newStage(t, objects(helloJob(),
		helloPod("running", corev1.PodRunning), helloPod("released", corev1.PodFailed).Released().Unseen(),
		helloPod("asked", corev1.PodSucceeded).Released().Unseen(), helloPod("stranger", corev1.PodRunning).Stranger(),
		helloPod("hidden", corev1.PodRunning).Unseen(),
	), nil)
	list := s.list(protocol.ListPodsRequest{Undecided: podNames("running", "asked", "stranger", "hidden", "vanished")})
	if want := []string{"asked untracked", "hidden", "running", "stranger disowned"}; !slices.Equal(listed(list), want) {
		t.Errorf("listed %q, want %q", listed(list), want)
	}
	reads := s.podReads()
	slices.Sort(reads)
	if want := []string{"get asked", "get hidden", "get stranger", "get vanished", "list " + selectorOf(t, false)}; !slices.Equal(reads, want) {
		t.Errorf("reads %q, want %q", reads, want)
	}
	if !s.seen("hidden") {
		t.Error("PodWatch does not see a Pod that the list has met")
	}
}

// selectorOf is by what a list of the Job's Pods selects them: all, or those that carry PodWatch's label.
func selectorOf(t *testing.T, all bool) string {
	selector, err := claim.Selector(helloJob())
	if err != nil {
		t.Fatal(err)
	}
	if all {
		return selector.String()
	}
	return selector.String() + "," + names.WatchBucketLabel + "=" + names.WatchBucket(jobUID)
}

// TestARebuildReadsAllPods: no Pod is known by its name.
func TestARebuildReadsAllPods(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("hidden", corev1.PodRunning).Unseen()), nil)
	if list := s.list(protocol.ListPodsRequest{Rebuild: true}); len(list.Facts) != 1 {
		t.Errorf("listed %q", listed(list))
	}
	if reads, want := s.podReads(), []string{"list " + selectorOf(t, true)}; !slices.Equal(reads, want) {
		t.Errorf("reads %q, want %q", reads, want)
	}
}

// TestPodsThatNeverWereCostAListFewReads: a writer of Temporal may name any number of them.
func TestPodsThatNeverWereCostAListFewReads(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("asked", corev1.PodSucceeded).Released().Unseen()), nil)
	undecided := make([]job.PodName, 2000)
	for i := range undecided {
		undecided[i] = job.PodName{Name: fmt.Sprintf("web-%d", i), UID: fmt.Sprintf("web-%d-uid", i)}
	}
	list := s.list(protocol.ListPodsRequest{Undecided: append(undecided, podNames("asked")...)})
	if want := []string{"asked untracked"}; !slices.Equal(listed(list), want) {
		t.Errorf("listed %q, want %q", listed(list), want)
	}
	if reads := len(s.podReads()); reads > 50 {
		t.Errorf("%d reads of Pods", reads)
	}
}

// TestARebuildListsAgainIfTheJobHasChanged: an attempt that was given up counts a Pod, and releases it, while the Pods are listed.
func TestARebuildListsAgainIfTheJobHasChanged(t *testing.T) {
	s := asMade(t, helloJob(), helloPod("a", corev1.PodSucceeded))
	lists := 0
	s.kubernetes.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		lists++
		return false, nil, nil
	})
	s.kubernetes.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		found := helloJob()
		found.ResourceVersion, found.Status.Succeeded = strconv.Itoa(min(lists, 1)), int32(min(lists, 1))
		return true, found, nil
	})
	list := must[protocol.PodList](s, protocol.ListPodsActivity, protocol.ListPodsRequest{Job: jobRef, Rebuild: true})
	if lists != 2 || list.Status.Succeeded != 1 {
		t.Errorf("%d lists, status %+v", lists, list.Status)
	}
}
