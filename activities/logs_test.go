package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

func withLogs(lines, bytes int) option {
	return func(options *activities.Options) { options.Logs = activities.LogLimits{Lines: lines, Bytes: bytes} }
}

// logs answers requests for logs and keeps what they asked for.
type logs struct {
	mutex    sync.Mutex
	requests []corev1.PodLogOptions
}

// logs makes the fake API server answer requests for logs with a text or an error.
func (s *stage) logs(answer func(options corev1.PodLogOptions) (string, error)) *logs {
	kept := &logs{}
	s.kubernetes.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "log" {
			return false, nil, nil
		}
		options := *action.(clienttesting.GenericAction).GetValue().(*corev1.PodLogOptions)
		kept.mutex.Lock()
		kept.requests = append(kept.requests, options)
		kept.mutex.Unlock()
		text, err := answer(options)
		return true, &runtime.Unknown{Raw: []byte(text)}, err
	})
	return kept
}

func (s *stage) saying(text string) *logs {
	return s.logs(func(corev1.PodLogOptions) (string, error) { return text, nil })
}

func release(name string) job.Release {
	return job.Release{Name: name, UID: name + "-uid", Phase: corev1.PodFailed, Logs: true}
}

// ends releases Pods and, as if they had not been released yet, does so again, and returns the logs.
func (s *stage) ends(releases ...job.Release) map[string][]job.PodLog {
	s.t.Helper()
	first := s.released(releases...)
	s.track(releases...)
	return map[string][]job.PodLog{"first": first, "again": s.released(releases...)}
}

// released releases Pods and returns their logs.
func (s *stage) released(releases ...job.Release) []job.PodLog {
	s.t.Helper()
	return must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Releases: releases}).Logs
}

// track gives Pods that were released the tracking finalizer again.
func (s *stage) track(releases ...job.Release) {
	s.t.Helper()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	for _, release := range releases {
		found, err := s.kubernetes.Tracker().Get(pods, namespace, release.Name)
		if err != nil {
			continue
		}
		pod := found.(*corev1.Pod).DeepCopy()
		if claim.Tracked(pod) {
			continue
		}
		pod.Finalizers = append(pod.Finalizers, names.TrackingFinalizer)
		if err := s.kubernetes.Tracker().Update(pods, pod, namespace); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestTheLogOfAPodIsReadOnceAndOnlyWhenItIsEvidence: a writer of Temporal may ask for a release. The Pod decides, and
// nothing that the request says.
func TestTheLogOfAPodIsReadOnceAndOnlyWhenItIsEvidence(t *testing.T) {
	running := func() podBuilder {
		pod := helloPod("a", corev1.PodRunning)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		return pod
	}
	starting := helloPod("a", corev1.PodPending).Deleting()
	starting.Spec.NodeName = "node"
	starting.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
	atOnce := running().Deleting()
	atOnce.DeletionGracePeriodSeconds = new(int64)
	const nobodys, released = "the Pod has not failed", "the Pod is released already"
	for name, test := range map[string]struct {
		pod     podBuilder
		claimed corev1.PodPhase
		// answer is what the node says in place of the log.
		answer  error
		missing string
	}{
		"it runs":                      {pod: running(), claimed: corev1.PodFailed, missing: nobodys},
		"it has succeeded":             {pod: helloPod("a", corev1.PodSucceeded), claimed: corev1.PodFailed, missing: nobodys},
		"its start is awaited":         {pod: helloPod("a", corev1.PodPending), claimed: corev1.PodFailed, missing: nobodys},
		"it is released":               {pod: helloPod("a", corev1.PodFailed).Released(), claimed: corev1.PodFailed, missing: released},
		"it is deleted and released":   {pod: running().Deleting().Released(), missing: released},
		"it has failed":                {pod: helloPod("a", corev1.PodFailed), claimed: corev1.PodFailed},
		"it has failed since":          {pod: helloPod("a", corev1.PodFailed)},
		"it is being deleted":          {pod: running().Deleting()},
		"it is being deleted, nowhere": {pod: helloPod("a", corev1.PodPending).Deleting(), missing: "no container has started"},
		"its status is behind":         {pod: starting},
		"it is being deleted, unstarted": {
			pod: starting, answer: apierrors.NewBadRequest(`container "main" in pod "a" is waiting to start: ContainerCreating`), missing: "no container has started",
		},
		"it is deleted without a grace":   {pod: atOnce},
		"it is deleted, and nothing left": {pod: atOnce, answer: apierrors.NewNotFound(pods, "a"), missing: "the Pod is gone: it was deleted with a grace period of 0"},
		"its containers are gone": {
			pod: running().Deleting(), answer: apierrors.NewBadRequest(`container "main" in pod "a" is terminated`), missing: "the node has none any more",
		},
		"its node is away": {pod: running().Deleting(), answer: context.DeadlineExceeded, missing: "the node did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), test.pod), nil, withLogs(20, 4096))
			kept := s.logs(func(corev1.PodLogOptions) (string, error) { return "what the program said", test.answer })
			asked := release("a")
			asked.Phase = test.claimed
			logs := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Releases: []job.Release{asked}}).Logs
			if len(logs) != 1 || logs[0].Missing != test.missing || (logs[0].Lines == "") != (test.missing != "") {
				t.Errorf("logs %+v, want them missing because %q", logs, test.missing)
			}
			if read := len(kept.requests) > 0; read != (test.missing == "" || test.answer != nil) {
				t.Errorf("%d requests for a log", len(kept.requests))
			}
		})
	}
}

