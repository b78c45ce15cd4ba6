package commands

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
)

// apiServer answers as an API server with a few objects of one namespace would, and notes what it was asked for.
type apiServer struct {
	*httptest.Server
	cronJobs []ostinatov1.CronJob
	// natives are those of batch/v1.
	natives []batchv1.CronJob
	jobs    []batchv1.Job
	pods    []corev1.Pod
	events  []corev1.Event
	// deployments are Ostinato's, and programs their Pods.
	deployments []appsv1.Deployment
	programs    []corev1.Pod
	// temporals are the StatefulSets with a Temporal of the installation's own, claims those of their volumes.
	temporals []appsv1.StatefulSet
	claims    []corev1.PersistentVolumeClaim
	classes   []storagev1.StorageClass
	logs      map[string]string
	// request is a certificate request as it is after it was made.
	request certificatesv1.CertificateSigningRequest
	// policies are admission policies, each with a binding.
	policies []string
	// lacks are rights that the person is said not to have.
	lacks []string
	// slow is how far its clock is behind.
	slow time.Duration
	// refuse answers a request with a failure; nil answers all.
	refuse func(verb string) *metav1.Status
	// refuseAt is refuse for one namespace or name.
	refuseAt func(request) *metav1.Status
	// expires: the next page of a list has become too old.
	expires bool
	// keeps: what is written to CronJobs is kept; seen: Ostinato sees those that are created.
	keeps, seen bool
	// changes are called one after the other, each before a Job is read.
	changes []func(*apiServer)

	mutex sync.Mutex
	// asked are verbs with resources, in the order of the first request.
	asked []string
	// paths are those of all requests.
	paths []string
	// sent are the Jobs that were to be created.
	sent []*batchv1.Job
	// patches are those of merge patches.
	patches []string
	// deleted are the resources that were deleted, with the options.
	deleted []string
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	server := &apiServer{logs: map[string]string{}}
	server.Server = httptest.NewServer(server)
	t.Cleanup(server.Close)
	return server
}

// request is the path of a request as Kubernetes reads it.
type request struct{ verb, namespace, resource, name, subresource string }

