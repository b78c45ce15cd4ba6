package node

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
)

// pullProxy is an HTTP proxy by which containerd pulls images: the node's own network leads no further than its Pods.
func pullProxy() http.Handler {
	// A request to a proxy has the whole URL already.
	plain := &httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodConnect {
			plain.ServeHTTP(response, request)
			return
		}
		if err := tunnel(request.Context(), response, request.Host); err != nil {
			http.Error(response, err.Error(), http.StatusBadGateway)
		}
	})
}

// tunnel connects the client with an address of the host's network, by TLS of its own.
func tunnel(ctx context.Context, response http.ResponseWriter, address string) error {
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	client, _, err := http.NewResponseController(response).Hijack()
	if err != nil {
		server.Close()
		return err
	}
	if _, err := client.Write([]byte("HTTP/1.1 200 Connection Established\r\n\r\n")); err != nil {
		client.Close()
		server.Close()
		return nil
	}
	relay(client, server)
	return nil
}
