package telemetry

import (
	"io"
	"log/slog"

	"go.temporal.io/sdk/log"
	"k8s.io/klog/v2"
)

// NewLogger returns the process's logger and makes it the logger that client-go (klog) and log/slog's default write to.
// Every line carries the program's name.
func NewLogger(out io.Writer, program string, level slog.Level, json bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(out, options)
	if json {
		handler = slog.NewJSONHandler(out, options)
	}
	logger := slog.New(handler).With("program", program)
	slog.SetDefault(logger)
	klog.SetSlogLogger(logger.With("logger", "client-go"))
	return logger
}

// SDKLogger adapts a logger for the Temporal SDK.
func SDKLogger(logger *slog.Logger) log.Logger {
	return log.NewStructuredLogger(logger.With("logger", "temporal-sdk"))
}
