package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

const (
	namespace = "default"
	jobName   = "work"
	jobUID    = "job-uid"
)

var (
	jobs     = batchv1.SchemeGroupVersion.WithResource("jobs")
	pods     = corev1.SchemeGroupVersion.WithResource("pods")
	errLost  = errors.New("the process is gone")
	quota    = apierrors.NewForbidden(pods.GroupResource(), jobName, errors.New("exceeded quota"))
	policy   = apierrors.NewForbidden(pods.GroupResource(), jobName, errors.New("a policy protects the Pod"))
	webhook  = apierrors.NewInternalError(errors.New("failed calling webhook"))
	rights   = apierrors.NewForbidden(jobs.GroupResource(), jobName, errors.New("no role is bound in the namespace"))
	outage   = apierrors.NewServiceUnavailable("the API server is away")
	timeout  = apierrors.NewTimeoutError("the create goes on", 0)
	modified = apierrors.NewConflict(jobs.GroupResource(), jobName, errors.New("the object has been modified"))
)

// lands is how long after its timeout a create lands.
const lands = 25 * time.Second

// cluster is the API server. It counts the writes of Ostinato's workers, and loses the worker after one of them, before it has the
// answer.
type cluster struct {
	kubernetes kubernetes.Interface
	// objects holds the Job and its Pods. It is the fake's without managed fields, which take half of the time of a history.
	objects clienttesting.ObjectTracker
	record  recording
	// takes is how long a request about a Pod takes.
	takes time.Duration
	// bulkQPS limits the bulk work of its workers; 0 for no limit.
	bulkQPS float32
	// fails says what becomes of each write: nothing, carried out without an answer, or not.
	fails func(write int) fault
	// writes counts them, and failed those that have gone wrong one after the other.
	writes, failed int
	// hangs is how long the create of a Pod takes.
	hangs func(name string) time.Duration
	// later does something after a while, guarded by the mutex.
	later func(after time.Duration, what func())
	// changed is told of each Pod that has changed, and gone of one that is gone.
	changed, gone func(*corev1.Pod)

	// mutex guards what follows: an attempt of an activity runs beside the world.
	mutex   sync.Mutex
	refuses refusals
	// lists is how long it takes until a list of the Job's Pods is answered.
	lists time.Duration
	// effects are the writes so far, loses is that after which the worker is lost; 0 for none. lost says that it is.
	effects, loses int
	lost           bool
	version        int64
	// made is how often a Pod of each name was created.
	made map[string]int
}

// refusals are what the API server answers to writes of Ostinato's; nil where it takes them.
type refusals struct {
	creates, statuses, releases, all error
	// late has creates time out, and land a while later.
	late bool
	// deletes are the Pods whose deletes it refuses.
	deletes map[string]bool
}

func newCluster(spec batchv1.JobSpec) *cluster {
	spec.ManagedBy = ptr.To(names.JobController)
	spec.Template = corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.ControllerUidLabel: jobUID, batchv1.JobNameLabel: jobName}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "busybox"}},
		},
	}
	spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: jobUID}}
	clients := fake.NewClientset()
	c := &cluster{
		objects: clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder()),
		version: 1, made: map[string]int{}, refuses: refusals{deletes: map[string]bool{}},
	}
	must(c.objects.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	must(c.objects.Add(&batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: jobName, UID: jobUID, Generation: 1, ResourceVersion: "1", CreationTimestamp: now()},
		Spec:       spec,
	}))
	clients.PrependReactor("*", "*", c.serve)
	c.kubernetes = inTurn{clients, c}
	return c
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// now is the time as the API has it.
func now() metav1.Time { return metav1.NewTime(time.Now().UTC().Truncate(time.Second)) }

// serve answers a request of Ostinato's.
func (c *cluster) serve(action clienttesting.Action) (bool, runtime.Object, error) {
	object, err := c.answer(action)
	return true, object, err
}

