package histories

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
	k8sfake "ostinato.dev/ostinato/internal/testing/fake"
)

const (
	namespace = "default"
	cronJob   = "hello"
)

var (
	jobs     = batchv1.SchemeGroupVersion.WithResource("jobs")
	errLost  = errors.New("the process is gone")
	cpuQuota = apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, cronJob, errors.New("exceeded quota"))
	outage   = apierrors.NewServiceUnavailable("the API server is away")
)

// cluster is the API server. It counts the writes of Ostinato's processes, and loses the process after one of them, before it has
// the answer.
type cluster struct {
	// namespace and name are those of the CronJob.
	namespace, name string
	kubernetes      *fake.Clientset
	cronJobs        *k8sfake.CronJobs
	// objects holds Jobs and Pods. It is the fake's without managed fields, which take half of the time of a history.
	objects clienttesting.ObjectTracker
	// mutex guards what follows: an attempt of an activity runs beside the world.
	mutex sync.Mutex
	// refuses is the answer to creates of Jobs; nil where they are taken.
	refuses error
	// effects are the writes so far, loses is that after which the process is lost; 0 for none. lost says that it is.
	effects, loses int
	lost           bool
	// made is how often an object of each name was created, revision that of the last write.
	made     map[string]int
	revision int
	// taken is what the API server has taken, in its order.
	taken []taken
	// meanwhile happens right before the next write of the CronJob's status is taken; nil for nothing.
	meanwhile func()
	// beforeDelete happens right before the next delete of a Job is taken; nil for nothing.
	beforeDelete func(*batchv1.Job)
	// troubles are what becomes of requests, sent is the CronJob's spec when the request that is served was sent.
	troubles []*troubled
	sent     *schedule.Spec
	// turn has one request served at a time, requests are those that take time.
	turn     sync.Mutex
	requests []*asked
	// onCreate is told of each Job that is created.
	onCreate func(*batchv1.Job)
	// suspension is the one in force; nil while the CronJob runs.
	suspension *suspension
	// said are the conditions Suspended of the statuses that were written, rows are all their rows.
	said []said
	rows map[row]bool
}

// taken is something that has happened at the API server.
type taken struct {
	at time.Time
	// what is edit, create, delete, end, by hand, which is the create of a Job by somebody else, remove, which
	// is a delete by somebody else, refused, which is the create of a Job of a name
	// that was answered with err, left, which is a delete that was, steer, where Ostinato has written spec.suspend, made, where the CronJob was made again, or restore, where etcd
	// was taken back to since, which of a create is when the CronJob was made.
	what  string
	name  string
	err   error
	since time.Time
	// spec is the CronJob's then, or when the request was sent, uid its UID, job the Job, active how many others of its had not ended.
	spec   schedule.Spec
	uid    types.UID
	job    *batchv1.Job
	active int
	// kept is how many Jobs there were that had ended in the way of this one.
	kept int
}

func newCluster(namespace, name string, spec ostinatov1.CronJobSpec, notes map[string]string) *cluster {
	spec.JobTemplate = batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
		Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](1),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "hello", Image: "busybox"}},
		}},
	}}
	c := &cluster{
		namespace: namespace, name: name, kubernetes: fake.NewClientset(),
		cronJobs: k8sfake.NewUnmanagedCronJobs(&ostinatov1.CronJob{
			TypeMeta: metav1.TypeMeta{APIVersion: ostinatov1.GroupVersion.String(), Kind: ostinatov1.CronJobKind.Kind},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, UID: types.UID(name + "-cron-uid"), Generation: 1, ResourceVersion: "1", CreationTimestamp: metav1.Now().Rfc3339Copy(),
				Annotations: notes, ManagedFields: writtenBy(creator),
			},
			Spec: spec,
		}),
		objects:  clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder()),
		made:     map[string]int{},
		revision: 1,
		rows:     map[row]bool{},
	}
	cronJobs := c.cronJobs.ReactionChain
	c.kubernetes.PrependReactor("*", "*", c.serve(clienttesting.ObjectReaction(c.objects)))
	c.cronJobs.PrependReactor("*", "*", c.serve(func(action clienttesting.Action) (bool, runtime.Object, error) {
		for _, reactor := range cronJobs {
			if !reactor.Handles(action) {
				continue
			}
			if handled, object, err := reactor.React(action); handled {
				return true, object, err
			}
		}
		return false, nil, nil
	}))
	c.note(taken{what: "edit"})
	return c
}

// next is the revision of the next write.
func (c *cluster) next() string {
	c.revision++
	return strconv.Itoa(c.revision)
}