// TestTheContainerOfALogIsTheOneThatFailedOrRuns: a request does not say whose log is read.
func TestTheContainerOfALogIsTheOneThatFailedOrRuns(t *testing.T) {
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
	runs, waits := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	for name, test := range map[string]struct {
		apps, inits []corev1.ContainerStatus
		want        corev1.PodLogOptions
	}{
		"one failed beside a sidecar": {
			apps: []corev1.ContainerStatus{{Name: "sidecar", State: ended(0)}, {Name: "main", State: ended(3)}},
			want: corev1.PodLogOptions{Container: "main"},
		},
		"one failed beside one that runs": {
			apps: []corev1.ContainerStatus{{Name: "sidecar", State: runs}, {Name: "main", State: ended(3)}},
			want: corev1.PodLogOptions{Container: "main"},
		},
		"the first runs": {
			apps:  []corev1.ContainerStatus{{Name: "main", State: runs}, {Name: "sidecar", State: runs}},
			inits: []corev1.ContainerStatus{{Name: "setup", State: ended(0)}},
			want:  corev1.PodLogOptions{Container: "main", Follow: true},
		},
		"an init container runs": {
			apps:  []corev1.ContainerStatus{{Name: "main", State: waits}},
			inits: []corev1.ContainerStatus{{Name: "setup", State: ended(0)}, {Name: "wait", State: runs}},
			want:  corev1.PodLogOptions{Container: "wait", Follow: true},
		},
		"it waits to be restarted": {
			apps: []corev1.ContainerStatus{{Name: "main", State: waits, LastTerminationState: ended(0)}},
			want: corev1.PodLogOptions{Container: "main"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := helloPod("a", corev1.PodRunning).Deleting()
			pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = test.apps, test.inits
			s := newStage(t, objects(helloJob(), pod), nil, withLogs(20, 4096))
			kept := s.saying("what the program said")
			s.released(release("a"))
			if len(kept.requests) != 1 {
				t.Fatalf("requests %+v", kept.requests)
			}
			got := kept.requests[0]
			got.TailLines, got.LimitBytes = nil, nil
			if got != test.want {
				t.Errorf("asked for %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestAContainerThatWasRestartedAndIsSilentHasAFormerLog: that is what led to the restart.
func TestAContainerThatWasRestartedAndIsSilentHasAFormerLog(t *testing.T) {
	pod := helloPod("a", corev1.PodRunning).Deleting()
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}},
	}}
	s := newStage(t, objects(helloJob(), pod), nil, withLogs(20, 4096))
	s.logs(func(options corev1.PodLogOptions) (string, error) {
		if options.Previous {
			return "out of disk", nil
		}
		return "", nil
	})
	if logs := s.released(release("a")); len(logs) != 1 || logs[0].Lines != "out of disk" {
		t.Errorf("logs %+v", logs)
	}
}

// TestTheLogOfAPodOfAJobThatIsDeletedIsWaitedFor: garbage collection deletes the Pod a moment after the Job.
func TestTheLogOfAPodOfAJobThatIsDeletedIsWaitedFor(t *testing.T) {
	pod := helloPod("a", corev1.PodRunning)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	for name, test := range map[string]struct {
		finalizer string
		missing   string
	}{
		"with its Pods":    {metav1.FinalizerDeleteDependents, ""},
		"without its Pods": {metav1.FinalizerOrphanDependents, "the Pod has not failed"},
	} {
		t.Run(name, func(t *testing.T) {
			owner := helloJob()
			owner.DeletionTimestamp, owner.Finalizers = pod.Deleting().DeletionTimestamp, []string{test.finalizer}
			pod.DeletionTimestamp = nil
			s := newStage(t, objects(owner, pod), nil, withLogs(20, 4096))
			s.saying("what the program said")
			s.collects("a", 300*time.Millisecond)
			logs := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
				Job: jobRef, Digest: job.SpecOf(owner).Digest(), Releases: []job.Release{release("a")},
			}).Logs
			if len(logs) != 1 || logs[0].Missing != test.missing {
				t.Errorf("logs %+v, want them missing because %q", logs, test.missing)
			}
		})
	}
}

