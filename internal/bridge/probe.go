package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/utils/clock"
)

// ErrBuiltInRuns is returned by Run when Jobs are to be taken over from a
// controller that reconciles them still.
var ErrBuiltInRuns = errors.New("the built-in job controller runs")

const (
	// probeWait is how long the built-in job controller has to give the probe its
	// condition. It takes about a second where it has nothing else to do.
	probeWait = 6 * time.Second
	// probePeriod is the time between two looks.
	probePeriod = 250 * time.Millisecond
	// probeName begins the name of every probe.
	probeName = "ostinato-takeover-probe-"
	// probeAge is beyond the time for which any bridge needs its probe.
	probeAge = time.Minute
)

// prober asks whether the built-in job controller runs, by a Job that only it
// would touch.
type prober struct {
	jobs      typedbatchv1.JobInterface
	namespace string
	logger    *slog.Logger
	clock     clock.WithTicker
}

// run returns an ErrBuiltInRuns when the built-in controller runs. Where that
// can't be told, for lack of rights say, it says so in the log and returns nil,
// as it does when the context is done.
func (p *prober) run(ctx context.Context) error {
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
		return fmt.Errorf("%w: %s gave Job %s/%s a status, which the controller of unmarked Jobs alone does; two must not reconcile the same Jobs: "+
			"run kube-controller-manager with --controllers=*,-job-controller (docs/takeover.md), or bridge and workers without --takeover=jobs",
			ErrBuiltInRuns, rival, probe.Namespace, probe.Name)
	default:
		p.logger.Info("no other job controller answered, taking Jobs over", "waited", probeWait)
	}
	return nil
}

func (p *prober) cannotTell(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	p.logger.Warn("can't tell whether the built-in job controller runs, so taking Jobs over on trust; "+
		"make sure that kube-controller-manager runs with --controllers=*,-job-controller (docs/takeover.md)",
		"namespace", p.namespace, "error", err)
}

// create creates the probe. An API server that does not answer is asked again.
func (p *prober) create(ctx context.Context) (*batchv1.Job, error) {
	name := probeName + rand.String(5)
	var probe *batchv1.Job
	err := p.until(ctx, func(ctx context.Context) (done bool, err error) {
		probe, err = p.jobs.Create(ctx, probeJob(p.namespace, name), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			probe, err = p.jobs.Get(ctx, name, metav1.GetOptions{})
		}
		if err == nil {
			return true, nil
		}
		return refused(err), fmt.Errorf("create a suspended Job to see who answers: %w", err)
	})
	return probe, err
}

// refused reports whether the API server has answered, and would answer the same
// again: not allowed, over quota, not admitted.
func refused(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500 &&
		!apierrors.IsTooManyRequests(err) && !apierrors.IsTimeout(err)
}

// wait looks at the probe until somebody has given it a status, whom it returns,
// or the time is over.
func (p *prober) wait(ctx context.Context, probe *batchv1.Job) (rival string, err error) {
	if probe.Spec.ManagedBy != nil {
		return "", fmt.Errorf("admission handed Job %s/%s to %s", probe.Namespace, probe.Name, *probe.Spec.ManagedBy)
	}
	err = p.until(ctx, func(ctx context.Context) (done bool, err error) {
		live, err := p.jobs.Get(ctx, probe.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && live.UID != probe.UID:
			return true, fmt.Errorf("somebody deleted Job %s/%s", probe.Namespace, probe.Name)
		case err != nil:
			return apierrors.IsForbidden(err), fmt.Errorf("get Job %s/%s: %w", probe.Namespace, probe.Name, err)
		}
		rival = rivalOf(live)
		return rival != "", nil
	})
	return rival, err
}

// until calls try now and every probePeriod, until it is done, the time is over
// or the context is. It returns the last call's error.
func (p *prober) until(ctx context.Context, try func(context.Context) (done bool, err error)) error {
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

// remove deletes the probe, also when the process is told to stop.
func (p *prober) remove(ctx context.Context, probe *batchv1.Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	background := metav1.DeletePropagationBackground
	err := p.jobs.Delete(ctx, probe.Name, metav1.DeleteOptions{
		PropagationPolicy: &background,
		Preconditions:     &metav1.Preconditions{UID: &probe.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		p.logger.Warn("probe not deleted; delete the Job by hand, or let the next start try",
			"namespace", probe.Namespace, "name", probe.Name, "error", err)
	}
}

// sweep deletes probes that a killed bridge left.
func (p *prober) sweep(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := p.jobs.List(call, metav1.ListOptions{LabelSelector: probeLabel})
	if err != nil {
		p.logger.Warn("can't look for probes that an earlier process left", "namespace", p.namespace, "error", err)
		return
	}
	for _, left := range leftProbes(list.Items, p.clock.Now()) {
		p.remove(ctx, &left)
	}
}
