// Package temporalcluster runs a Temporal cluster on this machine in the shape of one that serves many: PostgreSQL, and
// the server's four roles as processes of their own, two of them history hosts and two matching hosts, with certificates
// on both sides of every connection and an authorizer at the frontend. For development, tests and benchmarks.
//
// The processes are dev/cmd/temporalhost; what they do is in package host below this one. It needs Linux: the hosts of a role
// have the same ports and differ in their loopback address.
package temporalcluster