// collects deletes a Pod after a while, as garbage collection does it.
func (s *stage) collects(name string, after time.Duration) {
	timer := time.AfterFunc(after, func() {
		pods := corev1.SchemeGroupVersion.WithResource("pods")
		if found, err := s.kubernetes.Tracker().Get(pods, namespace, name); err == nil {
			_ = s.kubernetes.Tracker().Update(pods, podBuilder{Pod: found.(*corev1.Pod).DeepCopy()}.Deleting().Pod, namespace)
		}
	})
	s.t.Cleanup(func() { timer.Stop() })
}

func TestTheEndOfALogIsReadBeforeTheRelease(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodFailed), helloPod("b", corev1.PodFailed)), nil, withLogs(20, 4096))
	var tracked bool
	kept := s.logs(func(corev1.PodLogOptions) (string, error) {
		pod, err := s.kubernetes.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), namespace, "a")
		tracked = err == nil && claim.Tracked(pod.(*corev1.Pod))
		return "one\ntwo\n", nil
	})
	wanted, silent := release("a"), release("b")
	silent.Logs = false
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Releases: []job.Release{wanted, silent}})
	if len(result.Logs) != 1 || result.Logs[0] != (job.PodLog{UID: "a-uid", Lines: "one\ntwo"}) || !tracked {
		t.Errorf("logs %+v, Pod tracked while they are read: %v", result.Logs, tracked)
	}
	if len(kept.requests) != 1 || *kept.requests[0].TailLines != 20 || kept.requests[0].Previous {
		t.Errorf("requests %+v", kept.requests)
	}
	if s.tracked("a") || s.tracked("b") || s.seen("a") || s.seen("b") {
		t.Error("a Pod is not released, or PodWatch still sees it")
	}
}

func TestReleaseOfAPodThatCanStillRunLeavesItSeen(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
	running := release("a")
	running.Phase, running.Logs = "", false
	for name, logs := range s.ends(running) {
		if s.tracked("a") || !s.seen("a") || logs != nil {
			t.Errorf("%s: tracked %v, seen %v, logs %v", name, s.tracked("a"), s.seen("a"), logs)
		}
	}
}

func TestNoLogIsAskedForWhenThatIsSwitchedOff(t *testing.T) {
	for name, limits := range map[string]option{"no lines": withLogs(0, 4096), "no bytes": withLogs(20, 0)} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodFailed)), nil, limits)
			kept := s.saying("text")
			for name, logs := range s.ends(release("a")) {
				if len(logs) != 1 || logs[0].Lines != "" || logs[0].Missing == "" {
					t.Errorf("%s: logs %+v", name, logs)
				}
			}
			if len(kept.requests) != 0 {
				t.Errorf("requests %+v", kept.requests)
			}
		})
	}
}

func TestTheEndOfALogIsBounded(t *testing.T) {
	tests := map[string]struct {
		text  string
		bytes int
		want  string
	}{
		"short":                         {"one\ntwo\n\n", 100, "one\ntwo"},
		"from a line's start":           {"first line\nsecond\nthird\n", 15, "second\nthird"},
		"exactly from a line's start":   {"first\nsecond\n", 6, "second"},
		"one long line":                 {"0123456789", 4, "6789"},
		"one long line of wide letters": {"ééééé", 5, "éé"},
		"not UTF-8":                     {"a\xff\xfeb\n", 100, "a\uFFFDb"},
		"not UTF-8, and long":           {strings.Repeat("\xff", 50), 10, "\uFFFD"},
		"carriage returns":              {"one\r\n", 100, "one"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodFailed)), nil, withLogs(20, test.bytes))
			s.saying(test.text)
			for name, logs := range s.ends(release("a")) {
				if len(logs) != 1 || logs[0].Lines != test.want || logs[0].Missing != "" || !utf8.ValidString(logs[0].Lines) {
					t.Errorf("%s: logs %+v, want %q", name, logs, test.want)
				}
			}
		})
	}
}

