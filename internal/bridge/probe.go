package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/k8s"
)

// ErrBuiltInRuns is returned by Run when Jobs or CronJobs are to be taken over from a controller that still reconciles them.
var ErrBuiltInRuns = errors.New("the built-in controller runs")

const (
	// probeWait is how long the built-in controller has to touch the probe. It takes about a second if it has nothing else to do.
	probeWait = 6 * time.Second
	// probePeriod is the time between two looks.
	probePeriod = 250 * time.Millisecond
	// probeName begins the name of every probe.
	probeName = "ostinato-takeover-probe-"
	// probeAge is beyond the time for which any bridge needs its probe.
	probeAge = time.Minute
	// probeManager is the field manager of the status that a bridge gives its own probe.
	probeManager = "ostinato-takeover-probe"
)

// prober asks whether a built-in controller runs, by an object that only that controller would touch.
type prober[T metav1.Object, L runtime.Object] struct {
	*Bridge
	// kind is the probe's, did says what the controller does to it.
	kind, did string
	client    probeClient[T, L]
	probe     T
	// status is what the probe's is set to before anybody is waited for; nil leaves it alone.
	status any
	// rival returns who has touched the probe, empty if it is untouched. An error says that the probe tells nothing.
	rival func(T) (string, error)
}

// probeClient is client-go's for the objects of one type and namespace.
type probeClient[T, L any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Get(context.Context, string, metav1.GetOptions) (T, error)
	List(context.Context, metav1.ListOptions) (L, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// probe returns an error when Jobs or CronJobs are to be taken over and their built-in controller runs.
func (b *Bridge) probe(ctx context.Context) error {
	var group sync.WaitGroup
	var cronJobs, jobs error
	name := probeName + rand.String(5)
	if b.objects.owner.takeOver.CronJobs {
		// The built-in cronjob controller takes the name of a Job that does not exist out of every CronJob's status, the
		// suspended included (parity 1.6, step 4), and does nothing else to it.
		p := prober[*batchv1.CronJob, *batchv1.CronJobList]{
			Bridge: b, kind: "CronJob", did: "another status, which the controller of batch/v1 CronJobs alone does",
			client: b.Clients.Kubernetes.BatchV1().CronJobs(ProbeNamespace),
			probe:  probeCronJob(ProbeNamespace, name),
			status: batchv1.CronJobStatus{Active: probeActive(ProbeNamespace, name)},
			rival:  cronJobRival,
		}
		group.Go(func() { cronJobs = p.run(ctx) })
	}
	if b.objects.owner.takeOver.Jobs {
		p := prober[*batchv1.Job, *batchv1.JobList]{
			Bridge: b, kind: "Job", did: "a status, which the controller of unmarked Jobs alone does",
			client: b.Clients.Kubernetes.BatchV1().Jobs(ProbeNamespace),
			probe:  probeJob(ProbeNamespace, name),
			rival:  jobRival,
		}
		group.Go(func() { jobs = p.run(ctx) })
	}
	group.Wait()
	return errors.Join(cronJobs, jobs)
}

// run returns an ErrBuiltInRuns when the built-in controller runs, and nil when the context is done or when there is no
// telling, for lack of rights say, which it logs.
func (p *prober[T, L]) run(ctx context.Context) error {
	p.sweep(ctx)
	probe, err := p.create(ctx)
	var rival string
	if err == nil {
		defer p.remove(ctx, probe)
		rival, err = p.wait(ctx, probe)
	}
	name := strings.ToLower(p.kind)
	remedy := "kube-controller-manager with --controllers=*,-" + name + "-controller (docs/takeover.md)"
	switch {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		p.Logger.Warn("can't tell whether the built-in "+name+" controller runs, so taking "+p.kind+"s over on trust; make sure to run "+remedy,
			"namespace", p.probe.GetNamespace(), "error", err)
	case rival != "":
		return fmt.Errorf("%w: %s gave %s %s/%s %s; two must not reconcile the same %ss: run %s, or bridge and workers without --takeover=%ss",
			ErrBuiltInRuns, rival, p.kind, probe.GetNamespace(), probe.GetName(), p.did, p.kind, remedy, name)
	default:
		p.Logger.Info("no other "+name+" controller answered, taking "+p.kind+"s over", "waited", probeWait)
	}
	return nil
}

// create creates the probe. An API server that does not answer is asked again.
func (p *prober[T, L]) create(ctx context.Context) (created T, err error) {
	err = p.until(ctx, func(ctx context.Context) (done bool, err error) {
		created, err = p.client.Create(ctx, p.probe, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			created, err = p.client.Get(ctx, p.probe.GetName(), metav1.GetOptions{})
		}
		if err == nil {
			return true, nil
		}
		return refused(err), fmt.Errorf("create a suspended %s to see who answers: %w", p.kind, err)
	})
	return created, err
}

// refused reports whether the API server has answered, and would answer the same again: not allowed, over quota, not admitted.
func refused(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500 &&
		!apierrors.IsTooManyRequests(err) && !apierrors.IsTimeout(err)
}

// wait looks at the probe until the time is over or a rival has touched it. It returns the rival.
func (p *prober[T, L]) wait(ctx context.Context, probe T) (rival string, err error) {
	err = p.until(ctx, func(ctx context.Context) (done bool, err error) {
		live, err := p.look(ctx)
		switch {
		case apierrors.IsNotFound(err) || err == nil && live.GetUID() != probe.GetUID():
			return true, fmt.Errorf("%s %s/%s was deleted", p.kind, probe.GetNamespace(), probe.GetName())
		case err != nil:
			return apierrors.IsForbidden(err), fmt.Errorf("look at %s %s/%s: %w", p.kind, probe.GetNamespace(), probe.GetName(), err)
		}
		rival, err = p.rival(live)
		return rival != "" || err != nil, err
	})
	return rival, err
}

// look returns the probe as it is now. The first look sets its status.
func (p *prober[T, L]) look(ctx context.Context) (live T, err error) {
	if p.status == nil {
		return p.client.Get(ctx, p.probe.GetName(), metav1.GetOptions{})
	}
	patch, err := json.Marshal(map[string]any{"status": p.status})
	if err != nil {
		return live, fmt.Errorf("encode the probe's status: %w", err)
	}
	live, err = p.client.Patch(ctx, p.probe.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: probeManager}, "status")
	if err == nil {
		p.status = nil
	}
	return live, err
}

// until calls try now and every probePeriod, until it or the context is done or the time is over. It returns the last error.
func (p *prober[T, L]) until(ctx context.Context, try func(context.Context) (done bool, err error)) error {
	end := p.Clock.Now().Add(probeWait)
	ticker := p.Clock.NewTicker(probePeriod)
	defer ticker.Stop()
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		done, err := try(call)
		cancel()
		if done || !p.Clock.Now().Before(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C():
		}
	}
}

