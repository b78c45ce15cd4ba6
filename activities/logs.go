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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

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
	// followTime is how long the log of a container is followed that is being ended.
	followTime = time.Second
)

// Words for a log that is missing.
const (
	logsForbidden = "not allowed to read logs (pods/log)"
	logsTooMany   = "too many logs at once"
	logTimedOut   = "the node did not answer in time"
	logNoTime     = "there was no time left to read it"
	logGone       = "the Pod is gone"
	logNotStarted = "no container has started"
	logSilent     = "the container has written none"
	logLost       = "the node has none any more"
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

// readLog returns the end of the log of a Pod, or why it is missing. The Pod decides: any writer of Temporal may have
// asked.
func (a *Activities) readLog(ctx context.Context, owner *batchv1.Job, release job.Release) (lines, reason string) {
	if reason := a.noLog(); reason != "" {
		return "", reason
	}
	// A request for a log can't say which Job must own the Pod, so the Pod is read first.
	uid := types.UID(release.UID)
	pod, err := k8s.GetPod(ctx, a.Kubernetes, owner.Namespace, release.Name, uid)
	for waited := 0; err == nil && !isEvidence(owner, pod) && a.owns(owner, pod) && waited < deleteLooks; waited++ {
		// The watch cache may be behind the delete. That of the Pods of a Job that is being deleted is to come.
		if waited > 0 && !(deletesPods(owner) && waits(ctx, deleteLook)) {
			break
		}
		pod, err = k8s.GetPodLive(ctx, a.Kubernetes, owner.Namespace, release.Name, uid)
	}
	switch {
	case errors.Is(err, k8s.ErrGone), err == nil && !a.owns(owner, pod):
		return "", logGone
	case err != nil:
		return "", missing(err)
	// The release that follows takes the finalizer, so that each log is read once.
	case isEvidence(owner, pod) && !claim.Tracked(pod):
		return "", "the Pod is released already"
	}
	return a.logOf(ctx, owner, pod)
}

const (
	// deleteLook and deleteLooks bound how often it is looked whether garbage collection has deleted the Pods of a Job
	// that is gone or is being deleted.
	deleteLook  = 200 * time.Millisecond
	deleteLooks = 10
)

// waits waits; it reports whether there was time for it.
func waits(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// deletesPods reports whether garbage collection deletes the Job's Pods.
func deletesPods(owner *batchv1.Job) bool {
	return owner.DeletionTimestamp != nil && !slices.Contains(owner.Finalizers, metav1.FinalizerOrphanDependents)
}

// noLog says why no log of any Pod is read; empty where logs are.
func (a *Activities) noLog() string {
	if a.Logs.Lines <= 0 || a.Logs.Bytes <= 0 {
		return "reading logs is switched off"
	}
	if _, forbidden := a.noLogs.Get(allNodes{}); forbidden {
		return logsForbidden
	}
	return ""
}

// isEvidence reports whether the log of a Pod is evidence: it has failed, it is being deleted, or it has succeeded and its Job, as
// the API server has it, asks for that. The log of another Pod is not read. A delete can't be asked for through Temporal unless the
// Job's own state asks for it.
func isEvidence(owner *batchv1.Job, pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil ||
		pod.Status.Phase == corev1.PodSucceeded && owner != nil && job.KeepsSuccesses(owner)
}

// logOf returns the end of the log of a Pod that was just read, or why it is missing. owner is nil for a Job that is gone.
func (a *Activities) logOf(ctx context.Context, owner *batchv1.Job, pod *corev1.Pod) (lines, reason string) {
	switch {
	case !isEvidence(owner, pod):
		return "", "the Pod has not failed"
	case pod.Spec.NodeName == "" && pod.Status.Phase == corev1.PodPending:
		return "", logNotStarted
	}
	if reason = a.withholds(ctx, pod); reason != "" {
		return "", reason
	}
	if _, away := a.noLogs.Get(pod.Spec.NodeName); away {
		return "", "the node has not answered within the last minute"
	}
	limited, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	text, err := a.end(limited, pod, k8s.LogSourceOf(pod))
	if lines = lastLines(text, a.Logs.Lines, a.Logs.Bytes); err == nil && lines != "" {
		return lines, ""
	}
	reason = logSilent
	if err != nil {
		reason = missing(err)
	}
	switch {
	// The cache holds what it has beyond the very end of its time.
	case reason == logsForbidden:
		a.noLogs.Add(allNodes{}, true, forbiddenPause-1)
	case reason == logTimedOut && ctx.Err() != nil:
		// The time was spent on other requests: it is not the node that is away.
		reason = logNoTime
	case reason == logTimedOut:
		a.noLogs.Add(pod.Spec.NodeName, true, awayPause-1)
	case pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0:
		reason += ": it was deleted with a grace period of 0"
	}
	return "", reason
}

// end reads the end of a log. Where the lines are too long for their end to be there, it is that of the last one; where
// a container that was restarted has said nothing yet, it is that of the one before.
func (a *Activities) end(ctx context.Context, pod *corev1.Pod, source k8s.LogSource) (string, error) {
	text, cut, err := a.tail(ctx, pod, source, a.Logs.Lines)
	switch {
	case err == nil && cut && a.Logs.Lines > 1:
		source.Runs = false
		text, _, err = a.tail(ctx, pod, source, 1)
	case err == nil && text == "" && source.Restarted:
		source.Runs, source.Previous = false, true
		text, _, err = a.tail(ctx, pod, source, a.Logs.Lines)
	}
	return text, err
}

// tail reads the last lines of a container's log; cut is set when they are so long that their end is not there. A
// container that runs, and is being ended, is followed for a moment, since it may say why.
func (a *Activities) tail(
	ctx context.Context, pod *corev1.Pod, source k8s.LogSource, lines int,
) (text string, cut bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := a.Kubernetes.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: source.Container, Previous: source.Previous, Follow: source.Runs,
		TailLines: new(int64(lines)), LimitBytes: new(int64(maxLogTransfer)),
	}).Stream(ctx)
	if err != nil {
		return "", false, fmt.Errorf("get log of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	defer stream.Close()
	if source.Runs {
		defer time.AfterFunc(followTime, stop).Stop()
	}
	read, err := io.ReadAll(io.LimitReader(stream, maxLogTransfer))
	if err != nil && !source.Runs {
		return "", false, fmt.Errorf("read log of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if slices.ContainsFunc(lostLogs, func(words string) bool { return strings.HasPrefix(string(read), words) }) {
		return "", false, errLost
	}
	return string(read), len(read) == maxLogTransfer, nil
}

// lostLogs begin what the kubelet answers in place of a log that it has removed: when a Pod that is deleted has ended.
var lostLogs = []string{"failed to try resolving symlinks in path ", "unable to retrieve container logs for "}

// errLost says that the node has removed a log.
var errLost = errors.New("the node has removed the log")

// missing says in a few words why a log could not be read.
func missing(err error) string {
	network, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errLost), apierrors.IsBadRequest(err) && strings.HasSuffix(err.Error(), " is terminated"):
		return logLost
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), " is waiting to start"):
		return logNotStarted
	case apierrors.IsForbidden(err):
		return logsForbidden
	case apierrors.IsNotFound(err):
		return logGone
	case errors.Is(err, context.DeadlineExceeded), ok && network.Timeout():
		return logTimedOut
	}
	return clip.Message(strings.ToValidUTF8(err.Error(), "\uFFFD"))
}

// lastLines returns the end of a text as valid UTF-8 of so many lines and at most limit bytes. It begins at the start
// of a line, unless the last line alone is longer.
func lastLines(text string, lines, limit int) string {
	text = strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\r\n")
	if all := strings.Split(text, "\n"); len(all) > lines {
		text = strings.Join(all[len(all)-lines:], "\n")
	}
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
