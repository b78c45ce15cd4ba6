package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/clock"
)

// ErrBuiltInRuns is returned by Run when Jobs or CronJobs are to be taken over from a
// controller that reconciles them still.
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
)

// probeSubject is an object that only the built-in controller would touch.
type probeSubject interface {
	// words says what is taken over.
	words() probeWords
	// create creates the probe, or finds it.
	create(ctx context.Context, name string) (metav1.Object, error)
	// look returns the probe as it is now, and who touched it, if anybody.
	look(ctx context.Context, name string) (probe metav1.Object, rival string, err error)
	// list returns all probes that there are.
	list(ctx context.Context) ([]metav1.Object, error)
	delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// probeWords are a subject's words for people.
type probeWords struct {
	// kind is the probe's, objects what is taken over, controller who has them, flag the
	// value of --takeover, did what the controller did to a probe.
	kind, objects, controller, flag, did string
}

// remedy says what to change.
func (w probeWords) remedy() string {
	return "kube-controller-manager with --controllers=*,-" + strings.ReplaceAll(w.controller, " ", "-") + " (docs/takeover.md)"
}

// prober asks whether a built-in controller runs, by a probe.
type prober struct {
	subject   probeSubject
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
	words := p.subject.words()
	switch {
	case err != nil:
		p.cannotTell(ctx, err)
	case rival != "":
		return fmt.Errorf("%w: %s gave %s %s/%s %s; two must not reconcile the same %s: run %s, or bridge and workers without --takeover=%s",
			ErrBuiltInRuns, rival, words.kind, probe.GetNamespace(), probe.GetName(), words.did, words.objects, words.remedy(), words.flag)
	default:
		p.logger.Info("no other "+words.controller+" answered, taking "+words.objects+" over", "waited", probeWait)
	}
	return nil
}

func (p *prober) cannotTell(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	words := p.subject.words()
	p.logger.Warn("can't tell whether the built-in "+words.controller+" runs, so taking "+words.objects+" over on trust; make sure to run "+words.remedy(),
		"namespace", p.namespace, "error", err)
}

// create creates the probe. An API server that does not answer is asked again.
func (p *prober) create(ctx context.Context) (probe metav1.Object, err error) {
	name := probeName + rand.String(5)
	err = p.until(ctx, func(ctx context.Context) (done bool, err error) {
		probe, err = p.subject.create(ctx, name)
		if err == nil {
			return true, nil
		}
		return refused(err), fmt.Errorf("create a suspended %s to see who answers: %w", p.subject.words().kind, err)
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

// wait looks at the probe until somebody has touched it, whom it returns, or the time is
// over.
func (p *prober) wait(ctx context.Context, probe metav1.Object) (rival string, err error) {
	kind := p.subject.words().kind
	err = p.until(ctx, func(ctx context.Context) (done bool, err error) {
		live, by, err := p.subject.look(ctx, probe.GetName())
		switch {
		case apierrors.IsNotFound(err) || err == nil && live.GetUID() != probe.GetUID():
			return true, fmt.Errorf("somebody deleted %s %s/%s", kind, probe.GetNamespace(), probe.GetName())
		case errors.Is(err, errHandedOver):
			return true, err
		case err != nil:
			return apierrors.IsForbidden(err), fmt.Errorf("look at %s %s/%s: %w", kind, probe.GetNamespace(), probe.GetName(), err)
		}
		rival = by
		return rival != "", nil
	})
	return rival, err
}

// errHandedOver says that admission made the probe one that tells nothing.
var errHandedOver = errors.New("admission handed the probe over")

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
func (p *prober) remove(ctx context.Context, probe metav1.Object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	background, uid := metav1.DeletePropagationBackground, probe.GetUID()
	err := p.subject.delete(ctx, probe.GetName(), metav1.DeleteOptions{
		PropagationPolicy: &background,
		Preconditions:     &metav1.Preconditions{UID: &uid},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		p.logger.Warn("probe not deleted; delete the "+p.subject.words().kind+" by hand, or let the next start try",
			"namespace", probe.GetNamespace(), "name", probe.GetName(), "error", err)
	}
}

// sweep deletes probes that a killed bridge left.
func (p *prober) sweep(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := p.subject.list(call)
	if err != nil {
		p.logger.Warn("can't look for probes that an earlier process left", "namespace", p.namespace, "error", err)
		return
	}
	for _, left := range leftProbes(list, p.clock.Now()) {
		p.remove(ctx, left)
	}
}
