package temporal

import (
	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// startUI serves the Web UI in the background. Its port was checked before: the UI server ends the process when it
// cannot listen.
func startUI(o Options, p ports) *uiserver.Server {
	server := uiserver.NewServer(server_options.WithConfigProvider(uiConfig(o, p)))
	go func() { _ = server.Start() }()
	return server
}

func uiConfig(o Options, p ports) *uiconfig.Config {
	host := o.IP
	if isIPv6(host) {
		host = "[" + host + "]"
	}
	return &uiconfig.Config{
		TemporalGRPCAddress: address(o.IP, p.frontend),
		Host:                host,
		Port:                p.ui,
		EnableUI:            true,
		DefaultNamespace:    o.Namespace,
		DisableNewsFetch:    true,
		HideLogs:            true,
		// The UI is plain HTTP on a loopback address; with secure cookies its write actions would be refused.
		CORS: uiconfig.CORS{CookieInsecure: true},
	}
}