// TestALogThatIsEmptySaysWhy: a silent program, or a node that has removed the log and says so in its place.
func TestALogThatIsEmptySaysWhy(t *testing.T) {
	for text, want := range map[string]string{
		"":     "the container has written none",
		"\n\n": "the container has written none",
		`failed to try resolving symlinks in path "/var/log/pods/x/main/0.log": no such file or directory`: "the node has none any more",
		"unable to retrieve container logs for containerd://0123":                                          "the node has none any more",
	} {
		s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodFailed)), nil, withLogs(20, 4096))
		s.saying(text)
		if logs := s.released(release("a")); len(logs) != 1 || logs[0].Lines != "" || logs[0].Missing != want {
			t.Errorf("%q: logs %+v, want %q", text, logs, want)
		}
	}
}

// TestTheEndOfVeryLongLinesIsReadAnyway: the kubelet cuts the end off.
func TestTheEndOfVeryLongLinesIsReadAnyway(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodFailed)), nil, withLogs(20, 10))
	s.logs(func(options corev1.PodLogOptions) (string, error) {
		if *options.TailLines == 1 {
			return "the end", nil
		}
		return strings.Repeat("x", int(*options.LimitBytes)), nil
	})
	for name, logs := range s.ends(release("a")) {
		if len(logs) != 1 || logs[0].Lines != "the end" {
			t.Errorf("%s: logs %.100v", name, logs)
		}
	}
}

func TestALogThatIsMissingHasAReason(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"gone":        {apierrors.NewNotFound(pods, "a"), "the Pod is gone"},
		"timeout":     {context.DeadlineExceeded, "the node did not answer in time"},
		"net timeout": {&net.OpError{Op: "dial", Err: timeoutError{}}, "the node did not answer in time"},
		"not started": {apierrors.NewBadRequest(`container "hello" in pod "a" is waiting to start: ContainerCreating`), "no container has started"},
		"node away":   {apierrors.NewInternalError(errors.New("dial tcp: connection refused")), "connection refused"},
		"forbidden":   {apierrors.NewForbidden(pods, "a", errors.New("no")), "not allowed to read logs (pods/log)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodFailed)), nil, withLogs(20, 4096))
			s.logs(func(corev1.PodLogOptions) (string, error) { return "", test.err })
			if logs := s.released(release("a")); len(logs) != 1 || !strings.Contains(logs[0].Missing, test.want) || logs[0].Lines != "" {
				t.Errorf("logs %+v, want %q", logs, test.want)
			}
			if s.tracked("a") {
				t.Error("the Pod is not released")
			}
		})
	}
}

// A node that is away costs one log the time that a log may take, not each.
func TestANodeThatDidNotAnswerIsLeftAloneForAMinute(t *testing.T) {
	clock := clocktesting.NewFakeClock(scheduled)
	failed := func(name, node string) podBuilder {
		pod := helloPod(name, corev1.PodFailed)
		pod.Spec.NodeName = node
		return pod
	}
	s := newStage(t, objects(helloJob(), failed("a", "away"), failed("b", "away"), failed("c", "here")), nil, withLogs(20, 4096), withClock(clock))
	kept := s.logs(func(corev1.PodLogOptions) (string, error) { return "", context.DeadlineExceeded })
	s.released(release("a"))
	for _, test := range []struct {
		pod      string
		after    time.Duration
		missing  string
		requests int
	}{
		{"b", 0, "the node has not answered within the last minute", 1},
		{"c", 0, "the node did not answer in time", 2},
		{"b", time.Minute, "the node did not answer in time", 3},
	} {
		clock.Step(test.after)
		s.track(release(test.pod))
		if logs := s.released(release(test.pod)); logs[0].Missing != test.missing || len(kept.requests) != test.requests {
			t.Errorf("after %s: logs %+v, %d requests, want %q and %d", test.after, logs, len(kept.requests), test.missing, test.requests)
		}
	}
}

// A node is not to blame for the time that an activity has spent before it asked: the logs of others are on it, too.
func TestANodeThatWasGivenNoTimeIsNotLeftAlone(t *testing.T) {
	running := func(name string) podBuilder {
		pod := helloPod(name, corev1.PodRunning).Deleting()
		pod.Spec.NodeName = "node"
		return pod
	}
	s := newStage(t, []runtime.Object{running("a").Pod}, nil, withLogs(20, 4096))
	late := true
	s.logs(func(corev1.PodLogOptions) (string, error) {
		if late {
			time.Sleep(400 * time.Millisecond)
			return "", context.DeadlineExceeded
		}
		return "last words", nil
	})
	request := protocol.ReleaseOrphansRequest{Job: jobRef, Evidence: true}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.activities.ReleaseOrphans(short, request); err == nil {
		t.Error("there was time to release the Pod")
	}
	late = false
	result, err := s.activities.ReleaseOrphans(t.Context(), request)
	if err != nil || len(result.Logs) != 1 || result.Logs[0].Lines != "last words" {
		t.Errorf("with time for it: logs %+v, %v", result.Logs, err)
	}
}

