package histories

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/schedule"
)

// asked is a request to the API server, such as "create jobs".
type asked struct {
	what   string
	name   string
	dryRun bool
	// manual says that it is about the Job of a run that somebody has asked for.
	manual bool
	// sent is when it was sent, answered when the client had its answer, or gave it up; zero while it waits.
	sent, answered time.Time
}

// wire is the connection of a process to the API server.
type wire struct {
	world   *world
	process *process
}

// ask sends a request, which meets what troubles there are. What is asked does not depend on the process once it is sent.
func ask[Object any](ctx context.Context, w wire, request asked, serve func() (Object, error)) (answer Object, err error) {
	if err := w.process.stands(ctx); err != nil {
		return answer, err
	}
	inTurn(ctx, request)
	done := w.world.cluster.sends(&request)
	defer done()
	fate, spec := w.world.cluster.fateOf(request), schedule.SpecOf(w.world.cluster.peek())
	takes := func() (Object, error) {
		defer w.world.cluster.sentWith(&spec)()
		return serve()
	}
	if fate.later > 0 {
		w.world.agenda.Plan(time.Now().Add(fate.takes+fate.later), func() { _, _ = takes() })
	}
	if err := pause(ctx, fate.takes); err != nil {
		if fate.lands {
			// The API server goes on with what its client does not wait for.
			w.world.agenda.Plan(request.sent.Add(fate.takes), func() { _, _ = takes() })
		}
		return answer, err
	}
	if fate.err == nil {
		answer, err = takes()
	} else if fate.lands {
		_, _ = takes()
	}
	if stands := w.process.stands(ctx); stands != nil {
		return answer, stands
	}
	if fate.err != nil {
		return *new(Object), w.world.cluster.answeredWith(request, fate.err)
	}
	return answer, err
}

// inTurn has requests that are made side by side come in an order that follows from what they are, so that a history is the same
// whenever it is played.
func inTurn(ctx context.Context, request asked) {
	sum := fnv.New32a()
	fmt.Fprint(sum, ctx.Value(activityKey{}), request.what, request.name)
	time.Sleep(time.Duration(1+sum.Sum32()%997) * time.Microsecond)
}

// pause waits, unless a context ends before.
func pause(ctx context.Context, duration time.Duration) error {
	if duration <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(duration):
		return nil
	}
}

// sends notes a request that is under way, until its client has the answer.
func (c *cluster) sends(request *asked) (done func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	request.sent = time.Now().UTC()
	c.requests = append(c.requests, request)
	return func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if request.answered = time.Now().UTC(); request.answered.Equal(request.sent) {
			c.requests = slices.DeleteFunc(c.requests, func(one *asked) bool { return one == request })
		}
	}
}

// peek is the CronJob as it is stored.
func (c *cluster) peek() *ostinatov1.CronJob {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.stored()
}

// sentWith says with which spec the request was sent that is served now.
func (c *cluster) sentWith(spec *schedule.Spec) (done func()) {
	c.turn.Lock()
	c.mutex.Lock()
	c.sent = spec
	c.mutex.Unlock()
	return func() {
		c.mutex.Lock()
		c.sent = nil
		c.mutex.Unlock()
		c.turn.Unlock()
	}
}

// answeredWith notes an answer that is an error.
func (c *cluster) answeredWith(request asked, err error) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.lost {
		return errLost
	}
	switch {
	case request.what == "create jobs" && !request.dryRun:
		c.note(taken{what: "refused", name: request.name, err: err})
	case request.what == "get cronjobs", request.what == "get jobs":
		c.note(taken{what: "unread", name: request.name, err: err})
	case request.what == "delete jobs":
		c.note(taken{what: "left", name: request.name, err: err})
	}
	return err
}

// kubernetesOn is a process's client.
type kubernetesOn struct {
	kubernetes.Interface
	wire wire
}

func (k kubernetesOn) BatchV1() batchclient.BatchV1Interface {
	return batchOn{k.Interface.BatchV1(), k.wire}
}
func (k kubernetesOn) CoreV1() coreclient.CoreV1Interface {
	return coreOn{k.Interface.CoreV1(), k.wire}
}

type batchOn struct {
	batchclient.BatchV1Interface
	wire wire
}

func (b batchOn) Jobs(namespace string) batchclient.JobInterface {
	return jobsOn{b.BatchV1Interface.Jobs(namespace), namespace, b.wire}
}

type jobsOn struct {
	batchclient.JobInterface
	namespace string
	wire      wire
}

