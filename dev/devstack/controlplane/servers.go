package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// launch starts a server and waits until ready is content. What is not ready in time is stopped.
func (c *ControlPlane) launch(ctx context.Context, name string, arguments []string, port int, ready func(context.Context) error) (*process.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := process.EndLeftover(ctx, c.layout.pid(name), c.options.Binaries[name]); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := process.WaitPortFree(ctx, port); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	started := time.Now()
	p, err := process.Start(ctx, process.Spec{
		Name: name, Path: c.options.Binaries[name], Args: arguments, LogFile: c.layout.log(name), PIDFile: c.layout.pid(name),
	})
	if err != nil {
		return nil, err
	}
	if err := p.WaitReady(ctx, ready); err != nil {
		if killErr := p.Kill(); killErr != nil {
			return nil, fmt.Errorf("%w; and %w", err, killErr)
		}
		return nil, err
	}
	fmt.Fprintf(c.options.Log, "control plane: %s is ready on port %d after %s\n", name, port, time.Since(started).Round(100*time.Millisecond))
	return p, nil
}

func (c *ControlPlane) startEtcd(ctx context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var err error
	c.etcd, err = c.launch(ctx, "etcd", etcdArguments(c.layout, c.ports, c.options.Fsync), c.ports.EtcdClient,
		healthy(c.etcdClient, c.ports.etcdURL()+"/health"))
	return err
}

// StartAPIServer starts the API server on its port, with the etcd that runs, and waits until it is ready. It is for
// tests of an outage, after StopAPIServer. Where it runs, nothing happens.
func (c *ControlPlane) StartAPIServer(ctx context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.apiServer != nil {
		return nil
	}
	client, err := rest.HTTPClientFor(c.admin)
	if err != nil {
		return fmt.Errorf("start kube-apiserver: %w", err)
	}
	arguments := apiServerArguments(c.layout, c.ports, c.options.ControllerManager.serviceAccounts(), c.options.APIServerFlags)
	c.apiServer, err = c.launch(ctx, "kube-apiserver", arguments, c.ports.APIServer, healthy(client, c.ports.apiServerURL()+"/readyz"))
	return err
}

// StopAPIServer stops the API server alone; everything else goes on and finds it gone.
func (c *ControlPlane) StopAPIServer() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return stop(&c.apiServer)
}

// StartControllerManager starts kube-controller-manager and waits until it is healthy. One that runs is replaced, so
// that a test or a benchmark can change which controllers run. It is for control planes that were started with a
// controller manager: without, Pods are admitted without service accounts.
func (c *ControlPlane) StartControllerManager(ctx context.Context, options ControllerManagerOptions) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := stop(&c.controllerManager); err != nil {
		return err
	}
	if c.options.Binaries["kube-controller-manager"] == "" {
		return fmt.Errorf("start kube-controller-manager: no executable given")
	}
	var err error
	c.controllerManager, err = c.launch(ctx, "kube-controller-manager", controllerManagerArguments(c.layout, c.ports, options),
		c.ports.ControllerManager, c.healthz(c.ports.ControllerManager))
	return err
}

// StopControllerManager stops kube-controller-manager alone.
func (c *ControlPlane) StopControllerManager() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return stop(&c.controllerManager)
}

func (c *ControlPlane) startScheduler(ctx context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var err error
	c.scheduler, err = c.launch(ctx, "kube-scheduler", schedulerArguments(c.layout, c.ports), c.ports.Scheduler,
		c.healthz(c.ports.Scheduler))
	return err
}

// healthz asks a component on the loopback address whether it is healthy.
func (c *ControlPlane) healthz(port int) func(context.Context) error {
	client, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: c.authority.certificatePEM}})
	if err != nil {
		return func(context.Context) error { return err }
	}
	return healthy(client, fmt.Sprintf("https://127.0.0.1:%d/healthz", port))
}

// healthy returns a check that a GET of the address answers 200.
func healthy(client *http.Client, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s", address, response.Status)
		}
		return nil
	}
}

// waitForDefaultServiceAccount waits for what the API server wants before it admits a Pod in namespace default.
func (c *ControlPlane) waitForDefaultServiceAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return fmt.Errorf("wait for service account default/default: %w", err)
	}
	c.mutex.Lock()
	manager := c.controllerManager
	c.mutex.Unlock()
	return manager.WaitReady(ctx, func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}
