// Package signer signs what people bring to a Temporal server of the installation's own: certificate signing requests, into which
// the API server has stamped who makes them.
package signer