// of is the client for the Job of a name.
func (j jobsOn) of(name string) (wire, batchclient.JobInterface) {
	to := j.wire.to(j.namespace, ownerOf(name))
	return to, to.world.cluster.kubernetes.BatchV1().Jobs(j.namespace)
}

func (j jobsOn) Create(ctx context.Context, job *batchv1.Job, options metav1.CreateOptions) (*batchv1.Job, error) {
	wire, client := j.of(job.Name)
	request := asked{what: "create jobs", name: job.Name, dryRun: len(options.DryRun) > 0}
	_, request.manual = scheduledTime(job)
	return ask(ctx, wire, request, func() (*batchv1.Job, error) { return client.Create(ctx, job, options) })
}

func (j jobsOn) Get(ctx context.Context, name string, options metav1.GetOptions) (*batchv1.Job, error) {
	wire, client := j.of(name)
	return ask(ctx, wire, asked{what: "get jobs", name: name}, func() (*batchv1.Job, error) { return client.Get(ctx, name, options) })
}

func (j jobsOn) List(ctx context.Context, options metav1.ListOptions) (*batchv1.JobList, error) {
	if j.namespace != j.wire.world.cluster.namespace {
		// Those of the neighbours are not looked for.
		return &batchv1.JobList{}, nil
	}
	return ask(ctx, j.wire, asked{what: "list jobs"}, func() (*batchv1.JobList, error) { return j.JobInterface.List(ctx, options) })
}

func (j jobsOn) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	wire, client := j.of(name)
	_, err := ask(ctx, wire, asked{what: "delete jobs", name: name}, func() (struct{}, error) {
		return struct{}{}, client.Delete(ctx, name, options)
	})
	return err
}

func (j jobsOn) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*batchv1.Job, error) {
	wire, client := j.of(name)
	return ask(ctx, wire, asked{what: "patch jobs", name: name}, func() (*batchv1.Job, error) {
		return client.Patch(ctx, name, kind, data, options, subresources...)
	})
}

type coreOn struct {
	coreclient.CoreV1Interface
	wire wire
}

func (c coreOn) Pods(namespace string) coreclient.PodInterface {
	return podsOn{c.CoreV1Interface.Pods(namespace), namespace, c.wire}
}

type podsOn struct {
	coreclient.PodInterface
	namespace string
	wire      wire
}

func (p podsOn) Create(ctx context.Context, pod *corev1.Pod, options metav1.CreateOptions) (*corev1.Pod, error) {
	wire := p.wire
	if owner := metav1.GetControllerOf(pod); owner != nil {
		wire = wire.to(p.namespace, ownerOf(owner.Name))
	}
	client := wire.world.cluster.kubernetes.CoreV1().Pods(p.namespace)
	return ask(ctx, wire, asked{what: "create pods", name: pod.Name}, func() (*corev1.Pod, error) { return client.Create(ctx, pod, options) })
}

// cronJobsOn is a process's client of CronJobs.
type cronJobsOn struct{ wire wire }

func (c cronJobsOn) CronJobs(namespace string) k8s.CronJobInterface {
	return cronJobOn{c.wire.world.cluster.cronJobs.CronJobs(namespace), namespace, c.wire}
}

type cronJobOn struct {
	k8s.CronJobInterface
	namespace string
	wire      wire
}

// of is the client for the CronJob of a name.
func (c cronJobOn) of(name string) (wire, k8s.CronJobInterface) {
	to := c.wire.to(c.namespace, name)
	return to, to.world.cluster.cronJobs.CronJobs(c.namespace)
}

func (c cronJobOn) Get(ctx context.Context, name string, options metav1.GetOptions) (*ostinatov1.CronJob, error) {
	wire, client := c.of(name)
	return ask(ctx, wire, asked{what: "get cronjobs"}, func() (*ostinatov1.CronJob, error) { return client.Get(ctx, name, options) })
}

func (c cronJobOn) UpdateStatus(ctx context.Context, object *ostinatov1.CronJob, options metav1.UpdateOptions) (*ostinatov1.CronJob, error) {
	wire, client := c.of(object.Name)
	return ask(ctx, wire, asked{what: "update cronjobs/status"}, func() (*ostinatov1.CronJob, error) {
		return client.UpdateStatus(ctx, object, options)
	})
}

func (c cronJobOn) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*ostinatov1.CronJob, error) {
	wire, client := c.of(name)
	return ask(ctx, wire, asked{what: "patch cronjobs"}, func() (*ostinatov1.CronJob, error) {
		return client.Patch(ctx, name, kind, data, options, subresources...)
	})
}

// errStands says that a process that stood still has missed the end of its request.
var errStands = errors.New("the process stood still")