// remove deletes a probe, also when the process is told to stop.
func (p *prober[T, L]) remove(ctx context.Context, probe metav1.Object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	err := p.client.Delete(ctx, probe.GetName(), metav1.DeleteOptions{
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
		Preconditions:     metav1.NewUIDPreconditions(string(probe.GetUID())),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		p.Logger.Warn("probe not deleted; delete the "+p.kind+" by hand, or let the next start try",
			"namespace", probe.GetNamespace(), "name", probe.GetName(), "error", err)
	}
}

// sweep deletes probes that a killed bridge left: no bridge still looks at them.
func (p *prober[T, L]) sweep(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := p.client.List(call, metav1.ListOptions{LabelSelector: probeLabel})
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			if probe, ok := item.(metav1.Object); ok && p.Clock.Since(probe.GetCreationTimestamp().Time) > probeAge {
				p.remove(ctx, probe)
			}
			return nil
		})
	}
	if err != nil {
		p.Logger.Warn("can't look for probes that an earlier process left", "namespace", p.probe.GetNamespace(), "error", err)
	}
}

// probeJob returns a Job that starts no Pod and that the built-in job controller gives a condition at once: it is suspended.
func probeJob(namespace, name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: probeMeta(namespace, name, "Job", "Pod"), Spec: probeSpec()}
}