// serve answers a request of Ostinato's as the fake does.
func (c *cluster) serve(as clienttesting.ReactionFunc) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.lost {
			return true, nil, errLost
		}
		if action.Matches("update", "cronjobs/status") && c.meanwhile != nil {
			c.meanwhile()
			c.meanwhile = nil
		}
		before := c.stored()
		if create, ok := action.(clienttesting.CreateActionImpl); ok {
			object := create.GetObject()
			dryRun := len(create.CreateOptions.DryRun) > 0
			if job, isJob := object.(*batchv1.Job); isJob && c.refuses != nil {
				if !dryRun {
					c.note(taken{what: "refused", name: job.Name, err: c.refuses})
				}
				return true, nil, c.refuses
			}
			if dryRun {
				return true, object, nil
			}
			if created := object.(metav1.Object); c.job(created.GetName()) == nil {
				c.identify(object)
			}
		}
		if stale(action, before) {
			return true, nil, apierrors.NewConflict(ostinatov1.GroupVersion.WithResource("cronjobs").GroupResource(), c.name, errors.New("the object has been modified"))
		}
		deleted := c.job(nameOf(action))
		if deleted != nil && c.beforeDelete != nil {
			c.beforeDelete(deleted)
			deleted, c.beforeDelete = c.job(deleted.Name), nil
		}
		if deleted != nil && !meets(deleted, action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions) {
			return true, nil, apierrors.NewConflict(jobs.GroupResource(), deleted.Name, errors.New("the precondition does not hold"))
		}
		handled, object, err := as(action)
		if err != nil || !isWrite(action) {
			return handled, object, err
		}
		object = c.took(action, before, deleted, object)
		if c.effects++; c.effects == c.loses {
			c.lost = true
			return true, nil, errLost
		}
		return true, object, nil
	}
}

// meets reports whether a Job is the one that a delete is for.
func meets(job *batchv1.Job, wanted *metav1.Preconditions) bool {
	return wanted == nil ||
		(wanted.UID == nil || *wanted.UID == job.UID) && (wanted.ResourceVersion == nil || *wanted.ResourceVersion == job.ResourceVersion)
}

func isWrite(action clienttesting.Action) bool {
	switch action.GetVerb() {
	case "create", "update", "patch", "delete":
		return true
	}
	return false
}

func nameOf(action clienttesting.Action) string {
	if deletes, ok := action.(clienttesting.DeleteAction); ok && action.GetResource().Resource == "jobs" && action.GetVerb() == "delete" {
		return deletes.GetName()
	}
	return ""
}

// stale reports whether a patch is of a CronJob as it is no longer.
func stale(action clienttesting.Action, stored *ostinatov1.CronJob) bool {
	patch, ok := action.(clienttesting.PatchAction)
	if !ok || action.GetResource().Resource != "cronjobs" {
		return false
	}
	var sent struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	return json.Unmarshal(patch.GetPatch(), &sent) == nil && sent.Metadata.ResourceVersion != "" && sent.Metadata.ResourceVersion != stored.ResourceVersion
}

// identify gives a new object what the API server gives it.
func (c *cluster) identify(created runtime.Object) {
	object := created.(metav1.Object)
	c.made[object.GetName()]++
	object.SetUID(types.UID(fmt.Sprintf("%s-uid-%d", object.GetName(), c.made[object.GetName()])))
	object.SetCreationTimestamp(metav1.NewTime(time.Now().UTC().Truncate(time.Second)))
	object.SetResourceVersion(c.next())
}

// took notes what a write has done, and does the rest of what the API server does with it.
func (c *cluster) took(action clienttesting.Action, before *ostinatov1.CronJob, deleted *batchv1.Job, object runtime.Object) runtime.Object {
	switch resource := action.GetResource().Resource; {
	case resource == "cronjobs":
		after := c.stored()
		if schedule.SpecOf(after).Suspend != schedule.SpecOf(before).Suspend {
			c.note(taken{what: "steer"})
		}
		if schedule.SpecOf(after).Digest() != schedule.SpecOf(before).Digest() {
			after.Generation++
		}
		c.suspendedBy(before, after, k8s.CronJobFieldManager)
		c.become(after)
		if action.GetSubresource() == "status" {
			c.says(after.Status)
		}
		return c.stored()
	case resource == "jobs" && action.GetVerb() == "create":
		job := object.(*batchv1.Job)
		c.note(taken{what: "create", job: job, since: c.stored().CreationTimestamp.UTC()})
		c.onCreate(job)
	case resource == "jobs" && deleted != nil:
		c.note(taken{what: "delete", job: deleted})
	}
	return object
}

