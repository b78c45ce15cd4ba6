package temporalserver

import (
	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// startUI serves the Web UI in the background. Its port was checked before: the UI server ends the process when it
// cannot listen.
func startUI(o Options, e endpoints) *uiserver.Server {
	server := uiserver.NewServer(server_options.WithConfigProvider(uiConfig(o, e)))
	go func() { _ = server.Start() }()
	return server
}

func uiConfig(o Options, e endpoints) *uiconfig.Config {
	host := e.ui.ip
	if isIPv6(host) {
		host = "[" + host + "]"
	}
	return &uiconfig.Config{
		TemporalGRPCAddress: e.frontend.dialled(),
		TLS:                 o.Door.ui(),
		Host:                host,
		Port:                e.ui.port,
		EnableUI:            true,
		DefaultNamespace:    o.Namespace,
		DisableNewsFetch:    true,
		HideLogs:            true,
		// The UI is plain HTTP, reached on a loopback address; with secure cookies its write actions would be refused.
		CORS: uiconfig.CORS{CookieInsecure: true},
	}
}
