package temporalcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"ostinato.dev/ostinato/dev/devstack/await"
	"ostinato.dev/ostinato/dev/devstack/postgres"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
)

const (
	// shards is the number of history shards of a new cluster, eight for each host.
	shards = 16
	// connections is room for what all hosts have open at a time, and for people who look.
	connections = 250
	// readyPatience bounds how long the frontend may take to answer once all hosts run.
	readyPatience = time.Minute
	// retention is how long closed workflows are kept.
	retention = 72 * time.Hour

	namespace = "default"
)

// searchAttributes are those that Ostinato's workflows set.
var searchAttributes = map[string]string{
	"KubernetesNamespace": "Keyword", "CronJobName": "Keyword", "JobName": "Keyword", "ScheduledTime": "Datetime",
	"CronJobSuspended": "Bool", "CronJobLastResult": "Keyword", "CronJobNextRun": "Datetime",
}

// Options say where a cluster keeps its data and where it listens. All are required but UIPort and Log.
type Options struct {
	// Dir holds everything of the cluster. Starting again there finds workflows as they were.
	Dir string
	// Program is the executable of dev/cmd/temporalhost.
	Program string
	// FrontendPort is where clients connect, on the loopback address.
	FrontendPort int
	// UIPort is that of the Web UI; 0 means none.
	UIPort int
	// LogFile returns the path for the log of a process.
	LogFile func(name string) string
	// Log receives a line for each step.
	Log io.Writer
}

// Cluster is PostgreSQL and the hosts on it.
type Cluster struct {
	options  Options
	cluster  spec.Cluster
	postgres *postgres.Server
	running  []member
}

type member struct {
	host    Host
	process *process.Process
}

// New returns a cluster that does not run yet.
func New(o Options) *Cluster {
	if o.Log == nil {
		o.Log = io.Discard
	}
	return &Cluster{options: o}
}

// Start starts what does not run, PostgreSQL first, and returns when workflows can be started. What it started stays
// when it fails: call Stop.
func (c *Cluster) Start(ctx context.Context) error {
	if err := c.start(ctx); err != nil {
		return fmt.Errorf("start the Temporal cluster: %w", err)
	}
	return nil
}

func (c *Cluster) start(ctx context.Context) error {
	certificates := spec.Certificates(filepath.Join(c.options.Dir, "certificates"))
	if err := makeCertificates(certificates); err != nil {
		return err
	}
	if err := c.startPostgres(ctx); err != nil {
		return err
	}
	ports, err := choosePorts(c.options.FrontendPort)
	if err != nil {
		return err
	}
	c.cluster = spec.Cluster{
		Database: spec.Database{
			Address: c.postgres.Address, User: postgres.User, Password: c.postgres.Password,
			Executions: "temporal", Visibility: "temporal_visibility",
		},
		Shards: shards, Ports: ports, UIPort: c.options.UIPort, Certificates: certificates,
		Namespace: namespace, Retention: retention, SearchAttributes: searchAttributes,
	}
	if err := c.cluster.Write(c.file()); err != nil {
		return err
	}
	if err := c.setUp(ctx); err != nil {
		return err
	}
	if err := c.startHosts(ctx); err != nil {
		return err
	}
	return c.awaitFrontend(ctx)
}

func (c *Cluster) startPostgres(ctx context.Context) error {
	if c.postgres != nil {
		return nil
	}
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	c.postgres, err = postgres.Start(ctx, postgres.Options{
		// Beside the cluster's own folder, which holds keys that are none of PostgreSQL's business.
		Dir:  filepath.Join(filepath.Dir(c.options.Dir), "postgres"),
		Port: port, Connections: connections, LogFile: c.options.LogFile("postgres"), Log: c.options.Log,
	})
	return err
}

// awaitFrontend waits until the frontend finds that a workflow does not exist: it then knows the namespace, and reaches
// a history host that has the shard.
func (c *Cluster) awaitFrontend(ctx context.Context) error {
	configuration, err := c.Access(spec.Admin).TLS()
	if err != nil {
		return err
	}
	connection, err := grpc.NewClient(c.cluster.Address(spec.Frontend, 0), grpc.WithTransportCredentials(credentials.NewTLS(configuration)))
	if err != nil {
		return err
	}
	defer connection.Close()
	frontend := workflowservice.NewWorkflowServiceClient(connection)
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	return await.Success(ctx, 100*time.Millisecond, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := frontend.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: namespace, Execution: &common.WorkflowExecution{WorkflowId: "readiness-probe"},
		})
		var missing *serviceerror.NotFound
		if errors.As(serviceerror.FromStatus(status.Convert(err)), &missing) {
			return nil
		}
		return err
	})
}

// Access returns how the program that a certificate is made out to reaches the cluster.
func (c *Cluster) Access(name string) Access {
	certificates := spec.Certificates(filepath.Join(c.options.Dir, "certificates"))
	return Access{
		Address:     fmt.Sprintf("%s:%d", spec.FirstIP, c.options.FrontendPort),
		Authority:   certificates.Certificate(spec.ClientAuthority),
		Certificate: certificates.Certificate(name), Key: certificates.Key(name),
	}
}

// Certificates returns the folder of the cluster's certificates.
func (c *Cluster) Certificates() spec.Certificates { return c.cluster.Certificates }

// Address returns where a host serves requests.
func (c *Cluster) Address(h Host) string { return c.cluster.Address(h.Role, h.N) }

// Processes returns those that run.
func (c *Cluster) Processes() []*process.Process {
	var all []*process.Process
	if c.postgres != nil {
		all = append(all, c.postgres.Process())
	}
	for _, m := range c.running {
		all = append(all, m.process)
	}
	return all
}

func (c *Cluster) find(h Host) int {
	return slices.IndexFunc(c.running, func(m member) bool { return m.host == h })
}

// KillHost kills (SIGKILL) a host.
func (c *Cluster) KillHost(h Host) error {
	at := c.find(h)
	if at < 0 {
		return fmt.Errorf("%s does not run", h.Name())
	}
	victim := c.running[at].process
	c.running = slices.Delete(c.running, at, at+1)
	return victim.Kill()
}

// Kill kills all hosts. PostgreSQL goes on; Start starts the hosts again on its data.
func (c *Cluster) Kill() error {
	var failures []error
	for _, m := range c.running {
		failures = append(failures, m.process.Kill())
	}
	c.running = nil
	return errors.Join(failures...)
}

// Stop stops everything: the hosts together, PostgreSQL last.
func (c *Cluster) Stop() error {
	failures := make(chan error, len(c.running))
	for _, m := range c.running {
		go func() { failures <- m.process.Stop(hostGrace) }()
	}
	var all []error
	for range c.running {
		all = append(all, <-failures)
	}
	c.running = nil
	if c.postgres != nil {
		all = append(all, c.postgres.Stop())
		c.postgres = nil
	}
	return errors.Join(all...)
}
