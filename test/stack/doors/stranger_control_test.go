//go:build linux

package doors

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
)

// What the stranger says of servers that let everybody in, or nobody.
func TestTheStrangerSeesWhatIsOpen(t *testing.T) {
	skipUnlessRoot(t)
	pods := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/pods" {
			http.NotFound(w, r)
		}
	})
	open := httptest.NewServer(pods)
	defer open.Close()
	secure := httptest.NewTLSServer(pods)
	defer secure.Close()
	closed := httptest.NewUnstartedServer(pods)
	closed.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert}
	closed.Config.ErrorLog = log.New(io.Discard, "", 0)
	closed.StartTLS()
	defer closed.Close()
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	abstract, err := net.Listen("unix", "@"+t.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()

	got := map[string][]string{}
	answers := askAsNobody(t, question{
		Addresses: []string{open.Listener.Addr().String(), secure.Listener.Addr().String(), closed.Listener.Addr().String()},
		Sockets:   []string{socket.Addr().String(), abstract.Addr().String()},
	})
	for _, a := range answers {
		if a.Success {
			got[a.Address] = append(got[a.Address], a.Request+" over "+a.Over)
		}
	}
	for name, test := range map[string]struct {
		address net.Addr
		want    []string
	}{
		"open":                           {open.Listener.Addr(), []string{"GET /pods over plain text"}},
		"secure":                         {secure.Listener.Addr(), []string{"GET /pods over TLS with a certificate", "GET /pods over TLS without a certificate"}},
		"closed":                         {closed.Listener.Addr(), nil},
		"a socket in a folder of root's": {socket.Addr(), nil},
		"an abstract socket":             {abstract.Addr(), []string{"connect over a socket"}},
	} {
		if found := slices.Sorted(slices.Values(got[test.address.String()])); !slices.Equal(found, test.want) {
			t.Errorf("%s: the stranger gets %q, want %q", name, found, test.want)
		}
	}
	networks := map[string]string{}
	for _, l := range listeners(t) {
		networks[l.address] = l.network
	}
	for address, want := range map[net.Addr]string{open.Listener.Addr(): "tcp", socket.Addr(): "unix", abstract.Addr(): "abstract"} {
		if networks[address.String()] != want {
			t.Errorf("%s is found as %q, want %s", address, networks[address.String()], want)
		}
	}
}
