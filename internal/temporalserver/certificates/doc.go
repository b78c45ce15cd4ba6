// Package certificates keeps the certificates of an installation's own Temporal server in Secrets of its namespace: an authority,
// and a pair each for worker and bridge. The certificates of the authority are in a ConfigMap, for people. The server's own pair is
// in its memory alone.
package certificates
