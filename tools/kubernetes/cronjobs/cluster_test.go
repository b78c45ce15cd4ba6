package cronjobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var (
	jobs     = batchv1.SchemeGroupVersion.WithResource("jobs")
	cronJobs = batchv1.SchemeGroupVersion.WithResource("cronjobs")
)

// cluster is the API server and whoever else writes to it.
type cluster struct {
	t      *testing.T
	client *fake.Clientset

	mutex    sync.Mutex
	lines    []line
	versions int
	made     int
	events   map[string]*corev1.Event
	refuse   map[string]bool
}

func newCluster(t *testing.T, s scenario) *cluster {
	objects := []runtime.Object{s.CronJob}
	for i := range s.Jobs {
		objects = append(objects, &s.Jobs[i])
	}
	c := &cluster{
		t: t, client: fake.NewSimpleClientset(objects...), events: map[string]*corev1.Event{}, refuse: map[string]bool{},
	}
	c.client.PrependReactor("create", "jobs", c.createJob)
	c.client.PrependReactor("delete", "jobs", c.deleteJob)
	c.client.PrependReactor("update", "cronjobs", c.updateStatus)
	c.client.PrependReactor("*", "events", c.event)
	return c
}

func (c *cluster) write(format string, arguments ...any) {
	c.lines = append(c.lines, line{At: time.Now().UTC(), Text: fmt.Sprintf(format, arguments...)})
}

func (c *cluster) written() []line {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.lines
}

// createJob completes a Job as the API server does.
func (c *cluster) createJob(action clienttesting.Action) (bool, runtime.Object, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	job := action.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
	if c.refuse["create"] {
		return true, nil, refusal(job.Name)
	}
	if _, err := c.client.Tracker().Get(jobs, action.GetNamespace(), job.Name); err == nil {
		return false, nil, nil // it says that there is one
	}
	c.made++
	job.UID, job.CreationTimestamp, job.ResourceVersion = types.UID(fmt.Sprintf("made-%d", c.made)), metav1.Now().Rfc3339Copy(), c.version()
	c.write("create %s for %s", job.Name, job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	return false, nil, nil
}

func (c *cluster) deleteJob(action clienttesting.Action) (bool, runtime.Object, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	name := action.(clienttesting.DeleteAction).GetName()
	if c.refuse["delete"] {
		return true, nil, refusal(name)
	}
	if _, err := c.client.Tracker().Get(jobs, action.GetNamespace(), name); err == nil {
		c.write("delete %s", name)
	}
	return false, nil, nil
}

// updateStatus refuses a write by who has not seen the one before, as the API server does.
func (c *cluster) updateStatus(action clienttesting.Action) (bool, runtime.Object, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	cronJob := action.(clienttesting.UpdateAction).GetObject().(*batchv1.CronJob)
	stored, err := c.client.Tracker().Get(cronJobs, cronJob.Namespace, cronJob.Name)
	if err != nil {
		return true, nil, err
	}
	if stored.(*batchv1.CronJob).ResourceVersion != cronJob.ResourceVersion {
		return true, nil, apierrors.NewConflict(cronJobs.GroupResource(), cronJob.Name, errors.New("it has been modified"))
	}
	var active []string
	for _, reference := range cronJob.Status.Active {
		active = append(active, reference.Name)
	}
	c.write("status active [%s] last %s successful %s",
		strings.Join(active, " "), instant(cronJob.Status.LastScheduleTime), instant(cronJob.Status.LastSuccessfulTime))
	written := cronJob.DeepCopy()
	written.ResourceVersion = c.version()
	return true, written, c.client.Tracker().Update(cronJobs, written, cronJob.Namespace)
}

// event keeps Events out of the tracker, which would refuse the second of an instant.
func (c *cluster) event(action clienttesting.Action) (bool, runtime.Object, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if create, ok := action.(clienttesting.CreateAction); ok {
		event := create.GetObject().(*corev1.Event)
		c.events[event.Name] = event
		c.write("event %s %s %s", event.Type, event.Reason, event.Message)
		return true, event, nil
	}
	patch, ok := action.(clienttesting.PatchAction)
	if !ok {
		return false, nil, nil
	}
	// One that is repeated is counted; of many that are alike the last is told.
	event := c.events[patch.GetName()]
	if err := json.Unmarshal(patch.GetPatch(), event); err != nil {
		c.t.Errorf("patch of an Event: %v", err)
	}
	c.write("event %s %s %s", event.Type, event.Reason, event.Message)
	return true, event, nil
}

// act does what somebody else does.
func (c *cluster) act(s step) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var err error
	switch s.Action {
	case "appear":
		s.Job.ResourceVersion = c.version()
		err = c.client.Tracker().Create(jobs, s.Job, s.Job.Namespace)
	case "vanish":
		err = c.client.Tracker().Delete(jobs, metav1.NamespaceDefault, s.Name)
	case "finish":
		err = c.finish(s)
	case "edit":
		err = c.edit(s.CronJob)
	case "refuse create", "refuse delete":
		c.refuse[strings.TrimPrefix(s.Action, "refuse ")] = true
	case "accept create", "accept delete":
		delete(c.refuse, strings.TrimPrefix(s.Action, "accept "))
	default:
		err = fmt.Errorf("unknown action %q", s.Action)
	}
	if err != nil {
		c.t.Fatalf("%s: %v", s.At, err)
	}
}

// finish ends a Job as the job controller does.
func (c *cluster) finish(s step) error {
	found, err := c.client.Tracker().Get(jobs, metav1.NamespaceDefault, s.Name)
	if err != nil {
		return err
	}
	job, now := found.(*batchv1.Job).DeepCopy(), metav1.NewTime(s.At)
	if job.Status.StartTime == nil {
		job.Status.StartTime = &job.CreationTimestamp
	}
	if s.Condition == batchv1.JobComplete {
		job.Status.CompletionTime = &now
	}
	job.Status.Conditions = []batchv1.JobCondition{{Type: s.Condition, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	job.ResourceVersion = c.version()
	return c.client.Tracker().Update(jobs, job, job.Namespace)
}

// edit changes the spec, the limits of it and whether it is being deleted, and leaves the status.
func (c *cluster) edit(wanted *batchv1.CronJob) error {
	found, err := c.client.Tracker().Get(cronJobs, wanted.Namespace, wanted.Name)
	if err != nil {
		return err
	}
	cronJob := found.(*batchv1.CronJob).DeepCopy()
	cronJob.Generation++
	cronJob.ResourceVersion = c.version()
	cronJob.Spec, cronJob.DeletionTimestamp, cronJob.Finalizers = wanted.Spec, wanted.DeletionTimestamp, wanted.Finalizers
	return c.client.Tracker().Update(cronJobs, cronJob, cronJob.Namespace)
}

func (c *cluster) version() string {
	c.versions++
	return fmt.Sprint(1000 + c.versions)
}

func refusal(name string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, name, fmt.Errorf("by policy"))
}

func instant(t *metav1.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
