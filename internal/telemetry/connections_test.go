package telemetry_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/telemetry"
)

// TestOneAddressHasFewConnections: what is beyond them is closed at once, and closing one makes room.
func TestOneAddressHasFewConnections(t *testing.T) {
	server := serve(t, telemetry.ServerOptions{HealthAddress: "127.0.0.1:0"})
	closed := func(connection net.Conn) bool {
		require.NoError(t, connection.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
		_, err := connection.Read(make([]byte, 1))
		var timeout net.Error
		return !(assert.ErrorAs(t, err, &timeout) && timeout.Timeout())
	}
	var open []net.Conn
	for range 20 {
		connection, err := net.Dial("tcp", server.HealthAddress)
		require.NoError(t, err)
		defer connection.Close()
		open = append(open, connection)
	}
	one, err := net.Dial("tcp", server.HealthAddress)
	require.NoError(t, err)
	defer one.Close()
	_, err = one.Read(make([]byte, 1))
	assert.Error(t, err, "one more is closed")
	assert.False(t, closed(open[0]))

	require.NoError(t, open[1].Close())
	assert.Eventually(t, func() bool {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Get("http://" + server.HealthAddress + "/healthz")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, 5*time.Second, 50*time.Millisecond)
}

// TestManyAddressesShutNobodyOut: what is beyond the bound of all is taken from the address that has most.
func TestManyAddressesShutNobodyOut(t *testing.T) {
	server := serve(t, telemetry.ServerOptions{HealthAddress: "127.0.0.1:0"})
	var held []net.Conn
	for address := range 40 {
		neighbour := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(address+1))}}
		for range 20 {
			connection, err := neighbour.DialContext(t.Context(), "tcp", server.HealthAddress)
			require.NoError(t, err)
			defer connection.Close()
			if _, err := fmt.Fprint(connection, "GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n"); err == nil {
				held = append(held, connection)
			}
		}
	}
	kubelet := http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	defer kubelet.CloseIdleConnections()
	for range 3 {
		response, err := kubelet.Get("http://" + server.HealthAddress + "/healthz")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, http.StatusOK, response.StatusCode)
	}
	var open atomic.Int32
	var group sync.WaitGroup
	deadline := time.Now().Add(time.Second)
	for _, connection := range held {
		require.NoError(t, connection.SetReadDeadline(deadline))
		group.Go(func() {
			var timeout net.Error
			if _, err := io.Copy(io.Discard, connection); errors.As(err, &timeout) && timeout.Timeout() {
				open.Add(1)
			}
		})
	}
	group.Wait()
	assert.LessOrEqual(t, open.Load(), int32(500))
	assert.Greater(t, open.Load(), int32(400), "no more is closed than has to be")
}
