package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// dialPod connects to a port of a Pod through the API server, by what kubectl port-forward uses. No port of this machine is opened, which
// anybody else on it could use with the person's rights.
func (c *Cluster) dialPod(ctx context.Context, pod *corev1.Pod, port int) (net.Conn, error) {
	dialer, err := c.forwarder(pod)
	if err != nil {
		return nil, fmt.Errorf("forward port %d of Pod %s/%s: %w", port, pod.Namespace, pod.Name, err)
	}
	type dialed struct {
		connection *forwarded
		err        error
	}
	answered := make(chan dialed, 1)
	go func() {
		connection, err := forward(dialer, port)
		answered <- dialed{connection, err}
	}()
	select {
	case answer := <-answered:
		if answer.err != nil {
			return nil, fmt.Errorf("forward port %d of Pod %s/%s: %w", port, pod.Namespace, pod.Name, answer.err)
		}
		return answer.connection, nil
	case <-ctx.Done():
		go func() {
			if late := <-answered; late.err == nil {
				_ = late.connection.Close()
			}
		}()
		return nil, fmt.Errorf("forward port %d of Pod %s/%s: %w", port, pod.Namespace, pod.Name, context.Cause(ctx))
	}
}

// forwarder dials by a WebSocket, and by SPDY where the API server or something before it takes none.
func (c *Cluster) forwarder(pod *corev1.Pod) (httpstream.Dialer, error) {
	address := c.clients.Kubernetes.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	byWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, c.config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, err
	}
	bySPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	return portforward.NewFallbackDialerForStreaming(byWebSocket, bySPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// forward opens the two streams of a port: one for data, and one on which the node says what went wrong.
func forward(dialer httpstream.Dialer, port int) (*forwarded, error) {
	connection, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	made := &forwarded{connection: connection, failed: make(chan struct{})}
	if protocol != portforward.PortForwardProtocolV1Name {
		return nil, errors.Join(fmt.Errorf("the API server speaks %q in place of %q", protocol, portforward.PortForwardProtocolV1Name), made.Close())
	}
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	failures, err := connection.CreateStream(headers)
	if err == nil {
		// Nothing is written to it.
		err = failures.Close()
	}
	if err != nil {
		return nil, errors.Join(err, made.Close())
	}
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	if made.data, err = connection.CreateStream(headers); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	go made.watch(failures)
	return made, nil
}

// forwarded is a connection to a port of a Pod. Deadlines do nothing: gRPC bounds its calls by contexts.
type forwarded struct {
	connection httpstream.Connection
	data       httpstream.Stream

	// failed is closed when failure is known.
	failed  chan struct{}
	failure error
	once    sync.Once
}

// maxFailure bounds in bytes what a node may say went wrong.
const maxFailure = 4096

// watch ends the connection when the node says that something went wrong.
func (f *forwarded) watch(failures io.Reader) {
	said, err := io.ReadAll(io.LimitReader(failures, maxFailure))
	if text := strings.TrimSpace(string(said)); text != "" {
		err = errors.New(text)
	}
	if f.failure = err; err != nil {
		_ = f.Close()
	}
	close(f.failed)
}

// reason returns what the node said went wrong in place of an end that says nothing.
func (f *forwarded) reason(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-f.failed:
		return cmp.Or(f.failure, err)
	case <-time.After(100 * time.Millisecond):
		return err
	}
}

// Read implements net.Conn.
func (f *forwarded) Read(into []byte) (int, error) {
	n, err := f.data.Read(into)
	return n, f.reason(err)
}

// Write implements net.Conn.
func (f *forwarded) Write(from []byte) (int, error) {
	n, err := f.data.Write(from)
	return n, f.reason(err)
}

// Close implements net.Conn.
func (f *forwarded) Close() (err error) {
	f.once.Do(func() { err = f.connection.Close() })
	return err
}

// LocalAddr implements net.Conn.
func (f *forwarded) LocalAddr() net.Addr { return throughAPIServer{} }

// RemoteAddr implements net.Conn.
func (f *forwarded) RemoteAddr() net.Addr { return throughAPIServer{} }

// SetDeadline implements net.Conn.
func (f *forwarded) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (f *forwarded) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (f *forwarded) SetWriteDeadline(time.Time) error { return nil }

// throughAPIServer is the address of both ends.
type throughAPIServer struct{}

// Network implements net.Addr.
func (throughAPIServer) Network() string { return "portforward" }

// String implements net.Addr.
func (throughAPIServer) String() string { return "through the API server" }
