package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ostinato.dev/ostinato/dev/devstack/process"
)

const (
	reportName = "report.json"
	logName    = "suite.log"
	// pollInterval is how often the suite's log and the cluster's processes are looked at.
	pollInterval = 2 * time.Second
	// suiteGrace is how long the suite may take to end after its time is over.
	suiteGrace = 2 * time.Minute
)

// suiteArguments are those of Ginkgo's command: it runs the suite's specs in processes and those that must be alone last,
// on the first process, and makes one report of them all.
func suiteArguments(o options, suite, kubeconfig, dir string) []string {
	return []string{
		"run", "--no-color", "-v",
		"--procs=" + strconv.Itoa(o.processes),
		"--timeout=" + o.timeout.String(),
		"--focus=" + o.selection(),
		"--output-dir=" + dir, "--json-report=" + reportName, "--junit-report=junit.xml",
		suite, "--",
		"--kubeconfig=" + kubeconfig, "--provider=skeleton", "--node-os-distro=debian",
	}
}

// runSuite runs the specs and returns the report, telling every spec that has ended on log. That specs fail is no error;
// that the cluster falls apart is, or that there is no report.
func runSuite(ctx context.Context, o options, p programs, c *cluster, dir string, log io.Writer) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("run the suite: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout+suiteGrace)
	defer cancel()
	suite, err := process.Start(ctx, process.Spec{
		Name: "ginkgo", Path: p.tools["ginkgo"], Args: suiteArguments(o, p.tools["e2e.test"], c.plane.KubeconfigPath(), dir),
		Dir: dir, LogFile: filepath.Join(dir, logName), SysProcAttr: isolation,
	})
	if err != nil {
		return nil, err
	}
	// Nothing of it is needed any more where it is not let to its end: the cluster goes too.
	defer suite.Kill()
	if err := watch(ctx, suite, c, log); err != nil {
		return nil, err
	}
	report, err := os.ReadFile(filepath.Join(dir, reportName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, suite.Failure(errors.New("the suite left no report"))
	}
	return report, err
}

// watch waits for the end of the suite.
func watch(ctx context.Context, suite *process.Process, c *cluster, log io.Writer) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	started := time.Now()
	follower := &follower{path: suite.LogFile(), log: log, elapsed: func() time.Duration { return time.Since(started) }}
	for {
		select {
		case <-suite.Done():
			return follower.poll()
		case <-ctx.Done():
			return fmt.Errorf("run the suite: %w", context.Cause(ctx))
		case <-ticker.C:
		}
		if err := errors.Join(follower.poll(), c.alive()); err != nil {
			return err
		}
	}
}
