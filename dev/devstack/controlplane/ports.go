package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// portPatience is how long a port of the last run may take to become free: the servers of a run that was killed are
// gone within moments.
const portPatience = 5 * time.Second

// ports are the control plane's own, kept from run to run.
type ports struct {
	EtcdClient        int `json:"etcdClient"`
	EtcdPeer          int `json:"etcdPeer"`
	APIServer         int `json:"apiServer"`
	ControllerManager int `json:"controllerManager"`
	Scheduler         int `json:"scheduler"`
}

// choosePorts takes the ports of the last run in the folder where they become free in time, else free ones, and keeps them.
func choosePorts(ctx context.Context, file string, patience time.Duration) (ports, error) {
	var p ports
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("read the ports of the last run: %w", err)
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &p); err != nil {
			return p, fmt.Errorf("read the ports of the last run in %s: %w", file, err)
		}
	}
	for _, port := range []*int{&p.EtcdClient, &p.EtcdPeer, &p.APIServer, &p.ControllerManager, &p.Scheduler} {
		if *port != 0 {
			patient, cancel := context.WithTimeout(ctx, patience)
			err := process.WaitPortFree(patient, *port)
			cancel()
			if err == nil {
				continue
			}
		}
		if *port, err = process.FreePort(); err != nil {
			return p, err
		}
	}
	data, err = json.MarshalIndent(p, "", "  ")
	if err != nil {
		return p, fmt.Errorf("keep the ports: %w", err)
	}
	if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
		return p, fmt.Errorf("keep the ports: %w", err)
	}
	return p, nil
}