func (c *cluster) note(one taken) {
	stored := c.stored()
	one.at, one.spec, one.uid = time.Now().UTC(), schedule.SpecOf(stored), stored.UID
	if c.sent != nil && one.what == "create" {
		one.spec = *c.sent
	}
	for _, other := range c.jobs() {
		switch ended := claim.Finished(&other); {
		case one.job == nil, !claim.OfCronJob(&other, c.name, stored.UID):
		case ended == nil && other.Name != one.job.Name:
			one.active++
		case ended != nil && claim.Finished(one.job) != nil && ended.Type == claim.Finished(one.job).Type:
			one.kept++
		}
	}
	c.taken = append(c.taken, one)
}

// stored is a copy of the CronJob.
func (c *cluster) stored() *ostinatov1.CronJob {
	return c.cronJobs.Stored(c.namespace, c.name).DeepCopy()
}

// become stores the CronJob.
func (c *cluster) become(changed *ostinatov1.CronJob) {
	before := schedule.SpecOf(c.stored())
	changed.ResourceVersion = c.next()
	if err := c.cronJobs.Become(changed); err != nil {
		panic(err)
	}
	if schedule.SpecOf(changed).Digest() != before.Digest() {
		c.note(taken{what: "edit"})
	}
}

// jobs are the Jobs that there are.
func (c *cluster) jobs() []batchv1.Job {
	list, err := c.objects.List(jobs, batchv1.SchemeGroupVersion.WithKind("Job"), c.namespace)
	if err != nil {
		panic(err)
	}
	return list.(*batchv1.JobList).Items
}

// job is the Job of a name; nil for none.
func (c *cluster) job(name string) *batchv1.Job {
	if name == "" {
		return nil
	}
	object, err := c.objects.Get(jobs, c.namespace, name)
	if err != nil {
		return nil
	}
	return object.(*batchv1.Job).DeepCopy()
}

// edit changes the CronJob as somebody else does.
func (c *cluster) edit(change func(*ostinatov1.CronJobSpec)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.change(change)
}

// editMeanwhile does so right before the next write of the CronJob's status is taken, and says so.
func (c *cluster) editMeanwhile(change func(*ostinatov1.CronJobSpec), done func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	before := c.meanwhile
	c.meanwhile = func() {
		if before != nil {
			before()
		}
		c.change(change)
		done()
	}
}

func (c *cluster) change(change func(*ostinatov1.CronJobSpec)) {
	before, edited := c.stored(), c.stored()
	change(&edited.Spec)
	edited.Generation++
	c.suspendedBy(before, edited, editor)
	c.become(edited)
}

// end has a Job of a UID end, unless it has; nil is returned then.
func (c *cluster) end(name string, uid types.UID, condition batchv1.JobConditionType) *batchv1.Job {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.ends(name, uid, condition)
}

func (c *cluster) ends(name string, uid types.UID, condition batchv1.JobConditionType) *batchv1.Job {
	job := c.job(name)
	if job == nil || job.UID != uid || claim.Finished(job) != nil {
		return nil
	}
	now := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	job.Status.StartTime = &job.CreationTimestamp
	job.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	if condition == batchv1.JobComplete {
		job.Status.CompletionTime = &now
	}
	job.ResourceVersion = c.next()
	if err := c.objects.Update(jobs, job, c.namespace); err != nil {
		panic(err)
	}
	c.note(taken{what: "end", job: job})
	return job
}

// answers has creates of Jobs answered with an error, or taken where it is nil.
func (c *cluster) answers(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.refuses = err
}

// calm ends all troubles.
func (c *cluster) calm() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.refuses, c.troubles = nil, nil
}

// noted notes something that has happened.
func (c *cluster) noted(one taken) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.note(one)
}

// lose has the process lost, or another one in its place; isLost reports whether it is.
func (c *cluster) lose(lost bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.lost = lost
}

func (c *cluster) isLost() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.lost
}

// writes is how many writes there were.
func (c *cluster) writes() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.effects
}

// remove deletes a Job as somebody else does.
func (c *cluster) remove(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	removed := c.job(name)
	if err := c.objects.Delete(jobs, c.namespace, name); err != nil {
		panic(err)
	}
	c.note(taken{what: "remove", job: removed})
}

// scheduledTime is the time that a Job says it runs for; manual reports whether somebody has asked for it.
func scheduledTime(job *batchv1.Job) (at time.Time, manual bool) {
	_, manual = job.Annotations[names.InstantiateAnnotation]
	at, err := time.Parse(time.RFC3339, job.Annotations[names.ScheduledTimestampAnnotation])
	if err != nil {
		panic(err)
	}
	return at.UTC(), manual
}
