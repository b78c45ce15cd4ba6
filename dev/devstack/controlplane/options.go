package controlplane

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Options says what to run.
type Options struct {
	// Dir holds everything the control plane keeps. It is created. One control plane at a time can run in it.
	Dir string
	// Binaries maps etcd, kube-apiserver and what else is enabled to their executables (toolchain.Ensure).
	Binaries map[string]string
	// ControllerManager says which of Kubernetes' own controllers run.
	ControllerManager ControllerManagerOptions
	// Scheduler runs kube-scheduler. Without it, Pods have to name their node.
	Scheduler bool
	// APIServerFlags are added to kube-apiserver's, "--name=value" each (an audit policy, for instance).
	APIServerFlags []string
	// Fsync makes etcd write through to the disk. Without it, a crash of the machine (not of a process) can lose the
	// last seconds; tests are far faster without.
	Fsync bool
	// Log receives a line for each step; nil discards them.
	Log io.Writer
}

// ControllerManagerOptions says how kube-controller-manager runs.
type ControllerManagerOptions struct {
	Enabled bool
	// Controllers is its --controllers flag. Empty means "*": as a real cluster has it, its own cronjob and job
	// controllers included. TakeOver names the value for take-over.
	Controllers string
	// QPS and Burst limit each controller's client; 0 leaves kube-controller-manager's defaults (20 and 30).
	QPS   float32
	Burst int
	// Flags are added, "--name=value" each.
	Flags []string
}

// TakeOver is the value of ControllerManagerOptions.Controllers that leaves CronJobs and Jobs to others.
const TakeOver = "*,-cronjob-controller,-job-controller"

// serviceAccounts tells whether the controllers run that Pods need for their service account.
func (o ControllerManagerOptions) serviceAccounts() bool {
	if !o.Enabled {
		return false
	}
	named := strings.Split(o.controllers(), ",")
	return runs(named, "serviceaccount-controller") && runs(named, "root-ca-certificate-publisher-controller")
}

func (o ControllerManagerOptions) controllers() string {
	if o.Controllers == "" {
		return "*"
	}
	return o.Controllers
}

// runs tells whether --controllers includes the controller: an exact name decides, else "*".
func runs(named []string, controller string) bool {
	switch {
	case slices.Contains(named, controller):
		return true
	case slices.Contains(named, "-"+controller):
		return false
	default:
		return slices.Contains(named, "*")
	}
}

// validate tells what is missing before anything is started.
func (o Options) validate() error {
	if o.Dir == "" {
		return errors.New("control plane: no folder given")
	}
	needed := []string{"etcd", "kube-apiserver"}
	if o.ControllerManager.Enabled {
		needed = append(needed, "kube-controller-manager")
	}
	if o.Scheduler {
		needed = append(needed, "kube-scheduler")
	}
	for _, name := range needed {
		if o.Binaries[name] == "" {
			return fmt.Errorf("control plane: no executable given for %s", name)
		}
	}
	return nil
}
