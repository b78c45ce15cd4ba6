package temporalserver

import (
	"strings"
	"testing"
)

func TestEndpointsAreParsed(t *testing.T) {
	for text, want := range map[string]struct {
		endpoint endpoint
		dialled  string
	}{
		"127.0.0.1:7233": {endpoint{"127.0.0.1", 7233}, "127.0.0.1:7233"},
		"localhost:0":    {endpoint{"127.0.0.1", 0}, "127.0.0.1:0"},
		":7233":          {endpoint{"::", 7233}, "127.0.0.1:7233"},
		"0.0.0.0:1":      {endpoint{"0.0.0.0", 1}, "127.0.0.1:1"},
		"[::1]:65535":    {endpoint{"::1", 65535}, "[::1]:65535"},
	} {
		got, err := parseEndpoint(text, "::")
		if err != nil || got != want.endpoint {
			t.Errorf("%s is %v (%v), want %v", text, got, err, want.endpoint)
		}
		if dialled := got.dialled(); dialled != want.dialled {
			t.Errorf("%s is dialled as %s, want %s", text, dialled, want.dialled)
		}
	}
	for text, want := range map[string]string{
		"7233":             "is not host:port",
		"127.0.0.1:http":   "between 0 and 65535",
		"127.0.0.1:65536":  "between 0 and 65535",
		"temporal:7233":    "no IP address",
		"127.0.0.1:-1":     "between 0 and 65535",
		"[fe80::1%]:7233":  "no IP address",
		"127.0.0.1.1:7233": "no IP address",
	} {
		if got, err := parseEndpoint(text, "::"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v (%v), want an error with %q", text, got, err, want)
		}
	}
}
