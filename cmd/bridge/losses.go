package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/internal/bridge"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/process"
)

const (
	// lossesEvery is how often Temporal is asked: it may have been replaced, which a connection outlives.
	lossesEvery = time.Minute
	// lossesWithin bounds the calls of one look.
	lossesWithin = 10 * time.Second
)

// losses tells people what the databases of Temporal have lost, and the metrics that the server is short of something. The server says both
// among the data of its namespace, as long as it is so.
type losses struct {
	// ask returns what Temporal says, by the keys of names.
	ask func(context.Context) (map[string]string, error)
	// short is told whether Temporal is short of something.
	short      func(bool)
	kubernetes kubernetes.Interface
	// namespace is that of the bridge's lease, empty without one: then the log alone tells.
	namespace string
	logger    *slog.Logger
	// told was told last.
	told string
}

func newLosses(p *process.Process, metrics *bridge.Metrics, settings config.LeaderElection) *losses {
	l := &losses{kubernetes: p.Kubernetes.Kubernetes, logger: p.Logger, short: metrics.TemporalIsShort, ask: func(ctx context.Context) (map[string]string, error) {
		described, err := p.Temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: p.TemporalNamespace})
		if err != nil {
			return nil, fmt.Errorf("describe namespace %s of Temporal: %w", p.TemporalNamespace, err)
		}
		return described.GetNamespaceInfo().GetData(), nil
	}}
	if settings.Enabled {
		l.namespace = settings.Namespace
	}
	return l
}

// watch looks until the context ends.
func (l *losses) watch(ctx context.Context) {
	for {
		l.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(lossesEvery):
		}
	}
}

// look tells what is lost if it has not been told. A failure is no trouble of the bridge's: the next look tries again.
func (l *losses) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lossesWithin)
	defer cancel()
	said, err := l.ask(ctx)
	if err != nil {
		l.logger.Debug("whether Temporal has lost data is not known", "error", err)
		return
	}
	l.short(said[names.TemporalShortData] != "")
	lost := said[names.TemporalLostData]
	if lost == l.told {
		return
	}
	if lost != "" {
		l.logger.Warn("Temporal has lost data; CronJobs and Jobs go on from their objects", "lost", lost)
		err = l.emit(ctx, lost)
	}
	if err != nil {
		l.logger.Warn("no Event says that Temporal has lost data, will try again", "error", err)
		return
	}
	l.told = lost
}

// emit makes the Event unless it is there: its name comes from what is lost, so that neither another bridge nor a restart repeats it.
func (l *losses) emit(ctx context.Context, lost string) error {
	if l.namespace == "" {
		return nil
	}
	now := metav1.Now()
	made := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: fmt.Sprintf("%s.%x", bridge.Lease, sha256.Sum256([]byte(lost)))},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease", Namespace: l.namespace, Name: bridge.Lease,
		},
		Type: corev1.EventTypeWarning, Reason: event.TemporalDataLost,
		Message: clip.Text("CronJobs and Jobs go on from their objects. "+lost, event.MaxMessage),
		Source:  corev1.EventSource{Component: bridge.Component}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	_, err := l.kubernetes.CoreV1().Events(l.namespace).Create(ctx, made, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Event %s/%s: %w", l.namespace, made.Name, err)
	}
	return nil
}
