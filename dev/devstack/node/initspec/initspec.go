// Package initspec is what package node tells its helper node-init to set up and run.
package initspec

import (
	"encoding/json"
	"fmt"
	"os"
)

// Spec is the inside of a node: what the file system looks like, then what runs, in order.
type Spec struct {
	// Private are host folders that take the place of others.
	Private []Bind `json:"private"`
	// Binds are host files or folders that appear at a path of a private folder, which is created.
	Binds []Bind `json:"binds"`
	// Files are contents that take the place of files, kernel settings for instance. Reads and writes stay inside.
	Files map[string]string `json:"files"`
	// Network is the node's address, as a prefix: addresses of the prefix that nothing else has are the node's too. It needs
	// a network name space of its own. Empty leaves the network as it is.
	Network string `json:"network,omitempty"`
	// Steps are done one after the other. Then node-init waits.
	Steps []Step `json:"steps"`
}

// Bind shows what is at Source on the host at Target inside.
type Bind struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// Step is a program to run.
type Step struct {
	Name string   `json:"name"`
	Path string   `json:"path"`
	Args []string `json:"args"`
	// Env is added to the environment.
	Env []string `json:"env,omitempty"`
	// Log receives its output, appended.
	Log string `json:"log"`
	// Daemon goes on; the node ends when it does. Other programs have to end well before the next step.
	Daemon bool `json:"daemon,omitempty"`
	// Socket is the socket by which a daemon shows that it is ready.
	Socket string `json:"socket,omitempty"`
	// Awaits are programs that may not be there yet. The step, and those after it, begin when all are.
	Awaits []string `json:"awaits,omitempty"`
}

// Read reads a spec that Write wrote.
func Read(path string) (Spec, error) {
	var spec Spec
	data, err := os.ReadFile(path)
	if err != nil {
		return spec, fmt.Errorf("read the node's spec: %w", err)
	}
	if err := json.Unmarshal(data, &spec); err != nil {
		return spec, fmt.Errorf("read the node's spec %s: %w", path, err)
	}
	return spec, nil
}

// Write writes the spec to a file.
func (s Spec) Write(path string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the node's spec: %w", err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("write the node's spec: %w", err)
	}
	return nil
}
