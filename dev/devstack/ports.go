package devstack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
)

// Ports are the loopback ports of a stack's own servers (the API server's are
// package controlplane's).
type Ports struct {
	Frontend int `json:"frontend"`
	UI       int `json:"ui"`
}

// Where people look first; taken when free.
const (
	usualFrontendPort = 7233
	usualUIPort       = 8233
)

// keptPorts returns the ports a stack in directory had before, as long as they
// are free, so that addresses people noted stay true; else new ones, which are
// kept. With usual set, the ports people know from Temporal are tried first.
func keptPorts(directory string, usual bool) (Ports, error) {
	ports, err := readPorts(directory)
	if err != nil {
		return Ports{}, err
	}
	if usual && ports == (Ports{}) {
		ports = Ports{Frontend: usualFrontendPort, UI: usualUIPort}
	}
	for _, port := range []*int{&ports.Frontend, &ports.UI} {
		if *port != 0 && process.PortIsFree(*port) {
			continue
		}
		free, err := process.FreePort()
		if err != nil {
			return Ports{}, err
		}
		*port = free
	}
	data, err := json.Marshal(ports)
	if err != nil {
		return Ports{}, fmt.Errorf("encode ports: %w", err)
	}
	if err := os.WriteFile(portsFile(directory), data, 0o644); err != nil {
		return Ports{}, fmt.Errorf("keep ports: %w", err)
	}
	return ports, nil
}

// readPorts returns the ports that a stack in directory had before, 0 where there was none.
func readPorts(directory string) (ports Ports, err error) {
	path := portsFile(directory)
	data, err := os.ReadFile(path)
	if err != nil {
		return Ports{}, nil
	}
	if err := json.Unmarshal(data, &ports); err != nil {
		return Ports{}, fmt.Errorf("read %s: %w", path, err)
	}
	return ports, nil
}

func portsFile(directory string) string { return filepath.Join(directory, "ports.json") }

// frontendAddress is Temporal's, whichever server it is.
func frontendAddress(ports Ports) string { return fmt.Sprintf("%s:%d", spec.FirstIP, ports.Frontend) }
