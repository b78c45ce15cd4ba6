// Package access decides who may call a Temporal server that is the installation's own.
//
// Programs come with a certificate of the installation's authority, and may call what their work needs. People come with a
// credential that names a user of the Kubernetes API server, and may do to a workflow what the API server lets them do to the
// object for which the workflow stands. Administrators, a group of the API server's, may do everything.
package access
