package activities_test

import (
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

var namespaces = schema.GroupResource{Resource: "namespaces"}

// helloNamespace is the Jobs' namespace, saying what is kept of its Pods.
func helloNamespace(evidence string) *corev1.Namespace {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if evidence != "" {
		object.Annotations = map[string]string{names.EvidenceAnnotation: evidence}
	}
	return object
}

// namespaceReads counts the requests for Namespaces.
func (s *stage) namespaceReads() int {
	reads := 0
	for _, action := range s.kubernetes.Actions() {
		if action.Matches("get", "namespaces") {
			reads++
		}
	}
	return reads
}

// logOf releases a failed Pod and returns what came back of its log.
func (s *stage) logOf(name string) job.PodLog {
	s.t.Helper()
	s.track(release(name))
	logs := s.released(release(name))
	if len(logs) != 1 {
		s.t.Fatalf("logs %+v", logs)
	}
	return logs[0]
}

func TestLogsAreReadOnlyWhereNobodyKeepsThemBack(t *testing.T) {
	const withheld = "kept out by annotation ostinato.dev/evidence"
	for name, test := range map[string]struct {
		objects []runtime.Object
		want    string
	}{
		"nobody says anything":         {objects(helloJob(), helloPod("a", corev1.PodFailed)), ""},
		"the namespace says nothing":   {append(objects(helloJob(), helloPod("a", corev1.PodFailed)), helloNamespace("")), ""},
		"all ask for everything":       {append(objects(helloJob(), helloPod("a", corev1.PodFailed).Annotated(names.EvidenceAnnotation, "full")), helloNamespace("full")), ""},
		"the Pod asks for less":        {append(objects(helloJob(), helloPod("a", corev1.PodFailed).Annotated(names.EvidenceAnnotation, "reason")), helloNamespace("full")), withheld},
		"the Pod has another word":     {objects(helloJob(), helloPod("a", corev1.PodFailed).Annotated(names.EvidenceAnnotation, "none")), withheld},
		"the namespace asks for less":  {append(objects(helloJob(), helloPod("a", corev1.PodFailed)), helloNamespace("reason")), withheld},
		"the Pod can't ask for more":   {append(objects(helloJob(), helloPod("a", corev1.PodFailed).Annotated(names.EvidenceAnnotation, "full")), helloNamespace("reason")), withheld},
		"another Pod has the name now": {objects(helloJob(), successor("a")), "the Pod is gone"},
		"the Pod is gone":              {objects(helloJob()), "the Pod is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, test.objects, nil, withLogs(20, 4096))
			kept := s.saying("what the program said")
			if log := s.logOf("a"); log.Missing != test.want || (log.Lines == "") != (test.want != "") {
				t.Errorf("log %+v, want %q", log, test.want)
			}
			if test.want != "" && len(kept.requests) != 0 {
				t.Errorf("logs were asked for: %+v", kept.requests)
			}
		})
	}
}

// TestTheLogOfAPodThatHasSucceededIsReadIfItsJobAsks: the Job as the API server has it, whatever the request says.
func TestTheLogOfAPodThatHasSucceededIsReadIfItsJobAsks(t *testing.T) {
	asks := func(value string) *batchv1.Job {
		owner := helloJob()
		owner.Annotations = map[string]string{names.EvidenceSuccessesAnnotation: value}
		return owner
	}
	for name, test := range map[string]struct {
		owner *batchv1.Job
		pod   podBuilder
		want  string
	}{
		"the Job asks for it":              {asks("true"), helloPod("a", corev1.PodSucceeded), ""},
		"the Job does not":                 {helloJob(), helloPod("a", corev1.PodSucceeded), "the Pod has not failed"},
		"the Job has another word":         {asks("yes"), helloPod("a", corev1.PodSucceeded), "the Pod has not failed"},
		"the Pod alone asks":               {helloJob(), helloPod("a", corev1.PodSucceeded).Annotated(names.EvidenceSuccessesAnnotation, "true"), "the Pod has not failed"},
		"the Job asks, and the Pod runs":   {asks("true"), helloPod("a", corev1.PodRunning), "the Pod has not failed"},
		"the Job asks, the Pod keeps back": {asks("true"), helloPod("a", corev1.PodSucceeded).Annotated(names.EvidenceAnnotation, "reason"), "kept out by annotation ostinato.dev/evidence"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(test.owner, test.pod), nil, withLogs(20, 4096))
			kept := s.saying("what the program said")
			if log := s.logOf("a"); log.Missing != test.want || (log.Lines == "") != (test.want != "") {
				t.Errorf("log %+v, want %q", log, test.want)
			}
			if test.want != "" && len(kept.requests) != 0 {
				t.Errorf("logs were asked for: %+v", kept.requests)
			}
		})
	}
}

