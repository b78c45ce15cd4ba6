package activities

import (
	"context"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/protocol"
)

// SignalAccepted says whether a CronJob takes a signal that people send; an Event tells of one that
// it refuses. An error means that the API server could not be asked.
func (a *Activities) SignalAccepted(ctx context.Context, request protocol.SignalAcceptedRequest) (result protocol.SignalAcceptedResult, err error) {
	cronJob, err := a.cronJob(ctx, request.CronJob)
	if err != nil || cronJob == nil {
		return protocol.SignalAcceptedResult{Gone: err == nil}, err
	}
	if result.Refused = a.refuseSignal(cronJob.Annotations, request.Signal); result.Refused != nil {
		a.Events.onCronJob(request.CronJob, event.Warning(event.SignalRefused, result.Refused.Message))
	}
	return result, nil
}
