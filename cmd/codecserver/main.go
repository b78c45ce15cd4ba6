// Command codecserver decrypts for people what worker and bridge have encrypted in Temporal.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"ostinato.dev/ostinato/internal/codecserver"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/payloadcodec"
	"ostinato.dev/ostinato/internal/telemetry"
)

func main() { command.Main(config.CodecServerCommand(os.LookupEnv, run)) }

func run(ctx context.Context, settings config.CodecServer) (err error) {
	logger := telemetry.NewLogger(os.Stderr, "codecserver", settings.LogLevel, settings.LogFormat == config.LogJSON)
	codec, err := payloadcodec.New(settings.CodecOptions(logger))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", settings.Address)
	if err != nil {
		return fmt.Errorf("listen for the Temporal UI: %w", err)
	}
	probes, err := telemetry.Serve(telemetry.ServerOptions{
		HealthAddress: settings.HealthAddress, Registry: telemetry.NewRegistry(), Health: &telemetry.Health{}, Logger: logger,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, probes.Close()) }()
	logger.Info("serving", "address", listener.Addr().String(), "uiOrigins", settings.UIOrigins)
	return codecserver.Serve(ctx, listener, codecserver.NewHandler(codec, settings.UIOrigins))
}
