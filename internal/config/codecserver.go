package config

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/internal/command"
)

// CodecServer holds the settings of cmd/codecserver.
type CodecServer struct {
	Payloads
	// Address is a loopback host:port: everyone who reaches it may decrypt.
	Address       string
	HealthAddress string
	UIOrigins     []string
	Log
}

// CodecServerCommand returns the command that runs a codec server with the settings that its flags and the environment give.
func CodecServerCommand(lookup LookupEnv, run func(context.Context, CodecServer) error) *cobra.Command {
	return program("codecserver", "decrypts for the Temporal UI and the temporal command what worker and bridge have encrypted.\n"+
		"Everyone who reaches it may read everything, so it listens on a loopback address only: forward its port with kubectl.\n\n"+
		"Each flag has an environment variable, which it wins over.", lookup, run)
}

// AddFlags declares the codec server's flags.
func (s *CodecServer) AddFlags(flags *command.Flags) {
	server := flags.Group(groupServer)
	server.StringVar(&s.Address, "address", "127.0.0.1:8083", "loopback host:port of /encode and /decode")
	server.Var((*nameList)(&s.UIOrigins), "ui-origins", "origins of the Temporal UIs that may ask, such as https://temporal.example, separated by commas")
	s.Payloads.addFlags(flags)
	observability := flags.Group(groupObservability)
	observability.StringVar(&s.HealthAddress, "health-address", ":8081", "host:port of /healthz and /readyz; empty serves none")
	s.Log.addFlags(observability)
}

func (s *CodecServer) validate() error {
	var p problems
	p.check(loopback(s.Address), "address", "%q is no loopback address; everyone who reaches it may decrypt: use 127.0.0.1:8083, say, and forward the port", s.Address)
	p.address(s.HealthAddress, "health-address")
	p.check(s.PayloadKeys != "", "payload-keys", "is empty; set it to the keys of worker and bridge")
	for _, origin := range s.UIOrigins {
		p.check(isOrigin(origin), "ui-origins", "%q is no origin; use https://temporal.example, say: scheme and host, without a path", origin)
	}
	s.Payloads.validate(&p)
	return errors.Join(p...)
}

// isOrigin reports whether a browser could send the text as the header Origin.
func isOrigin(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && parsed.Hostname() != "" && !strings.Contains(text, "*") && (parsed.Scheme == "http" || parsed.Scheme == "https") &&
		text == (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host}).String()
}
