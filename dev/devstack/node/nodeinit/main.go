//go:build linux

// Command node-init is the first process of a development node. Package node starts it in a new PID, mount and network
// name space: it lays out the file system there, gives the node its address, starts containerd, the kubelet and what
// serves the Pods' network, collects orphans, and on SIGTERM stops them in reverse order. When it ends, however it ends,
// the kernel kills every process of the node and with the last one its mounts and networks are gone.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"ostinato.dev/ostinato/dev/devstack/node/initspec"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "node-init: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: node-init SPEC")
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("it has to be the first process of a PID name space")
	}
	spec, err := initspec.Read(os.Args[1])
	if err != nil {
		return err
	}
	if err := layOut(spec); err != nil {
		return err
	}
	if spec.Network != "" {
		if err := setUpNetwork(spec.Network); err != nil {
			return err
		}
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	s := newSupervisor()
	for _, step := range spec.Steps {
		if err := s.run(step, stop); err != nil {
			s.stop()
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "node-init: started")
	select {
	case <-stop:
		s.stop()
		return nil
	case ended := <-s.daemonEnded:
		s.stop()
		return fmt.Errorf("%s ended", ended)
	}
}
