package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"ostinato.dev/ostinato/dev/devstack/process"
)

const (
	// startPatience bounds the wait for one server. Ready is a matter of seconds on an idle machine.
	startPatience = 2 * time.Minute
	// stopGrace is how long a server may take to end by itself.
	stopGrace = 10 * time.Second
)

// ControlPlane is a running control plane. Its methods are safe for concurrent use.
type ControlPlane struct {
	options   Options
	layout    layout
	ports     ports
	authority *authority
	admin     *rest.Config
	// etcdClient has the stack's own certificate for etcd.
	etcdClient *http.Client
	unlock     func()

	mutex             sync.Mutex
	etcd              *process.Process
	apiServer         *process.Process
	controllerManager *process.Process
	scheduler         *process.Process
}

// Start starts the control plane and returns when the API server is ready and, where the controller manager runs, Pods
// can be created in namespace default. Where it fails, nothing is left running.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	if err := options.validate(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("control plane folder: %w", err)
	}
	c := &ControlPlane{options: options, layout: layout{dir: dir}}
	// etcd refuses a data folder that others can read.
	for _, folder := range []string{dir, c.layout.etcd()} {
		if err := process.PrivateFolder(folder); err != nil {
			return nil, fmt.Errorf("control plane folder: %w", err)
		}
	}
	unlock, ok, err := process.TryLock(c.layout.lock())
	if err != nil {
		return nil, fmt.Errorf("control plane folder: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("another control plane runs in %s", dir)
	}
	c.unlock = unlock
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	for _, name := range []string{"kube-controller-manager", "kube-scheduler", "kube-apiserver", "etcd"} {
		if err := process.EndLeftover(ctx, c.layout.pid(name), c.options.Binaries[name]); err != nil {
			return fmt.Errorf("end what an earlier run left: %w", err)
		}
	}
	var err error
	if c.ports, err = choosePorts(ctx, c.layout.ports(), portPatience); err != nil {
		return err
	}
	if err := c.prepareAccess(); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	if err := c.StartAPIServer(ctx); err != nil {
		return err
	}
	if c.options.ControllerManager.Enabled {
		if err := c.StartControllerManager(ctx, c.options.ControllerManager); err != nil {
			return err
		}
	}
	if c.options.Scheduler {
		if err := c.startScheduler(ctx); err != nil {
			return err
		}
	}
	if c.options.ControllerManager.serviceAccounts() {
		return c.waitForDefaultServiceAccount(ctx)
	}
	return nil
}

// prepareAccess makes what is missing of keys and certificates, and writes the kubeconfigs.
func (c *ControlPlane) prepareAccess() error {
	var err error
	if c.authority, err = loadAuthority(c.layout, clusterAuthority, clusterAuthorityName); err != nil {
		return err
	}
	if err := c.prepareEtcdAccess(); err != nil {
		return err
	}
	if _, err := loadPair(c.layout, "server", c.authority.server); err != nil {
		return err
	}
	kubelet, err := loadAuthority(c.layout, kubeletAuthority, kubeletAuthorityName)
	if err != nil {
		return err
	}
	_, err = loadPair(c.layout, "apiserver-kubelet-client", func() (pair, error) {
		return kubelet.client("kube-apiserver-kubelet-client", nil)
	})
	if err != nil {
		return err
	}
	if err := ensureServiceAccountKey(c.layout); err != nil {
		return err
	}
	for _, component := range []string{"kube-controller-manager", "kube-scheduler"} {
		config, err := c.ClientConfigFor("system:" + component)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(c.layout.kubeconfig(component), config, component); err != nil {
			return err
		}
	}
	if c.admin, err = c.ClientConfigFor("kubernetes-admin", "system:masters"); err != nil {
		return err
	}
	return writeKubeconfig(c.layout.admin(), c.admin, "kubernetes-admin")
}

// prepareEtcdAccess makes what is missing of the keys and certificates of etcd and of its two clients: the API server and
// the stack, which asks etcd for its health and metrics.
func (c *ControlPlane) prepareEtcdAccess() error {
	authority, err := loadAuthority(c.layout, etcdAuthority, etcdAuthorityName)
	if err != nil {
		return err
	}
	client := func(name string) func() (pair, error) {
		return func() (pair, error) { return authority.client(name, nil) }
	}
	for _, member := range []struct {
		file  string
		issue func() (pair, error)
	}{
		{"etcd/server", authority.loopbackServer},
		{"etcd/peer", authority.loopbackPeer},
		{"apiserver-etcd-client", client("kube-apiserver-etcd-client")},
	} {
		if _, err := loadPair(c.layout, member.file, member.issue); err != nil {
			return err
		}
	}
	own, err := loadPair(c.layout, "etcd/stack-client", client("ostinato-devstack"))
	if err != nil {
		return err
	}
	c.etcdClient, err = rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAData: authority.certificatePEM, CertData: own.certificate, KeyData: own.key,
	}})
	if err != nil {
		return fmt.Errorf("client of etcd: %w", err)
	}
	return nil
}

// Stop stops everything in order: those who write, then the API server, then etcd. Stopping twice does nothing.
func (c *ControlPlane) Stop() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var failures []error
	for _, p := range []**process.Process{&c.controllerManager, &c.scheduler, &c.apiServer, &c.etcd} {
		failures = append(failures, stop(p))
	}
	if c.unlock != nil {
		c.unlock()
		c.unlock = nil
	}
	return errors.Join(failures...)
}

// stop stops a process if there is one, and forgets it.
func stop(p **process.Process) error {
	if *p == nil {
		return nil
	}
	err := (*p).Stop(stopGrace)
	*p = nil
	return err
}

// Processes returns the processes that were started and not stopped, for those who measure them or watch that none
// ends early.
func (c *ControlPlane) Processes() []*process.Process {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var running []*process.Process
	for _, p := range []*process.Process{c.etcd, c.apiServer, c.controllerManager, c.scheduler} {
		if p != nil {
			running = append(running, p)
		}
	}
	return running
}