// probeCronJob returns a CronJob that never starts a Job: it is suspended, and its schedule names a day that does not come.
func probeCronJob(namespace, name string) *batchv1.CronJob {
	return &batchv1.CronJob{
		ObjectMeta: probeMeta(namespace, name, "CronJob", "Job"),
		Spec: batchv1.CronJobSpec{
			Schedule:          "0 0 31 2 *",
			Suspend:           ptr.To(true),
			ConcurrencyPolicy: batchv1.ForbidConcurrent,
			JobTemplate:       batchv1.JobTemplateSpec{Spec: probeSpec()},
		},
	}
}

// probeActive is what the status of a probe calls active: no Job of this name exists.
func probeActive(namespace, name string) []corev1.ObjectReference {
	return []corev1.ObjectReference{{
		APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Namespace: namespace, Name: name, UID: types.UID(name),
	}}
}

func probeMeta(namespace, name, kind, never string) metav1.ObjectMeta {
	controller := strings.ToLower(kind)
	return metav1.ObjectMeta{
		Namespace: namespace,
		Name:      name,
		Labels:    map[string]string{probeLabel: controller + "s", "app.kubernetes.io/managed-by": Component},
		Annotations: map[string]string{"kubernetes.io/description": fmt.Sprintf("Ostinato looks whether the built-in %s controller runs. "+
			"This %s never starts a %s and is deleted within seconds.", controller, kind, never)},
	}
}

func probeSpec() batchv1.JobSpec {
	return batchv1.JobSpec{
		Suspend:      ptr.To(true),
		Parallelism:  ptr.To[int32](0),
		Completions:  ptr.To[int32](1),
		BackoffLimit: ptr.To[int32](0),
		// Admission looks at a template whose Pods never come to be.
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "none", Image: "none.invalid/none",
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		}},
	}
}

// jobRival returns who gave a probe a status. It is empty while the probe has none, or only one of a worker of ours,
// which a writer of Temporal may have asked for. Admission may have handed the probe to another controller, as Kueue
// does.
func jobRival(probe *batchv1.Job) (string, error) {
	switch {
	case probe.Spec.ManagedBy != nil:
		return "", fmt.Errorf("admission handed the probe over to %s: Job %s/%s", *probe.Spec.ManagedBy, probe.Namespace, probe.Name)
	case equality.Semantic.DeepEqual(probe.Status, batchv1.JobStatus{}):
		return "", nil
	}
	return lastWriter(probe.ManagedFields, k8s.JobFieldManager), nil
}

// cronJobRival returns who changed the status of an armed probe. Who only takes the name out, as the built-in controller
// does, sets nothing that the API server would note.
func cronJobRival(probe *batchv1.CronJob) (string, error) {
	if equality.Semantic.DeepEqual(probe.Status, batchv1.CronJobStatus{Active: probeActive(probe.Namespace, probe.Name)}) {
		return "", nil
	}
	return lastWriter(probe.ManagedFields, k8s.CronJobFieldManager), nil
}

// lastWriter returns who wrote the status last, other than ours and who armed the probe; empty where only ours has.
func lastWriter(entries []metav1.ManagedFieldsEntry, ours string) string {
	var rival string
	var last time.Time
	byUs := false
	for _, entry := range entries {
		switch {
		case !isStatusWrite(entry), entry.Manager == probeManager:
		case entry.Manager == ours:
			byUs = true
		case entry.Time.After(last):
			rival, last = entry.Manager, entry.Time.Time
		}
	}
	if rival == "" && !byUs {
		return "another controller"
	}
	return rival
}

// builtInLogPeriod is the shortest time between two lines about the built-in controllers' writes.
const builtInLogPeriod = time.Minute

// reportRival reports that a built-in controller has written the status of a Job or CronJob that is taken over. The probe
// at start may have come before that controller was started.
func (c *controller) reportRival(kind kind, object metav1.Object, writes prometheus.Counter) {
	writes.Inc()
	if c.rivalLog.TryAccept() {
		name := strings.ToLower(kind.word())
		c.Logger.Error(fmt.Sprintf("kube-controller-manager wrote the status of a %s taken over, so its %s controller runs too; "+
			"run it with --controllers=*,-%s-controller (docs/takeover.md), or bridge and workers without --takeover=%ss", kind.word(), name, name, name),
			"namespace", object.GetNamespace(), "name", object.GetName())
	}
}
