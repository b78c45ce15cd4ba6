package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/test/exposition"
)

// startRequest is what the suite asks for (tools/kubernetes/jobs).
type startRequest struct {
	Name       string   `json:"name"`
	Kubeconfig string   `json:"kubeconfig"`
	Cluster    string   `json:"cluster"`
	Arguments  []string `json:"arguments"`
}

// controllers starts and stops workers and bridges for the suite, and counts what they count.
type controllers struct {
	programs devstack.Programs
	// temporal is the server's address.
	temporal string
	// folder has their logs.
	folder string
	// kill makes every stop a SIGKILL.
	kill bool

	mutex   sync.Mutex
	started int
	running map[string]*pair
	// ended are the counters of those that have ended.
	ended map[string]float64
}

// pair is a worker and a bridge.
type pair struct {
	processes []*process.Process
	metrics   []int
}

const (
	// stopGrace is longer than either program's time to drain.
	stopGrace = 30 * time.Second
	// readInterval is the time between two looks at the counters of who drains.
	readInterval = 10 * time.Millisecond
)

func (c *controllers) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /start", answering(c.start))
	mux.HandleFunc("POST /stop", answering(c.stop))
	mux.HandleFunc("POST /counters", answering(c.counters))
	return mux
}

// answering decodes a request and encodes the answer.
func answering[Request, Answer any](call func(context.Context, Request) (Answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request Request
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := call(r.Context(), request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}
}

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// start returns when worker and bridge are ready.
func (c *controllers) start(ctx context.Context, request startRequest) (id string, err error) {
	c.mutex.Lock()
	c.started++
	id = fmt.Sprintf("%03d-%.80s", c.started, notInFileNames.ReplaceAllString(request.Name, "-"))
	c.mutex.Unlock()
	kubeconfig := filepath.Join(c.folder, id+".kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(request.Kubeconfig), 0o600); err != nil {
		return "", err
	}
	// One bridge runs at a time, and one that is killed would leave its lease for 15 seconds. The namespace of its probe does not exist.
	programs := []struct {
		path string
		more []string
	}{{c.programs.Worker, nil}, {c.programs.Bridge, []string{"--leader-elect=false"}}}
	p := &pair{}
	ready := make([]func(context.Context) error, len(programs))
	for i, program := range programs {
		health, err := process.FreePort()
		if err != nil {
			return "", errors.Join(err, p.kill())
		}
		metrics, err := process.FreePort()
		if err != nil {
			return "", errors.Join(err, p.kill())
		}
		name := filepath.Base(program.path)
		one, err := process.Start(ctx, process.Spec{
			Name: name, Path: program.path, LogFile: filepath.Join(c.folder, id+"."+name+".log"),
			Args: slices.Concat([]string{
				"--takeover=jobs", "--cluster=" + request.Cluster,
				fmt.Sprintf("--health-address=127.0.0.1:%d", health), fmt.Sprintf("--metrics-address=127.0.0.1:%d", metrics),
			}, request.Arguments, program.more),
			Env:     []string{"KUBECONFIG=" + kubeconfig, "TEMPORAL_ADDRESS=" + c.temporal, "TEMPORAL_CONFIG_FILE=" + os.DevNull},
			Without: []string{"TEMPORAL_", "OSTINATO_"},
		})
		if err != nil {
			return "", errors.Join(err, p.kill())
		}
		p.processes, p.metrics = append(p.processes, one), append(p.metrics, metrics)
		ready[i] = answers(fmt.Sprintf("http://127.0.0.1:%d/readyz", health))
	}
	ctx, cancel := context.WithTimeout(ctx, harness.HeartbeatTimeout+harness.Prompt)
	defer cancel()
	for i, one := range p.processes {
		if err := one.WaitReady(ctx, ready[i]); err != nil {
			return "", errors.Join(err, p.kill())
		}
	}
	if err := p.processes[0].WaitReady(ctx, func(ctx context.Context) error { return watches(ctx, p.metrics[0]) }); err != nil {
		return "", errors.Join(err, p.kill())
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.running[id] = p
	return id, nil
}

// watches checks that the worker watches Pods, which is what the suite waits for by its informers' caches. Where the one before was killed
// Temporal gives the watch away when no heartbeat comes any more.
func watches(ctx context.Context, metrics int) error {
	read, err := countersAt(ctx, metrics, []string{"ostinato_podwatch_heartbeat_timestamp_seconds"})
	if err == nil && len(read) == 0 {
		err = errors.New("it does not watch Pods")
	}
	return err
}

// answers returns a check that an address answers with 200.
func answers(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		response, err := get(ctx, address)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
}

// get returns an answer of code 200, whose body the caller closes.
func get(ctx context.Context, address string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, errors.New(response.Status)
	}
	return response, nil
}

// stop returns when both are gone. Their counters are read until then, while they drain.
func (c *controllers) stop(ctx context.Context, id string) (done bool, err error) {
	c.mutex.Lock()
	p, ok := c.running[id]
	delete(c.running, id)
	c.mutex.Unlock()
	if !ok {
		return false, fmt.Errorf("no worker and bridge %s run", id)
	}
	for _, one := range p.processes {
		err = errors.Join(err, one.Err())
	}
	last := p.read(ctx)
	if c.kill {
		err = errors.Join(err, p.kill())
	} else {
		err = errors.Join(err, p.stop(func() { p.readAgain(ctx, last) }))
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, counted := range last {
		add(c.ended, counted)
	}
	return true, err
}

// stopAll stops what the suite has left.
func (c *controllers) stopAll() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, p := range c.running {
		_ = p.kill()
	}
	clear(c.running)
}

func (p *pair) kill() (err error) {
	for _, one := range p.processes {
		err = errors.Join(err, one.Kill())
	}
	return err
}

// stop asks both to end, waits until they have, and calls meanwhile again and again.
func (p *pair) stop(meanwhile func()) error {
	failures := make([]error, len(p.processes))
	var group sync.WaitGroup
	for i, one := range p.processes {
		group.Go(func() { failures[i] = one.Stop(stopGrace) })
	}
	stopped := make(chan struct{})
	go func() {
		group.Wait()
		close(stopped)
	}()
	ticker := time.NewTicker(readInterval)
	defer ticker.Stop()
	for {
		select {
		case <-stopped:
			return errors.Join(failures...)
		case <-ticker.C:
			meanwhile()
		}
	}
}

// counterNames are those of the counters that the suite reads, known from the first time on that it does.
var counterNames = []string{
	"job_controller_jobs_finished_total", "job_controller_job_pods_finished_total", "job_controller_job_finished_indexes_total",
	"job_controller_job_pods_creation_total", "job_controller_pod_failures_handled_by_failure_policy_total",
	"job_controller_jobs_by_external_controller_total", "job_controller_terminated_pods_tracking_finalizer_total",
}

// counters returns the named counters of all that run and ran, summed up.
func (c *controllers) counters(ctx context.Context, names []string) (map[string]float64, error) {
	for _, name := range names {
		if !slices.Contains(counterNames, name) {
			return nil, fmt.Errorf("%s is none of %s", name, strings.Join(counterNames, ", "))
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	sum := maps.Clone(c.ended)
	for _, p := range c.running {
		now, err := p.counters(ctx, counterNames)
		if err != nil {
			return nil, err
		}
		add(sum, now)
	}
	return sum, nil
}

// counters returns what both count now.
func (p *pair) counters(ctx context.Context, names []string) (map[string]float64, error) {
	sum := map[string]float64{}
	for _, port := range p.metrics {
		read, err := countersAt(ctx, port, names)
		if err != nil {
			return nil, err
		}
		add(sum, read)
	}
	return sum, nil
}

// read returns what each counts now, nothing of one that does not answer.
func (p *pair) read(ctx context.Context) []map[string]float64 {
	all := make([]map[string]float64, len(p.metrics))
	p.readAgain(ctx, all)
	return all
}

// readAgain replaces what those have counted that answer.
func (p *pair) readAgain(ctx context.Context, last []map[string]float64) {
	for i, port := range p.metrics {
		if read, err := countersAt(ctx, port, counterNames); err == nil {
			last[i] = read
		}
	}
}

func countersAt(ctx context.Context, port int, names []string) (map[string]float64, error) {
	response, err := get(ctx, "http://127.0.0.1:"+strconv.Itoa(port)+"/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return exposition.Counts(response.Body, names, counterKey)
}

// counterKey is the name, a space and each label as name=value, by name.
func counterKey(name string, labels map[string]string) string {
	key := name
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		key += " " + label + "=" + labels[label]
	}
	return key
}

func add(sum, more map[string]float64) {
	for key, value := range more {
		sum[key] += value
	}
}
