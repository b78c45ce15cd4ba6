//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"ostinato.dev/ostinato/dev/devstack/node/initspec"
)

const (
	// readyPatience bounds the wait for a daemon's socket.
	readyPatience = 90 * time.Second
	// programInterval is how often a program that is awaited is looked for.
	programInterval = 500 * time.Millisecond
	// stopGrace is how long a daemon may take to end by itself.
	stopGrace = 8 * time.Second
)

// supervisor runs the steps and collects whatever ends: the first process of a PID name space inherits all orphans.
type supervisor struct {
	daemonEnded chan string

	mutex   sync.Mutex
	waiting map[int]chan syscall.WaitStatus
	daemons []daemon
}

type daemon struct {
	name  string
	pid   int
	ended <-chan struct{}
}

func newSupervisor() *supervisor {
	s := &supervisor{daemonEnded: make(chan string, 8), waiting: map[int]chan syscall.WaitStatus{}}
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	go func() {
		for range children {
			s.collect()
		}
	}()
	return s
}

// collect takes the exit status of every child that has ended.
func (s *supervisor) collect() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ended, ok := s.waiting[pid]; ok {
			ended <- status
			delete(s.waiting, pid)
		}
	}
}

// start starts the program of a step; the channel gives its exit status once.
func (s *supervisor) start(step initspec.Step) (int, <-chan syscall.WaitStatus, error) {
	log, err := os.OpenFile(step.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, nil, fmt.Errorf("log of %s: %w", step.Name, err)
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, err
	}
	defer null.Close()
	// Nothing is collected before the new child is known.
	s.mutex.Lock()
	defer s.mutex.Unlock()
	process, err := os.StartProcess(step.Path, append([]string{step.Path}, step.Args...), &os.ProcAttr{
		Dir: "/", Env: environment(step), Files: []*os.File{null, log, log},
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("start %s: %w", step.Name, err)
	}
	ended := make(chan syscall.WaitStatus, 1)
	s.waiting[process.Pid] = ended
	return process.Pid, ended, nil
}

// environment is this program's, with the step's variables in place of those of their names: programs differ in which of two
// they take.
func environment(step initspec.Step) []string {
	others := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.ContainsFunc(step.Env, func(own string) bool { return strings.HasPrefix(own, name+"=") })
	})
	return append(others, step.Env...)
}

// run does a step. A request to stop cuts it short.
func (s *supervisor) run(step initspec.Step, stop <-chan os.Signal) error {
	if err := s.waitForPrograms(step, stop); err != nil {
		return err
	}
	pid, ended, err := s.start(step)
	if err != nil {
		return err
	}
	if !step.Daemon {
		select {
		case status := <-ended:
			if status.ExitStatus() != 0 {
				return fmt.Errorf("%s ended with %s; see %s", step.Name, describe(status), step.Log)
			}
			return nil
		case <-stop:
			return fmt.Errorf("stopped during %s", step.Name)
		}
	}
	gone := make(chan struct{})
	s.daemons = append(s.daemons, daemon{name: step.Name, pid: pid, ended: gone})
	go func() {
		status := <-ended
		close(gone)
		s.daemonEnded <- fmt.Sprintf("%s (%s; see %s)", step.Name, describe(status), step.Log)
	}()
	if step.Socket == "" {
		return nil
	}
	return waitForSocket(step, gone, stop)
}

// waitForPrograms waits, without end, until the programs that the step awaits are there: their build may have failed, and the
// node does without.
func (s *supervisor) waitForPrograms(step initspec.Step, stop <-chan os.Signal) error {
	ticker := time.NewTicker(programInterval)
	defer ticker.Stop()
	for slices.ContainsFunc(step.Awaits, isMissing) {
		select {
		case <-stop:
			return fmt.Errorf("stopped while waiting for the program of %s", step.Name)
		case ended := <-s.daemonEnded:
			return fmt.Errorf("%s ended", ended)
		case <-ticker.C:
		}
	}
	return nil
}

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return err != nil
}

func waitForSocket(step initspec.Step, gone <-chan struct{}, stop <-chan os.Signal) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(readyPatience)
	for {
		connection, err := net.Dial("unix", step.Socket)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-gone:
			return fmt.Errorf("%s ended before it was ready; see %s", step.Name, step.Log)
		case <-stop:
			return fmt.Errorf("stopped while waiting for %s", step.Name)
		case <-deadline:
			return fmt.Errorf("%s was not ready after %s: %w; see %s", step.Name, readyPatience, err, step.Log)
		case <-ticker.C:
		}
	}
}

// stop ends the daemons, the last one first.
func (s *supervisor) stop() {
	for _, d := range slices.Backward(s.daemons) {
		select {
		case <-d.ended:
			continue
		default:
		}
		// A daemon that ended meanwhile is what was wanted.
		_ = syscall.Kill(d.pid, syscall.SIGTERM)
		select {
		case <-d.ended:
		case <-time.After(stopGrace):
			_ = syscall.Kill(-d.pid, syscall.SIGKILL)
		}
	}
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal " + status.Signal().String()
	}
	return fmt.Sprintf("exit code %d", status.ExitStatus())
}
