package devstack

import (
	"context"
	"path/filepath"

	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/devstack/process"
)

// runningNode is what runs the stack's Pods.
type runningNode interface {
	Stop() error
	Processes() []*process.Process
}

// startNode starts the chosen node.
func (s *Stack) startNode(ctx context.Context) error {
	dir := filepath.Join(s.options.Dir, "node")
	switch s.NodeKind {
	case NodeReal:
		real, err := node.StartReal(ctx, node.RealOptions{Dir: dir, Binaries: s.tools, ControlPlane: s.ControlPlane, Log: s.options.Log})
		if err != nil {
			return err
		}
		s.node = real
	case NodeKwok:
		kwok, err := node.StartKwok(ctx, node.KwokOptions{
			Dir: dir, Binary: s.tools["kwok"], RESTConfig: s.ControlPlane.RESTConfig(), KubeconfigPath: s.ControlPlane.KubeconfigPath(),
			ForwardTo: s.Ports.Frontend, Log: s.options.Log,
		})
		if err != nil {
			return err
		}
		s.node = kwok
	}
	return nil
}
