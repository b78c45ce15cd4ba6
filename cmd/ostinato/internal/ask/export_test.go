package ask

import (
	"context"
	"net"
)

// TargetPort is targetPort, for tests.
var TargetPort = targetPort

// Dial connects as the workers' settings say.
func Dial(ctx context.Context, settings WorkerSettings) (net.Conn, error) {
	return settings.dial(ctx, settings.variables["TEMPORAL_ADDRESS"])
}
