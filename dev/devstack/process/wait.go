package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// pollInterval is the pause between two looks at something awaited.
const pollInterval = 50 * time.Millisecond

// handedOut keeps the locks of the ports that this program was given.
var (
	handedOutMutex sync.Mutex
	handedOut      = map[int]func(){}
)

// Ports are taken from below the range that systems give to outgoing connections (32768 and up on Linux, 49152 and up
// on macOS): a client that retries against a stopped server could otherwise be given the server's own port.
const (
	firstPort = 20000
	lastPort  = 32767
)

// FreePort returns a TCP port that is free on the loopback address now. No other caller gets it from FreePort while
// this program runs, so that several servers can be given their ports before the first of them listens, and several
// stacks of one user can start side by side.
func FreePort() (int, error) {
	handedOutMutex.Lock()
	defer handedOutMutex.Unlock()
	locks, err := portLocks()
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer locks.Close()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		unlock, ok, err := lockPort(locks, port)
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		if !ok {
			continue
		}
		if !PortIsFree(port) {
			unlock()
			continue
		}
		handedOut[port] = unlock
		return port, nil
	}
	return 0, fmt.Errorf("find a free port: none of a thousand tries between %d and %d was free", firstPort, lastPort)
}

// PortIsFree tells whether a server could listen on the loopback port now.
func PortIsFree(port int) bool {
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

// WaitPortFree waits until a server could listen on the loopback port. A server left over from an earlier run would
// otherwise answer in place of the new one.
func WaitPortFree(ctx context.Context, port int) error {
	free := func(context.Context) (bool, error) { return PortIsFree(port), nil }
	if err := wait.PollUntilContextCancel(ctx, pollInterval, true, free); err != nil {
		return fmt.Errorf("wait for port %d to be free: %w", port, err)
	}
	return nil
}

// WaitReady polls ready until it returns nil, the process ends or the context does. The error carries the last thing
// that was not ready and the last lines of the process's log.
func (p *Process) WaitReady(ctx context.Context, ready func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.done:
			if p.err == nil {
				return false, p.Failure(fmt.Errorf("%s ended before it was ready", p.spec.Name))
			}
			return false, p.Err()
		default:
		}
		last = ready(ctx)
		return last == nil, nil
	})
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return p.Failure(fmt.Errorf("wait for %s to be ready: %w (last: %v)", p.spec.Name, err, last))
	}
	return err
}
