// Package spec says what a Temporal cluster of several processes consists of, so that those who start its processes and
// the processes themselves agree. It links nothing of the Temporal server.
package spec

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Role is what one process of a cluster does.
type Role string

const (
	// Setup makes databases, tables and the namespace, and ends.
	Setup Role = "setup"
	// Frontend serves clients. It is the only role with an authorizer.
	Frontend Role = "frontend"
	// History keeps the state of workflows; each host has its part of the shards.
	History Role = "history"
	// Matching brings tasks and workers together.
	Matching Role = "matching"
	// Internal runs the server's own workflows; Temporal calls this role worker.
	Internal Role = "worker"
	// UI is the Web UI.
	UI Role = "ui"
)

// Roles are all there are.
var Roles = []Role{Setup, Frontend, History, Matching, Internal, UI}

// The names in client certificates, by which the frontend's authorizer knows who calls.
const (
	// Admin may do everything.
	Admin = "admin"
	// System is the server itself.
	System = "temporal"
	// Worker is Ostinato's worker.
	Worker = "worker"
	// Bridge is Ostinato's bridge.
	Bridge = "bridge"
	// Viewer is the Web UI: it may read.
	Viewer = "ui"
)

// FirstIP is where the frontend, and the first host of each other role, listens. The hosts of a role have the same
// ports, as Temporal wants it, so the n-th has the n-th address after it.
const FirstIP = "127.0.0.1"

// IP returns the address of the n-th host of a role, from 0.
func IP(n int) string { return fmt.Sprintf("127.0.0.%d", n+1) }

// Port is a pair of ports of a role.
type Port struct {
	// GRPC serves requests, Membership is where the hosts find one another.
	GRPC       int `json:"grpc"`
	Membership int `json:"membership"`
}

// Database is a PostgreSQL server and what the cluster has there.
type Database struct {
	// Address is host:port.
	Address  string `json:"address"`
	User     string `json:"user"`
	Password string `json:"password"`
	// Executions and Visibility are the names of the two databases.
	Executions string `json:"executions"`
	Visibility string `json:"visibility"`
}

// Cluster is what all processes of a cluster have to know.
type Cluster struct {
	Database Database `json:"database"`
	// Shards is the number of history shards; it can't change later.
	Shards int           `json:"shards"`
	Ports  map[Role]Port `json:"ports"`
	// UIPort is that of the Web UI, 0 without one.
	UIPort int `json:"uiPort,omitempty"`
	// Certificates is the folder of certificates and keys.
	Certificates Certificates  `json:"certificates"`
	Namespace    string        `json:"namespace"`
	Retention    time.Duration `json:"retention"`
	// SearchAttributes are those of the namespace: Keyword, Datetime and so on, by name.
	SearchAttributes map[string]string `json:"searchAttributes"`
	// DynamicConfig holds settings by Temporal's own keys.
	DynamicConfig map[string]any `json:"dynamicConfig,omitempty"`
}

// Address returns where a role's n-th host serves requests.
func (c Cluster) Address(role Role, n int) string {
	return net.JoinHostPort(IP(n), strconv.Itoa(c.Ports[role].GRPC))
}

// Certificates is a folder of certificates, each with its key.
type Certificates string

// Names of authorities and servers in the folder.
const (
	// ClientAuthority signs clients and the frontend, InternodeAuthority the hosts: a client's certificate does not get
	// past the frontend, whose authorizer is the only one.
	ClientAuthority    = "client-ca"
	InternodeAuthority = "internode-ca"
	FrontendServer     = "frontend"
	InternodeHost      = "internode"
)

// InternodeName is the name in the certificate of every host.
const InternodeName = "internode.temporal.ostinato.dev"

// Certificate returns the path of a certificate.
func (c Certificates) Certificate(name string) string { return filepath.Join(string(c), name+".crt") }

// Key returns the path of a certificate's key.
func (c Certificates) Key(name string) string { return filepath.Join(string(c), name+".key") }

// Read reads a cluster from a file.
func Read(path string) (Cluster, error) {
	var c Cluster
	data, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read the cluster: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read the cluster from %s: %w", path, err)
	}
	return c, nil
}

// Write writes the cluster to a file that only its owner can read: it holds the database's password.
func (c Cluster) Write(path string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write the cluster: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the cluster: %w", err)
	}
	return nil
}