func read(r *http.Request) request {
	if r.URL.Path == "/version" {
		return request{verb: "get", resource: "version"}
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	parts = parts[2:] // api/v1
	if strings.HasPrefix(r.URL.Path, "/apis/") {
		parts = parts[1:] // apis/group/version
	}
	var read request
	if len(parts) > 2 && parts[0] == "namespaces" {
		read.namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	read.resource, read.name, read.subresource = parts[0], parts[1], parts[2]
	if read.resource == "cronjobs" && strings.HasPrefix(r.URL.Path, "/apis/batch/") {
		read.resource = "cronjobs.batch"
	}
	read.verb = map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[r.Method]
	if read.verb == "get" && read.name == "" {
		read.verb = "list"
	}
	return read
}

// what is the verb and the resource, as a role names them.
func (r request) what() string {
	if r.subresource != "" {
		return r.verb + " " + r.resource + "/" + r.subresource
	}
	return r.verb + " " + r.resource
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	wanted := read(r)
	s.paths = append(s.paths, r.URL.Path)
	if s.slow != 0 {
		w.Header().Set("Date", time.Now().Add(-s.slow).UTC().Format(http.TimeFormat))
	}
	// Everybody may ask for the version, and for his own rights.
	if !slices.Contains(s.asked, wanted.what()) && wanted.resource != "version" && wanted.resource != "selfsubjectaccessreviews" {
		s.asked = append(s.asked, wanted.what())
	}
	if s.refuse != nil {
		if status := s.refuse(wanted.what()); status != nil {
			write(w, int(status.Code), status)
			return
		}
	}
	if s.refuseAt != nil {
		if status := s.refuseAt(wanted); status != nil {
			write(w, int(status.Code), status)
			return
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		write(w, http.StatusBadRequest, &metav1.Status{Message: err.Error()})
		return
	}
	if wanted.what() == "get jobs" && len(s.changes) > 0 {
		s.changes[0](s)
		s.changes = s.changes[1:]
	}
	if s.keeps && s.keep(w, r, wanted, body) {
		return
	}
	s.answer(w, r, wanted, body)
}

func (s *apiServer) answer(w http.ResponseWriter, r *http.Request, wanted request, body []byte) {
	switch wanted.what() {
	case "list cronjobs":
		list := ostinatov1.CronJobList{}
		first, _ := strconv.Atoi(r.URL.Query().Get("continue")) // the first page has none
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		rest := s.cronJobs[first:]
		if limit > 0 && len(rest) > limit {
			rest, list.Continue = rest[:limit], strconv.Itoa(first+limit)
		}
		if s.expires && first > 0 {
			s.expires = false
			write(w, http.StatusGone, &metav1.Status{Reason: metav1.StatusReasonExpired, ListMeta: metav1.ListMeta{Continue: strconv.Itoa(first)}})
			return
		}
		for _, cronJob := range rest {
			if wanted.namespace == "" || wanted.namespace == cronJob.Namespace {
				list.Items = append(list.Items, cronJob)
			}
		}
		list.APIVersion, list.Kind = "batch.ostinato.dev/v1", "CronJobList"
		write(w, http.StatusOK, &list)
	case "get cronjobs", "patch cronjobs", "update cronjobs":
		n := slices.IndexFunc(s.cronJobs, func(cronJob ostinatov1.CronJob) bool { return cronJob.Name == wanted.name })
		if n < 0 {
			notFound(w, wanted)
			return
		}
		if wanted.verb == "patch" {
			s.patches = append(s.patches, string(body))
		}
		found := s.cronJobs[n]
		found.APIVersion, found.Kind = "batch.ostinato.dev/v1", "CronJob"
		write(w, http.StatusOK, &found)
	case "create cronjobs":
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	case "list jobs":
		write(w, http.StatusOK, &batchv1.JobList{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "JobList"}, Items: s.jobs})
	case "get jobs", "patch jobs":
		n := slices.IndexFunc(s.jobs, func(job batchv1.Job) bool { return job.Name == wanted.name })
		if n < 0 {
			notFound(w, wanted)
			return
		}
		if wanted.verb == "patch" {
			s.patches = append(s.patches, string(body))
		}
		found := s.jobs[n]
		found.APIVersion, found.Kind = "batch/v1", "Job"
		write(w, http.StatusOK, &found)
	case "create jobs":
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			write(w, http.StatusBadRequest, &metav1.Status{Message: err.Error()})
			return
		}
		job := object.(*batchv1.Job)
		s.sent = append(s.sent, job)
		job.APIVersion, job.Kind = "batch/v1", "Job"
		if r.URL.Query().Get("dryRun") == "" {
			s.jobs = append(s.jobs, *job)
		}
		write(w, http.StatusCreated, job)
	case "list pods":
		_, job, _ := strings.Cut(r.URL.Query().Get("labelSelector"), "=")
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		if strings.Contains(r.URL.Query().Get("labelSelector"), "ostinato-worker") {
			list.Items = s.programs
			write(w, http.StatusOK, &list)
			return
		}
		for _, pod := range s.pods {
			if r.URL.Query().Get("labelSelector") == names.WatchBucketLabel || pod.Labels[batchv1.JobNameLabel] == job {
				list.Items = append(list.Items, pod)
			}
		}
		write(w, http.StatusOK, &list)
	case "get pods/log":
		text, found := s.logs[wanted.name+" "+r.URL.Query().Get("container")]
		if !found {
			notFound(w, wanted)
			return
		}
		io.WriteString(w, text)
	case "create certificatesigningrequests", "get certificatesigningrequests":
		request := s.request
		request.APIVersion, request.Kind = "certificates.k8s.io/v1", "CertificateSigningRequest"
		write(w, http.StatusOK, &request)
	case "list cronjobs.batch":
		write(w, http.StatusOK, &batchv1.CronJobList{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJobList"}, Items: s.natives})
	case "list events":
		write(w, http.StatusOK, &corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: s.events})
	case "list deployments":
		write(w, http.StatusOK, &appsv1.DeploymentList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DeploymentList"}, Items: s.deployments})
	case "list statefulsets":
		write(w, http.StatusOK, &appsv1.StatefulSetList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSetList"}, Items: s.temporals})
	case "get persistentvolumeclaims":
		n := slices.IndexFunc(s.claims, func(claim corev1.PersistentVolumeClaim) bool { return claim.Name == wanted.name })
		if n < 0 {
			notFound(w, wanted)
			return
		}
		found := s.claims[n]
		found.APIVersion, found.Kind = "v1", "PersistentVolumeClaim"
		write(w, http.StatusOK, &found)
	case "list storageclasses":
		write(w, http.StatusOK, &storagev1.StorageClassList{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClassList"}, Items: s.classes})
	case "list validatingadmissionpolicies":
		list := admissionv1.ValidatingAdmissionPolicyList{TypeMeta: metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyList"}}
		for _, name := range s.policies {
			list.Items = append(list.Items, admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		write(w, http.StatusOK, &list)
	case "list validatingadmissionpolicybindings":
		list := admissionv1.ValidatingAdmissionPolicyBindingList{TypeMeta: metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyBindingList"}}
		for _, name := range s.policies {
			list.Items = append(list.Items, admissionv1.ValidatingAdmissionPolicyBinding{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
			})
		}
		write(w, http.StatusOK, &list)
	case "create selfsubjectaccessreviews":
		var review authorizationv1.SelfSubjectAccessReview
		if err := json.Unmarshal(body, &review); err != nil {
			// Clients send what Kubernetes knows as protobuf.
			object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
			if err != nil {
				write(w, http.StatusBadRequest, &metav1.Status{Message: err.Error()})
				return
			}
			review = *object.(*authorizationv1.SelfSubjectAccessReview)
		}
		asked := request{verb: review.Spec.ResourceAttributes.Verb, resource: review.Spec.ResourceAttributes.Resource, subresource: review.Spec.ResourceAttributes.Subresource}
		review.Status.Allowed = !slices.Contains(s.lacks, asked.what()) && (s.refuse == nil || s.refuse(asked.what()) == nil)
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
		write(w, http.StatusCreated, &review)
	case "get version":
		write(w, http.StatusOK, &version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2"})
	default:
		write(w, http.StatusNotImplemented, &metav1.Status{Message: wanted.what()})
	}
}

func write(w http.ResponseWriter, code int, object any) {
	if status, ok := object.(*metav1.Status); ok {
		status.APIVersion, status.Kind, status.Status, status.Code = "v1", "Status", "Failure", int32(code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(object)
}

func notFound(w http.ResponseWriter, wanted request) {
	write(w, http.StatusNotFound, &metav1.Status{Reason: metav1.StatusReasonNotFound, Message: fmt.Sprintf("%s %q not found", wanted.resource, wanted.name)})
}

// forbidden refuses a verb on a resource.
func forbidden(what string) func(string) *metav1.Status {
	return func(asked string) *metav1.Status {
		if asked != what {
			return nil
		}
		return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "forbidden: you may not " + what}
	}
}