type timeoutError struct{}

func (timeoutError) Error() string { return "i/o timeout" }
func (timeoutError) Timeout() bool { return true }

func TestForbiddenLogsAreNotAskedForAgainSoon(t *testing.T) {
	clock := clocktesting.NewFakeClock(scheduled)
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodFailed)), nil, withLogs(20, 4096), withClock(clock))
	kept := s.logs(func(corev1.PodLogOptions) (string, error) {
		return "", apierrors.NewForbidden(pods, "a", errors.New("no"))
	})
	for range 2 {
		for name, logs := range s.ends(release("a")) {
			if logs[0].Missing != "not allowed to read logs (pods/log)" {
				t.Errorf("%s: logs %+v", name, logs)
			}
		}
	}
	if len(kept.requests) != 1 {
		t.Errorf("%d requests", len(kept.requests))
	}
	clock.Step(10 * time.Minute)
	s.ends(release("a"))
	if len(kept.requests) != 2 {
		t.Errorf("%d requests, 10 minutes later", len(kept.requests))
	}
}

func TestTooManyLogsAreCut(t *testing.T) {
	const size = 64 * 1024
	var releases []job.Release
	var failed []podBuilder
	for i := range 120 {
		name := fmt.Sprintf("pod-%d", i)
		releases, failed = append(releases, release(name)), append(failed, helloPod(name, corev1.PodFailed))
	}
	s := newStage(t, objects(helloJob(), failed...), nil, withLogs(20, size))
	kept := s.saying(strings.Repeat("x", size))
	logs := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Releases: releases}).Logs
	total := 0
	for _, log := range logs {
		if total += len(log.Lines); log.Lines == "" && log.Missing == "" {
			t.Errorf("log of %s is missing without a reason", log.UID)
		}
	}
	if len(logs) != 120 || total != 256*1024 {
		t.Errorf("%d logs of %d bytes", len(logs), total)
	}
	if len(kept.requests) != 100 {
		t.Errorf("%d requests, want 100", len(kept.requests))
	}
}

// TestANodeThatIsAwayDelaysNoReleaseForLong: requests for logs hang, by a real
// connection, and the release comes nevertheless.
func TestANodeThatIsAwayDelaysNoReleaseForLong(t *testing.T) {
	var mutex sync.Mutex
	asked, released, noted := 0, 0, ""
	for i := range 100 {
		noted += fmt.Sprintf("pod-%d-uid,", i)
	}
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var object any
		switch path := request.URL.Path; {
		case strings.HasSuffix(path, "/log"):
			mutex.Lock()
			asked++
			mutex.Unlock()
			select {
			case <-request.Context().Done():
			case <-stop:
			}
			return
		case strings.HasSuffix(path, "/jobs/"+jobName):
			owner := helloJob()
			owner.APIVersion, owner.Kind = "batch/v1", "Job"
			owner.Annotations = map[string]string{names.CountedAnnotation: noted}
			object = owner
		default:
			pod := helloPod(path[strings.LastIndex(path, "/")+1:], corev1.PodFailed)
			pod.APIVersion, pod.Kind = "v1", "Pod"
			object = pod.Pod
		}
		if request.Method == http.MethodPatch {
			mutex.Lock()
			released++
			mutex.Unlock()
		}
		writer.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(writer).Encode(object); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(stop) })
	clients, err := k8s.NewClients(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, nil, nil, withLogs(20, 4096), func(options *activities.Options) { options.Kubernetes = clients.Kubernetes })
	var releases []job.Release
	for i := range 100 { // more than are asked for, side by side, before the time for all is over
		releases = append(releases, release(fmt.Sprintf("pod-%d", i)))
	}
	digest := job.SpecOf(helloJob()).Digest()
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Digest: digest, Releases: releases})
	for _, log := range result.Logs {
		if log.Missing != "the node did not answer in time" && log.Missing != "the node has not answered within the last minute" {
			t.Fatalf("log %+v", log)
		}
	}
	if len(result.Logs) != 100 || released != 100 {
		t.Errorf("%d logs, %d released", len(result.Logs), released)
	}
	if asked == 0 || asked == 100 {
		t.Errorf("%d logs were asked for, want as many as there is time for", asked)
	}
}
