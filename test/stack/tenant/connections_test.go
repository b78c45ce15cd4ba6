package tenant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"ostinato.dev/ostinato/dev/harness"
)

const (
	// maxConnections is how many connections one address may have open.
	maxConnections = 20
	// scrapes is how often the metrics are asked for at a time.
	scrapes = 50
)

// TestANeighbourWithManyConnectionsTakesNobodyElses: a Pod elsewhere in the cluster reaches the ports of ours, whose HTTP server
// has a request of each connection's, and asks for metrics many times at once. Its address has few connections, and Prometheus
// and the kubelet are served.
func TestANeighbourWithManyConnectionsTakesNobodyElses(t *testing.T) {
	for _, member := range slices.Concat(stack.Workers(), stack.Bridges()) {
		for port, address := range map[string]string{"metrics": stack.Stack.MetricsAddress(member.Name()), "health": stack.Stack.HealthAddress(member.Name())} {
			t.Run(member.Name()+"/"+port, func(t *testing.T) {
				below := stack.MeasureMemory(t)
				parsed, err := url.Parse(address)
				if err != nil {
					t.Fatal(err)
				}
				neighbour := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: harness.Prompt}
				open := openMany(t, neighbour, parsed.Host, harness.Size(2000))
				scrapeAtOnce(t, address)
				started := time.Now()
				if err := get(t.Context(), http.DefaultClient, address); err != nil {
					t.Errorf("beside a neighbour's connections: %v", err)
				}
				t.Logf("%d connections of the neighbour's are open, another was answered after %s", open, time.Since(started).Round(time.Millisecond))
				if open > maxConnections {
					t.Errorf("the neighbour has %d connections open, want %d at most", open, maxConnections)
				}
				below(maxGrowth)
			})
		}
	}
}

// openMany makes so many connections, sends a request by each, and keeps those that are not closed until the test ends. It
// returns how many they are.
func openMany(t *testing.T, dialer *net.Dialer, host string, attempts int) (open int) {
	t.Helper()
	for range attempts {
		connection, err := dialer.DialContext(t.Context(), "tcp", host)
		if err != nil {
			t.Fatalf("connection %d: %v", open, err)
		}
		if answered(connection, host) {
			open++
			t.Cleanup(func() { _ = connection.Close() })
		} else {
			_ = connection.Close()
		}
	}
	return open
}

// answered reports whether a request gets an answer before the other end closes.
func answered(connection net.Conn, host string) bool {
	if _, err := fmt.Fprintf(connection, "GET /nothing HTTP/1.1\r\nHost: %s\r\n\r\n", host); err != nil {
		return false
	}
	_ = connection.SetReadDeadline(time.Now().Add(harness.Prompt))
	_, err := connection.Read(make([]byte, 1))
	return err == nil
}

// scrapeAtOnce asks very often for metrics, from another address.
func scrapeAtOnce(t *testing.T, address string) {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 3)}}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	var group errgroup.Group
	for range scrapes {
		// Most are refused.
		group.Go(func() error { _ = get(t.Context(), client, address); return nil })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func get(ctx context.Context, client *http.Client, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, errors.New(response.Status))
	}
	return errors.Join(err, response.Body.Close())
}