func (c *cluster) answer(action clienttesting.Action) (runtime.Object, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.lost {
		return nil, errLost
	}
	if c.refuses.all != nil {
		return nil, c.refuses.all
	}
	var object runtime.Object
	var err error
	fails := c.nextFault(action)
	if fails == unanswered || fails == leaderless {
		return nil, fails.answer()
	}
	switch kind, verb := action.GetResource().Resource, action.GetVerb(); {
	case action.GetSubresource() == "log":
		return &corev1.Pod{}, nil
	case verb == "get", verb == "list":
		_, object, err := clienttesting.ObjectReaction(c.objects)(action)
		if list, ok := object.(*corev1.PodList); ok {
			list.Items = selected(list.Items, action.(clienttesting.ListAction).GetListRestrictions().Fields)
		}
		return object, err
	case kind == "pods" && verb == "create":
		object, err = c.createPod(action.(clienttesting.CreateActionImpl))
	case kind == "pods" && verb == "patch":
		object, err = c.patchPod(action.(clienttesting.PatchActionImpl))
	case kind == "pods" && verb == "delete":
		err = c.deletePod(action.(clienttesting.DeleteActionImpl))
	case kind == "jobs" && verb == "update" && action.GetSubresource() == "status":
		object, err = c.updateStatus(action.(clienttesting.UpdateActionImpl).GetObject().(*batchv1.Job))
	case kind == "jobs" && verb == "patch":
		object, err = c.patchJob(action.(clienttesting.PatchActionImpl))
	default:
		panic(fmt.Sprintf("no such request is known: %s %s", verb, kind))
	}
	if err != nil {
		return nil, err
	}
	if c.effects++; c.effects == c.loses {
		c.lost = true
		return nil, errLost
	}
	return object, fails.answer()
}

// fault is what goes wrong with a write.
type fault int

const (
	none fault = iota
	// landed is a write that is carried out and has no answer.
	landed
	// unanswered is one that is not carried out and has none, leaderless one that has an error of the server's.
	unanswered
	leaderless
)

func (f fault) answer() error {
	switch f {
	case landed, unanswered:
		return timeout
	case leaderless:
		return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
	}
	return nil
}

func (c *cluster) nextFault(action clienttesting.Action) fault {
	if verb := action.GetVerb(); verb == "get" || verb == "list" || c.fails == nil {
		return none
	}
	c.writes++
	fails := c.fails(c.writes)
	c.failed++
	if fails == none {
		c.failed = 0
	}
	if c.failed > 2 {
		c.record.silent = append(c.record.silent, time.Now().UTC())
	}
	if fails != none {
		c.record.line("fault %d of %s %s", fails, action.GetVerb(), action.GetResource().Resource)
	}
	return fails
}

// selected are the Pods that a field selector selects.
func selected(all []corev1.Pod, by fields.Selector) (some []corev1.Pod) {
	for _, pod := range all {
		if by.Matches(fields.Set{"status.phase": string(pod.Status.Phase)}) {
			some = append(some, pod)
		}
	}
	return some
}

func (c *cluster) createPod(create clienttesting.CreateActionImpl) (runtime.Object, error) {
	if c.refuses.creates != nil {
		return nil, c.refuses.creates
	}
	pod := create.GetObject().(*corev1.Pod).DeepCopy()
	if c.refuses.late {
		c.later(lands, func() {
			if c.pod(pod.Name) == nil {
				c.makePod(pod, true)
			}
		})
		return nil, timeout
	}
	if c.pod(pod.Name) != nil {
		return nil, apierrors.NewAlreadyExists(pods.GroupResource(), pod.Name)
	}
	c.makePod(pod, false)
	return pod.DeepCopy(), nil
}

// makePod stores a new Pod. late says that its caller has given up.
func (c *cluster) makePod(pod *corev1.Pod, late bool) {
	c.made[pod.Name]++
	pod.UID, pod.CreationTimestamp = types.UID(fmt.Sprintf("%s-uid-%d", pod.Name, c.made[pod.Name])), now()
	pod.Status.Phase = corev1.PodPending
	pod.ResourceVersion = c.nextVersion()
	c.record.created(pod, c.alive(), c.job(), late)
	must(c.objects.Create(pods, pod, namespace))
	c.changed(pod)
}

func (c *cluster) patchPod(patch clienttesting.PatchActionImpl) (runtime.Object, error) {
	before := c.pod(patch.GetName())
	if before == nil {
		return nil, apierrors.NewNotFound(pods.GroupResource(), patch.GetName())
	}
	if c.refuses.releases != nil {
		return nil, c.refuses.releases
	}
	var sent struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if json.Unmarshal(patch.GetPatch(), &sent) == nil &&
		(sent.Metadata.UID != "" && sent.Metadata.UID != before.UID || sent.Metadata.ResourceVersion != "" && sent.Metadata.ResourceVersion != before.ResourceVersion) {
		return nil, apierrors.NewConflict(pods.GroupResource(), before.Name, errors.New("the object has been modified"))
	}
	_, object, err := clienttesting.ObjectReaction(c.objects)(patch)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", pods.GroupResource(), before.Name, err.Error(), 0, false)
	}
	pod := object.(*corev1.Pod)
	if claim.Tracked(before) && !claim.Tracked(pod) {
		c.record.released(pod)
	}
	c.store(pod)
	return pod.DeepCopy(), nil
}

