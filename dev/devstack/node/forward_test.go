package node

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// listen returns a listener on the loopback address.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// ask sends a question, ends its side, and returns what comes back until the other side ends.
func ask(t *testing.T, address, question string) string {
	t.Helper()
	connection, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, question); err != nil {
		t.Fatal(err)
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(connection)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func TestADoorPassesOnBothWaysAndBothEnds(t *testing.T) {
	server, door := listen(t), listen(t)
	go func() {
		for {
			connection, err := server.Accept()
			if err != nil {
				return
			}
			// It answers when the question has ended.
			question, _ := io.ReadAll(connection)
			_, _ = connection.Write(append([]byte("answer to "), question...))
			connection.Close()
		}
	}()
	go forward(door, func() (net.Conn, error) { return net.Dial("tcp4", server.Addr().String()) })
	for _, question := range []string{"one", "another"} {
		if got := ask(t, door.Addr().String(), question); got != "answer to "+question {
			t.Errorf("got %q", got)
		}
	}
}

func TestADoorThatLeadsNowhereEndsTheConnection(t *testing.T) {
	door := listen(t)
	go forward(door, func() (net.Conn, error) { return nil, errors.New("refused") })
	connection, err := net.Dial("tcp4", door.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Read(make([]byte, 1)); err == nil {
		t.Error("something answered")
	}
}

func TestImagesArePulledByTheProxy(t *testing.T) {
	registry := http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		_, _ = io.WriteString(response, request.URL.Path)
	})
	plain, secure := httptest.NewServer(registry), httptest.NewTLSServer(registry)
	defer plain.Close()
	defer secure.Close()
	proxy := httptest.NewServer(pullProxy())
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := secure.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(address)
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	for _, server := range []string{plain.URL, secure.URL} {
		response, err := client.Get(server + "/v2/image")
		if err != nil {
			t.Errorf("%s: %v", server, err)
			continue
		}
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != "/v2/image" {
			t.Errorf("%s: got %q, %v", server, body, err)
		}
		response.Body.Close()
	}
	gone := httptest.NewTLSServer(registry)
	gone.Close()
	if response, err := client.Get(gone.URL); err == nil {
		response.Body.Close()
		t.Error("a registry that does not listen has answered")
	}
}
