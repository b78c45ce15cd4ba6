package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// ErrBuiltInRuns is returned by Run when Jobs or CronJobs are to be taken over from a
// controller that still reconciles them.
var ErrBuiltInRuns = errors.New("the built-in controller runs")

const (
	// probeWait is how long the built-in controller has to touch the probe. It takes
	// about a second where it has nothing else to do.
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

// prober asks whether a built-in controller runs, by an object that only that controller
// would touch.
type prober[T metav1.Object] struct {
	// kind is the probe's, did says what the controller does to it.
	kind, did string
	client    probeClient[T]
	list      func(context.Context, metav1.ListOptions) (runtime.Object, error)
	probe     T
	// status is what the probe's is set to before anybody is waited for; nil leaves it alone.
	status any
	// rival returns who has touched the probe, empty where nobody has. An error says that the
	// probe tells nothing.
	rival  func(T) (string, error)
	logger *slog.Logger
	clock  clock.WithTicker
}

// probeClient is client-go's for the objects of one type and namespace.
type probeClient[T any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// probe returns an error when Jobs or CronJobs are to be taken over and their built-in
// controller runs.
func (b *Bridge) probe(ctx context.Context) error {
	var probes []func(context.Context) error
	namespace, name := b.objects.owner.probeNamespace, probeName+rand.String(5)
	if b.objects.owner.takeOverCronJobs {
		// The built-in cronjob controller takes the name of a Job that does not exist out of every
		// CronJob's status, the suspended included (parity 1.6, step 4), and does nothing else to it.
		client := b.Clients.Kubernetes.BatchV1().CronJobs(namespace)
		p := prober[*batchv1.CronJob]{
			kind: "CronJob", did: "another status, which the controller of batch/v1 CronJobs alone does",
			client: client,
			list:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
			probe:  probeCronJob(namespace, name),
			status: batchv1.CronJobStatus{Active: probeActive(namespace, name)},
			rival:  func(probe *batchv1.CronJob) (string, error) { return cronJobRivalOf(probe), nil },
			logger: b.Logger, clock: b.Clock,
		}
		probes = append(probes, p.run)
	}
	if b.objects.owner.takeOverJobs {
		client := b.Clients.Kubernetes.BatchV1().Jobs(namespace)
		p := prober[*batchv1.Job]{
			kind: "Job", did: "a status, which the controller of unmarked Jobs alone does",
			client: client,
			list:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
			probe:  probeJob(namespace, name),
			rival:  jobRival,
			logger: b.Logger, clock: b.Clock,
		}
		probes = append(probes, p.run)
	}
	problems := make([]error, len(probes))
	var group sync.WaitGroup
	for i, run := range probes {
		group.Go(func() { problems[i] = run(ctx) })
	}
	group.Wait()
	return errors.Join(problems...)
}

// jobRival returns who has touched a probe, a Job. Admission may have handed it to another
// controller, as Kueue does.
func jobRival(probe *batchv1.Job) (string, error) {
	if probe.Spec.ManagedBy != nil {
		return "", fmt.Errorf("admission handed the probe over to %s: Job %s/%s", *probe.Spec.ManagedBy, probe.Namespace, probe.Name)
	}
	return rivalOf(probe), nil
}

// run returns an ErrBuiltInRuns when the built-in controller runs. Where that
// can't be told, for lack of rights say, it says so in the log and returns nil,
// as it does when the context is done.
func (p *prober[T]) run(ctx context.Context) error {
	p.sweep(ctx)
	probe, err := p.create(ctx)
	if err != nil {
		p.cannotTell(ctx, err)
		return nil
	}
	defer p.remove(ctx, probe)
	rival, err := p.wait(ctx, probe)
	switch {
	case err != nil:
		p.cannotTell(ctx, err)
	case rival != "":
		return fmt.Errorf("%w: %s gave %s %s/%s %s; two must not reconcile the same %ss: run %s, or bridge and workers without --takeover=%ss",
			ErrBuiltInRuns, rival, p.kind, probe.GetNamespace(), probe.GetName(), p.did, p.kind, p.remedy(), strings.ToLower(p.kind))
	default:
		p.logger.Info("no other "+strings.ToLower(p.kind)+" controller answered, taking "+p.kind+"s over", "waited", probeWait)
	}
	return nil
}

// remedy says what to change.
func (p *prober[T]) remedy() string {
	return "kube-controller-manager with --controllers=*,-" + strings.ToLower(p.kind) + "-controller (docs/takeover.md)"
}

func (p *prober[T]) cannotTell(ctx context.Context, err error) {
	if ctx.Err() == nil {
		p.logger.Warn("can't tell whether the built-in "+strings.ToLower(p.kind)+" controller runs, so taking "+p.kind+"s over on trust; make sure to run "+p.remedy(),
			"namespace", p.probe.GetNamespace(), "error", err)
	}
}

// create creates the probe. An API server that does not answer is asked again.
func (p *prober[T]) create(ctx context.Context) (created T, err error) {
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

// refused reports whether the API server has answered, and would answer the same
// again: not allowed, over quota, not admitted.
func refused(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500 &&
		!apierrors.IsTooManyRequests(err) && !apierrors.IsTimeout(err)
}

// wait looks at the probe until somebody has touched it, whom it returns, or the time is
// over.
func (p *prober[T]) wait(ctx context.Context, probe T) (rival string, err error) {
	err = p.until(ctx, func(ctx context.Context) (done bool, err error) {
		live, err := p.look(ctx)
		switch {
		case apierrors.IsNotFound(err) || err == nil && live.GetUID() != probe.GetUID():
			return true, fmt.Errorf("somebody deleted %s %s/%s", p.kind, probe.GetNamespace(), probe.GetName())
		case err != nil:
			return apierrors.IsForbidden(err), fmt.Errorf("look at %s %s/%s: %w", p.kind, probe.GetNamespace(), probe.GetName(), err)
		}
		rival, err = p.rival(live)
		return rival != "" || err != nil, err
	})
	return rival, err
}

// look returns the probe as it is now. The first look sets its status.
func (p *prober[T]) look(ctx context.Context) (live T, err error) {
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

// until calls try now and every probePeriod, until it is done, the time is over
// or the context is. It returns the last call's error.
func (p *prober[T]) until(ctx context.Context, try func(context.Context) (done bool, err error)) error {
	end := p.clock.Now().Add(probeWait)
	ticker := p.clock.NewTicker(probePeriod)
	defer ticker.Stop()
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		done, err := try(call)
		cancel()
		if done || !p.clock.Now().Before(end) {
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
func (p *prober[T]) remove(ctx context.Context, probe metav1.Object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	err := p.client.Delete(ctx, probe.GetName(), metav1.DeleteOptions{
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
		Preconditions:     metav1.NewUIDPreconditions(string(probe.GetUID())),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		p.logger.Warn("probe not deleted; delete the "+p.kind+" by hand, or let the next start try",
			"namespace", probe.GetNamespace(), "name", probe.GetName(), "error", err)
	}
}

// sweep deletes probes that a killed bridge left: no bridge still looks at them.
func (p *prober[T]) sweep(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := p.list(call, metav1.ListOptions{LabelSelector: probeLabel})
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			if probe, ok := item.(metav1.Object); ok && p.clock.Since(probe.GetCreationTimestamp().Time) > probeAge {
				p.remove(ctx, probe)
			}
			return nil
		})
	}
	if err != nil {
		p.logger.Warn("can't look for probes that an earlier process left", "namespace", p.probe.GetNamespace(), "error", err)
	}
}