func (c *cluster) deletePod(request clienttesting.DeleteActionImpl) error {
	pod := c.pod(request.GetName())
	if pod == nil {
		return apierrors.NewNotFound(pods.GroupResource(), request.GetName())
	}
	if wanted := request.DeleteOptions.Preconditions; wanted != nil && wanted.UID != nil && *wanted.UID != pod.UID {
		return apierrors.NewConflict(pods.GroupResource(), pod.Name, errors.New("the UID is another"))
	}
	if c.refuses.deletes[pod.Name] {
		return policy
	}
	c.record.deleted(pod, true)
	c.terminate(pod)
	return nil
}

// terminate has a Pod end.
func (c *cluster) terminate(pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		at := now()
		pod.DeletionTimestamp = &at
	}
	c.store(pod)
}

// updateStatus takes the status and the annotations, as the API server does.
func (c *cluster) updateStatus(sent *batchv1.Job) (runtime.Object, error) {
	stored := c.job()
	if c.refuses.statuses != nil {
		return nil, c.refuses.statuses
	}
	if sent.UID != stored.UID || sent.ResourceVersion != stored.ResourceVersion {
		return nil, modified
	}
	if wrong := wrongStatus(stored, sent.Status); wrong != "" {
		c.record.invalid(wrong)
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "update", jobs.GroupResource(), jobName, wrong, 0, false)
	}
	stored.Status, stored.Annotations = *sent.Status.DeepCopy(), sent.Annotations
	c.storeJob(stored)
	c.record.status(stored)
	return stored, nil
}

// patchJob is a write of spec.suspend, or of the annotation by which the Job is stopped.
func (c *cluster) patchJob(patch clienttesting.PatchActionImpl) (runtime.Object, error) {
	before := c.job()
	var sent struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if must(json.Unmarshal(patch.GetPatch(), &sent)); sent.Metadata.ResourceVersion != before.ResourceVersion {
		return nil, modified
	}
	_, object, err := clienttesting.ObjectReaction(c.objects)(patch)
	if err != nil {
		return nil, err
	}
	after := object.(*batchv1.Job)
	c.edited(before, after)
	return after.DeepCopy(), nil
}

// edited stores a Job whose spec may have changed.
func (c *cluster) edited(before, after *batchv1.Job) {
	digest := func(object *batchv1.Job) string {
		spec := job.SpecOf(object)
		spec.Stop = nil // An annotation has no generation.
		return spec.Digest()
	}
	if digest(after) != digest(before) || ptr.Deref(after.Spec.TTLSecondsAfterFinished, -1) != ptr.Deref(before.Spec.TTLSecondsAfterFinished, -1) {
		after.Generation++
	}
	c.storeJob(after)
	c.record.edited(after)
}

func (c *cluster) storeJob(changed *batchv1.Job) {
	changed.ResourceVersion = c.nextVersion()
	must(c.objects.Update(jobs, changed, namespace))
}

// store stores a Pod, or removes it where it has ended, is deleted and has no finalizer.
func (c *cluster) store(pod *corev1.Pod) {
	pod.ResourceVersion = c.nextVersion()
	if pod.DeletionTimestamp != nil && claim.Ended(pod) && len(pod.Finalizers) == 0 {
		must(c.objects.Delete(pods, namespace, pod.Name))
		c.gone(pod)
		return
	}
	must(c.objects.Update(pods, pod, namespace))
	c.changed(pod)
}

func (c *cluster) nextVersion() string {
	c.version++
	return strconv.FormatInt(c.version, 10)
}

// job is a copy of the Job.
func (c *cluster) job() *batchv1.Job {
	object, err := c.objects.Get(jobs, namespace, jobName)
	must(err)
	return object.(*batchv1.Job).DeepCopy()
}

// pod is a copy of the Pod of a name; nil for none.
func (c *cluster) pod(name string) *corev1.Pod {
	object, err := c.objects.Get(pods, namespace, name)
	if err != nil {
		return nil
	}
	return object.(*corev1.Pod).DeepCopy()
}

// all are the Pods that there are.
func (c *cluster) all() []corev1.Pod {
	list, err := c.objects.List(pods, corev1.SchemeGroupVersion.WithKind("Pod"), namespace)
	must(err)
	return list.(*corev1.PodList).Items
}

// alive are the Pods that can run.
func (c *cluster) alive() (some []corev1.Pod) {
	for _, pod := range c.all() {
		if !claim.Ended(&pod) {
			some = append(some, pod)
		}
	}
	return some
}

// do does something that others do.
func (c *cluster) do(what func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	what()
}

// lose has the worker lost, or another one in its place; isLost reports whether it is.
func (c *cluster) lose(lost bool) { c.do(func() { c.lost = lost }) }

func (c *cluster) isLost() (lost bool) {
	c.do(func() { lost = c.lost })
	return lost
}
