package telemetry_test

import (
	"net"
	"net/http"
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