// successor is a failed Pod with the name of another.
func successor(name string) podBuilder {
	pod := helloPod(name, corev1.PodFailed)
	pod.UID = "successor-uid"
	return pod
}

// A Pod carries what its namespace, its Job and its template ask for, so that its
// messages stay out of facts too. Many Pods cost one look at the namespace.
func TestCreatedPodsCarryTheStrictestEvidence(t *testing.T) {
	for name, test := range map[string]struct{ namespace, job, want string }{
		"nobody says anything":          {"", "", ""},
		"the namespace asks for less":   {"reason", "", "reason"},
		"the Job can't ask for more":    {"reason", "full", "reason"},
		"the Job asks for less":         {"full", "reason", "reason"},
		"a word that is none":           {"off", "", "reason"},
		"everything, as is the default": {"full", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			owner := helloJob()
			if test.job != "" {
				owner.Annotations = map[string]string{names.EvidenceAnnotation: test.job}
			}
			s := newStage(t, append(objects(owner), helloNamespace(test.namespace)), nil)
			var creates []job.Create
			for attempt := range int64(20) {
				creates = append(creates, job.Create{Name: names.Pod(jobName, jobUID, attempt+1), Attempt: attempt + 1})
			}
			must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates[:5]})
			must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates})
			for _, create := range creates {
				if got := s.pod(create.Name).Annotations[names.EvidenceAnnotation]; got != test.want {
					t.Errorf("Pod %s: annotation %q, want %q", create.Name, got, test.want)
				}
			}
			if reads := s.namespaceReads(); reads != 1 {
				t.Errorf("the Namespace was read %d times", reads)
			}
		})
	}
}

func TestAnEditOfTheNamespaceCountsWithinAMinute(t *testing.T) {
	clock := clocktesting.NewFakeClock(scheduled)
	s := newStage(t, append(objects(helloJob(), helloPod("a", corev1.PodFailed), helloPod("b", corev1.PodFailed)), helloNamespace("")),
		nil, withLogs(20, 4096), withClock(clock))
	s.saying("what the program said")
	if log := s.logOf("a"); log.Lines == "" {
		t.Errorf("log %+v", log)
	}
	if _, err := s.kubernetes.CoreV1().Namespaces().Update(t.Context(), helloNamespace("reason"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	clock.Step(time.Minute)
	if log := s.logOf("b"); log.Lines != "" {
		t.Errorf("log %+v, a minute after the edit", log)
	}
}

// Who can't tell whether the namespace keeps its Pods' words back takes it that it
// does, and does not ask again for each Pod.
func TestANamespaceThatCantBeReadKeepsItsPodsWordsBack(t *testing.T) {
	for name, test := range map[string]struct {
		err error
		// again is when it is asked anew.
		again time.Duration
	}{
		"no right to":  {apierrors.NewForbidden(namespaces, namespace, errors.New("no")), 10 * time.Minute},
		"in an outage": {apierrors.NewInternalError(errors.New("etcd is away")), 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(scheduled)
			s := newStage(t, append(objects(helloJob(), helloPod("a", corev1.PodFailed), helloPod("b", corev1.PodFailed)), helloNamespace("full")),
				nil, withLogs(20, 4096), withClock(clock))
			kept := s.saying("what the program said")
			s.refuse("get", "namespaces", 2, test.err)
			create := job.Create{Name: names.Pod(jobName, jobUID, 1), Attempt: 1}
			must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: []job.Create{create}})
			if got := s.pod(create.Name).Annotations[names.EvidenceAnnotation]; got != "reason" {
				t.Errorf("annotation %q of a new Pod", got)
			}
			if log := s.logOf("a"); log.Lines != "" || len(kept.requests) != 0 || s.namespaceReads() != 1 {
				t.Errorf("log %+v after %d reads of the Namespace", log, s.namespaceReads())
			}
			clock.Step(test.again)
			s.logOf("a")
			if reads := s.namespaceReads(); reads != 2 {
				t.Errorf("%d reads of the Namespace, %v later", reads, test.again)
			}
			clock.Step(test.again)
			if log := s.logOf("b"); log.Lines == "" {
				t.Errorf("log %+v when the Namespace can be read again", log)
			}
		})
	}
}

// In an outage counts what the namespace said before it.
func TestAnOutageForgetsNoNamespace(t *testing.T) {
	clock := clocktesting.NewFakeClock(scheduled)
	s := newStage(t, append(objects(helloJob(), helloPod("a", corev1.PodFailed), helloPod("b", corev1.PodFailed)), helloNamespace("full")),
		nil, withLogs(20, 4096), withClock(clock))
	s.saying("what the program said")
	s.logOf("a")
	clock.Step(time.Hour)
	s.refuse("get", "namespaces", 1, apierrors.NewInternalError(errors.New("etcd is away")))
	if log := s.logOf("b"); log.Lines == "" {
		t.Errorf("log %+v", log)
	}
}
