// Package host is one process of a Temporal cluster that package temporalcluster starts: the server in one of its roles,
// the Web UI, or what has to be done once before them.
//
// It links the Temporal server; the temporalhost command wraps it.
package host
