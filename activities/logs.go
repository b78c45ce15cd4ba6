package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// LogLimits bounds what is kept of the log of a Pod that failed: its last Lines
// lines, and of these the last Bytes bytes. Where either is 0 no log is asked for.
type LogLimits struct {
	Lines int
	Bytes int
}

const (
	// logsTimeout bounds the reading of all logs of one activity, and logTimeout that
	// of one log: a node that is away must not hold up the release of its Pods.
	logsTimeout = 3 * time.Second
	logTimeout  = 2 * time.Second
	// logsReserve is left of an activity's own time for the releases themselves.
	logsReserve = 1500 * time.Millisecond
	// maxLogTransfer bounds what is read of one log. The kubelet cuts the end off.
	maxLogTransfer = 256 * 1024
	// maxLogs and maxLogsBytes bound what one activity returns.
	maxLogs      = 100
	maxLogsBytes = 256 * 1024
	// forbiddenPause is how long no log is asked for after that was forbidden, awayPause how long none
	// of a node that did not answer.
	forbiddenPause = 10 * time.Minute
	awayPause      = time.Minute
	// maxAway bounds the nodes that are remembered.
	maxAway = 10_000
)

// Words for a log that is missing.
const (
	logsForbidden = "not allowed to read logs (pods/log)"
	logsTooMany   = "too many logs at once"
	logTimedOut   = "timeout"
	logGone       = "the Pod is gone"
)

// allNodes stands in Activities.noLogs for all nodes.
type allNodes struct{}

// readLogs reads the ends of the logs that the releases ask for. It never fails: a
// log that can't be read in time is missing, with the reason.
func (a *Activities) readLogs(ctx context.Context, owner *batchv1.Job, releases []job.Release, pods soughtPods) []job.PodLog {
	wanted := slices.DeleteFunc(slices.Clone(releases), func(release job.Release) bool { return !release.Logs })
	if len(wanted) == 0 {
		return nil
	}
	timeout := logsTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)-logsReserve)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	logs, _ := gather(wanted[:min(len(wanted), maxLogs)], func(release job.Release) (job.PodLog, error) {
		if missing, err := pods.missing(release.UID); err != nil || missing {
			return job.PodLog{UID: release.UID, Missing: logGone}, nil
		}
		lines, missing := a.readLog(ctx, owner, release)
		if missing == logGone {
			pods.strayed()
		}
		return job.PodLog{UID: release.UID, Lines: lines, Missing: missing}, nil
	})
	// What is too much for one result is dropped.
	size := 0
	for i := range logs {
		if size += len(logs[i].Lines); size > maxLogsBytes {
			size -= len(logs[i].Lines)
			logs[i].Lines, logs[i].Missing = "", logsTooMany
		}
	}
	for _, release := range wanted[len(logs):] {
		logs = append(logs, job.PodLog{UID: release.UID, Missing: logsTooMany})
	}
	return logs
}

// readLog returns the end of the log of a Pod, or why it is missing.
func (a *Activities) readLog(ctx context.Context, owner *batchv1.Job, release job.Release) (lines, reason string) {
	if a.Logs.Lines <= 0 || a.Logs.Bytes <= 0 {
		return "", "reading logs is switched off"
	}
	if _, forbidden := a.noLogs.Get(allNodes{}); forbidden {
		return "", logsForbidden
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	// A request for a log can't say which Job must own the Pod, so the Pod is read first.
	pod, err := k8s.GetPod(ctx, a.Kubernetes, owner.Namespace, release.Name, types.UID(release.UID))
	switch {
	case errors.Is(err, k8s.ErrGone), err == nil && !a.owns(owner, pod):
		return "", logGone
	case err != nil:
		return "", missing(err)
	// Anybody who may write to Temporal may have asked, and the log of a Pod that runs or has succeeded is no evidence.
	case pod.Status.Phase != corev1.PodFailed, release.Phase != corev1.PodFailed:
		return "", "the Pod has not failed"
	// The release that follows takes the finalizer, so that each log is read once.
	case !claim.Tracked(pod):
		return "", "the Pod is released already"
	}
	if reason = a.withholds(ctx, pod); reason != "" {
		return "", reason
	}
	if _, away := a.noLogs.Get(pod.Spec.NodeName); away {
		return "", "the node has not answered within the last minute"
	}
	container := k8s.PodFact(pod).Container
	text, cut, err := a.tail(ctx, pod, container, a.Logs.Lines)
	if err == nil && cut && a.Logs.Lines > 1 {
		text, _, err = a.tail(ctx, pod, container, 1)
	}
	if err != nil {
		// The cache holds what it has beyond the very end of its time.
		switch reason = missing(err); reason {
		case logsForbidden:
			a.noLogs.Add(allNodes{}, true, forbiddenPause-1)
		case logTimedOut:
			a.noLogs.Add(pod.Spec.NodeName, true, awayPause-1)
		}
		return "", reason
	}
	return lastLines(text, a.Logs.Bytes), ""
}

// tail reads the last lines of a container's log; cut is set when they are so long that their end is not there.
func (a *Activities) tail(ctx context.Context, pod *corev1.Pod, container string, lines int) (text string, cut bool, err error) {
	stream, err := a.Kubernetes.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, TailLines: new(int64(lines)), LimitBytes: new(int64(maxLogTransfer)),
	}).Stream(ctx)
	if err != nil {
		return "", false, fmt.Errorf("get log of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	defer stream.Close()
	read, err := io.ReadAll(io.LimitReader(stream, maxLogTransfer))
	if err != nil {
		return "", false, fmt.Errorf("read log of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return string(read), len(read) == maxLogTransfer, nil
}

// missing says in a few words why a log could not be read.
func missing(err error) string {
	network, ok := errors.AsType[net.Error](err)
	switch {
	case apierrors.IsForbidden(err):
		return logsForbidden
	case apierrors.IsNotFound(err):
		return logGone
	case errors.Is(err, context.DeadlineExceeded), ok && network.Timeout():
		return logTimedOut
	}
	return clip.Message(strings.ToValidUTF8(err.Error(), "\uFFFD"))
}

// lastLines returns the end of a text as valid UTF-8 of at most limit bytes. It
// begins at the start of a line, unless the last line alone is longer.
func lastLines(text string, limit int) string {
	text = strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\r\n")
	if len(text) <= limit {
		return text
	}
	// A rune that was cut is left out.
	end := strings.ToValidUTF8(text[len(text)-limit:], "")
	if _, rest, found := strings.Cut(end, "\n"); found && text[len(text)-len(end)-1] != '\n' {
		end = rest
	}
	return strings.Clone(end)
}
