package node

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"ostinato.dev/ostinato/dev/devstack/process"
)

//go:embed stages/*.yaml
var stages embed.FS

const (
	// kwokName is the default name of a simulated node.
	kwokName = "ostinato-kwok"
	// kwokAnnotation marks the nodes that kwok simulates.
	kwokAnnotation = "kwok.x-k8s.io/node"
	// startPatience bounds the wait for a node to be ready.
	startPatience = 2 * time.Minute
	// stopGrace is how long a node may take to end by itself.
	stopGrace = 20 * time.Second
)

// simulatedLog is what kubectl logs shows for every Pod of a simulated node, in the runtime's log format.
const simulatedLog = "2000-01-01T00:00:00Z stdout F This Pod is simulated by kwok: no container ran. A real node needs Linux and root.\n"

// KwokOptions says where and for which control plane a simulated node runs.
type KwokOptions struct {
	// Dir holds what the node keeps: stages and log. It is created.
	Dir string
	// Binary is kwok's executable.
	Binary string
	// RESTConfig and KubeconfigPath are an administrator's access to the control plane.
	RESTConfig     *rest.Config
	KubeconfigPath string
	// Name is the Node's; empty means ostinato-kwok.
	Name string
	// ForwardTo is the port of loopback that stands for every port of every Pod in kubectl port-forward; 0 means none.
	ForwardTo int
	// Log receives a line for each step; nil discards them.
	Log io.Writer
}

// Kwok is a simulated node.
type Kwok struct {
	name    string
	process *process.Process
}

// StartKwok adds a simulated node to the control plane and returns when Pods can be scheduled to it. Leftover Node
// objects of real nodes in the same cluster are removed: what is bound to them would wait for ever.
func StartKwok(ctx context.Context, options KwokOptions) (*Kwok, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	if options.Name == "" {
		options.Name = kwokName
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	started := time.Now()
	client, err := kubernetes.NewForConfig(options.RESTConfig)
	if err != nil {
		return nil, fmt.Errorf("start node %s: %w", options.Name, err)
	}
	if err := removeOtherKinds(ctx, client, kindSimulated); err != nil {
		return nil, err
	}
	if err := createNode(ctx, client, kwokNode(options.Name)); err != nil {
		return nil, err
	}
	pidFile := filepath.Join(options.Dir, "kwok.pid")
	if err := process.EndLeftover(ctx, pidFile, options.Binary); err != nil {
		return nil, fmt.Errorf("end what an earlier run left: %w", err)
	}
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	arguments, err := prepareKwok(options, port)
	if err != nil {
		return nil, err
	}
	p, err := process.Start(ctx, process.Spec{
		Name: "kwok", Path: options.Binary, Args: arguments, LogFile: filepath.Join(options.Dir, "logs", "kwok.log"),
		PIDFile: pidFile,
		// A home of its own: kwok reads a configuration from the user's otherwise.
		Env: []string{"HOME=" + options.Dir},
	})
	if err != nil {
		return nil, err
	}
	k := &Kwok{name: options.Name, process: p}
	err = p.WaitReady(ctx, func(ctx context.Context) error { return schedulable(ctx, client, options.Name, time.Time{}) })
	if err != nil {
		if stopErr := k.Stop(); stopErr != nil {
			return nil, fmt.Errorf("%w; and %w", err, stopErr)
		}
		return nil, err
	}
	fmt.Fprintf(options.Log, "node: %s is ready after %s (simulated by kwok)\n", options.Name, time.Since(started).Round(100*time.Millisecond))
	return k, nil
}

// Name returns the Node's name.
func (k *Kwok) Name() string { return k.name }

// Processes returns kwok's process.
func (k *Kwok) Processes() []*process.Process { return []*process.Process{k.process} }

// Stop stops the simulation. The Node and its Pods stay as they are and go on at the next start.
func (k *Kwok) Stop() error { return k.process.Stop(stopGrace) }

// kwokNode is the Node object of a simulated node.
func kwokNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{kwokAnnotation: "fake"},
		Labels: map[string]string{
			kindLabel:              kindSimulated,
			corev1.LabelHostname:   name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: "amd64",
			"kubernetes.io/role":   "agent",
			"type":                 "kwok",
		},
	}}
}

// prepareKwok writes kwok's configuration, one file, and returns its arguments.
func prepareKwok(options KwokOptions, port int) ([]string, error) {
	log := filepath.Join(options.Dir, "simulated.log")
	configuration := filepath.Join(options.Dir, "kwok.yaml")
	documents, err := kwokConfiguration(log, options.ForwardTo)
	if err != nil {
		return nil, err
	}
	if err := process.PrivateFolder(options.Dir); err != nil {
		return nil, fmt.Errorf("write kwok's configuration: %w", err)
	}
	for path, data := range map[string][]byte{log: []byte(simulatedLog), configuration: documents} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return nil, fmt.Errorf("write kwok's configuration: %w", err)
		}
	}
	return kwokArguments(options.KubeconfigPath, configuration, port), nil
}

// kwokConfiguration joins the stages and the answers to kubectl logs and port-forward into one stream of documents.
func kwokConfiguration(log string, forwardTo int) ([]byte, error) {
	files, err := fs.Glob(stages, "stages/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("read kwok's stages: %w", err)
	}
	documents := clusterLogs(log)
	if forwardTo != 0 {
		documents = append(documents, clusterPortForward(forwardTo)...)
	}
	for _, file := range files {
		data, err := stages.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read kwok's stages: %w", err)
		}
		documents = append(append(documents, "---\n"...), data...)
	}
	return documents, nil
}

func kwokArguments(kubeconfig, configuration string, port int) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--config=" + configuration,
		"--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector=" + kwokAnnotation + "=fake",
		"--node-ip=127.0.0.1",
		"--node-port=" + strconv.Itoa(port),
		"--server-address=127.0.0.1:" + strconv.Itoa(port),
	}
}

// clusterLogs makes kwok answer kubectl logs with the file.
func clusterLogs(file string) []byte {
	return fmt.Appendf(nil, `apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterLogs
metadata:
  name: simulated
spec:
  logs:
  - logsFile: %q
`, file)
}

// clusterPortForward makes kwok forward what comes for any port of a Pod to a port of loopback.
func clusterPortForward(port int) []byte {
	return fmt.Appendf(nil, `---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterPortForward
metadata:
  name: simulated
spec:
  forwards:
  - target:
      address: 127.0.0.1
      port: %d
`, port)
}
