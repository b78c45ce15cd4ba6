package activities

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
)

// Types of the application errors that activities return.
const (
	// KubernetesErrorType: the API server has not answered; retryable.
	KubernetesErrorType = "KubernetesAPI"
	// KubernetesAnswerErrorType: the API server has answered, and does not do it now; retryable.
	KubernetesAnswerErrorType = "KubernetesAnswer"
	// RefusedErrorType: the API server refused something whose result has no room for a Refusal; not retryable.
	RefusedErrorType = "Refused"
	// TooEarlyErrorType: the time of the run has not come, and the start can't wait for it here. It is repeated.
	TooEarlyErrorType = "TooEarly"
	// WorkerStoppingErrorType: the worker shuts down; retryable, at once, elsewhere.
	WorkerStoppingErrorType = "WorkerStopping"
	// OtherWorkflowErrorType: a workflow that is not the object's own has asked, or none. It is not retryable.
	OtherWorkflowErrorType = "OtherWorkflow"
	// NotServedErrorType: the object is in a namespace that is not in Options.Namespaces. Like the next one it is not
	// retryable, since all workers of a cluster serve the same.
	NotServedErrorType = "NamespaceNotServed"
	// NotTakenOverErrorType: the object is a CronJob of batch/v1, without Options.TakeOverCronJobs.
	NotTakenOverErrorType = "NotTakenOver"
)

// refusal returns the Refusal that an error amounts to, or nil when the same request may well succeed later without
// anyone's doing: the API server was not reached, was overloaded or failed, or another writer came first.
//
// This is the one place that judges errors of the API server.
func refusal(err error) *protocol.Refusal {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	refused := &protocol.Refusal{Message: clip.Message(err.Error())}
	details := status.Status().Details
	switch code := status.Status().Code; {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause),
		code == http.StatusNotFound && details != nil && details.Kind == "namespaces": // A create in a namespace that is gone.
		refused.Reason = ledger.NamespaceTerminating
	case code == http.StatusForbidden:
		refused.Reason = ledger.Forbidden
	case code == http.StatusUnprocessableEntity:
		refused.Reason = ledger.Invalid
	case code >= 500, code == 0, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout,
		code == http.StatusConflict, code == http.StatusUnauthorized, code == http.StatusNotFound:
		return nil
	default:
		refused.Reason = ledger.RefusedOtherwise
	}
	return refused
}

// refusedCreate returns the Refusal of a create if the API server's answer proves that it has made nothing, and nil if
// the answer, or its absence, leaves that open.
func refusedCreate(err error) *protocol.Refusal {
	refused := refusal(err)
	var status apierrors.APIStatus
	if refused != nil || !errors.As(err, &status) {
		return refused
	}
	code := status.Status().Code
	clientsFault := code >= 400 && code < 500 && code != http.StatusRequestTimeout
	// A webhook may deny with any code. What admission says comes before anything is stored.
	byAdmission := strings.Contains(err.Error(), "failed calling webhook") || strings.Contains(err.Error(), "denied the request")
	if clientsFault || byAdmission {
		return refuse(ledger.RefusedOtherwise, "%s", clip.Message(err.Error()))
	}
	return nil
}

// refuse returns a Refusal that is not the API server's.
func refuse(reason, format string, arguments ...any) *protocol.Refusal {
	return &protocol.Refusal{Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

// answered reports whether the API server itself said no, in contrast to not being reached.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// outage returns the error of an activity that is to be retried, saying what was
// being done, and after the time that the API server asked to wait.
func outage(err error, doing string, arguments ...any) error {
	doing = fmt.Sprintf(doing, arguments...)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	kind, options := KubernetesErrorType, temporal.ApplicationErrorOptions{}
	if answered(err) {
		kind = KubernetesAnswerErrorType
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		options.NextRetryDelay = time.Duration(seconds) * time.Second
	}
	return temporal.NewApplicationErrorWithOptions(clip.Message(doing+": "+err.Error()), kind, options)
}

// concernsOne reports whether an error is about one object, so that others are worth trying: a policy, an admission
// webhook that does not answer, a bug. An API server that is not reached, starts, or is overloaded concerns all.
func concernsOne(err error) bool {
	var status apierrors.APIStatus
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case 0, http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return !apierrors.IsServerTimeout(err)
}

// refusedError returns the error of an activity that is not to be retried.
func refusedError(why, doing string, arguments ...any) error {
	return temporal.NewNonRetryableApplicationError(clip.Message(fmt.Sprintf(doing, arguments...)+": "+why), RefusedErrorType, nil)
}
