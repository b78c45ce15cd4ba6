package ui

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
)

// Temporal is Temporal's own page, as a person may see it.
type Temporal struct {
	// Dial connects to the page.
	Dial func(context.Context) (net.Conn, error)
	// Token is by what Temporal knows the person; nil where it asks for nothing.
	Token func(context.Context) (string, error)
}

// TemporalPage serves Temporal's own page to one person.
type TemporalPage struct {
	temporal Temporal
	guard    *guard
	address  string
}

// NewTemporalPage returns the page for a listener's address, which must be of loopback.
func NewTemporalPage(temporal Temporal, address net.Addr) *TemporalPage {
	hosts := hostsOf(address)
	return &TemporalPage{temporal: temporal, guard: newGuard(hosts), address: hosts[0]}
}

// URL is the address with the token. It opens the page once.
func (p *TemporalPage) URL() string { return p.guard.url(p.address) }

// Serve serves the page until the context ends.
func (p *TemporalPage) Serve(ctx context.Context, listener net.Listener) error {
	return serve(ctx, listener, p.Handler())
}

// Handler serves the page.
func (p *TemporalPage) Handler() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(request *httputil.ProxyRequest) { rewrite(request.Out) },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.temporal.Dial(ctx) }},
		ErrorHandler: func(writer http.ResponseWriter, _ *http.Request, err error) {
			http.Error(writer, "Temporal's page can't be reached: "+answer.Printable(err.Error()), http.StatusBadGateway)
		},
		FlushInterval: -1, // what comes is passed on at once
	}
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if !p.guard.admits(writer, request, http.HandlerFunc(lead)) {
			return
		}
		request.Header.Del("Authorization")
		if p.temporal.Token != nil {
			token, err := p.temporal.Token(request.Context())
			if err != nil {
				http.Error(writer, "Temporal does not know you: "+answer.Printable(err.Error()), http.StatusForbidden)
				return
			}
			request.Header.Set("Authorization", "Bearer "+token)
		}
		proxy.ServeHTTP(writer, request)
	})
}

// pageHost is what Temporal's page calls itself in its Pod.
const pageHost = "127.0.0.1:8233"

// rewrite makes a request to this server one to Temporal's page, without what is this server's own.
func rewrite(request *http.Request) {
	request.URL.Scheme, request.URL.Host, request.Host = "http", pageHost, pageHost
	request.Header.Del("Origin")
	cookies := request.Cookies()
	request.Header.Del("Cookie")
	for _, cookie := range cookies {
		if cookie.Name != cookieName {
			request.AddCookie(cookie)
		}
	}
}

// lead goes on to the page from a page of this origin: a browser that was led here from elsewhere would not send the cookie after a
// redirect.
func lead(writer http.ResponseWriter, _ *http.Request) {
	writer.Header().Set("Content-Type", "text/html; charset=utf-8")
	writer.Header().Set("Cache-Control", "no-store")
	writer.Header().Set("Referrer-Policy", "no-referrer")
	_, _ = io.WriteString(writer, `<!DOCTYPE html><meta http-equiv="refresh" content="0; url=/"><a href="/">Temporal's page</a>`)
}
