// Package authority issues the certificates by which a Temporal server of the installation's own knows who calls. It is pure: the
// time is an argument, and what it makes is kept by its callers.
package authority
