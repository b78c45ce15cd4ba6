// Package deployment is what the tests of an installation have in common: access as its
// service accounts, and a look at what was refused to them.
package deployment

import "ostinato.dev/ostinato/dev/devstack/manifests"

// Names in the manifests.
const (
	SystemNamespace = manifests.SystemNamespace
	ProbeNamespace  = manifests.ProbeNamespace
	WorkerAccount   = manifests.WorkerAccount
	BridgeAccount   = manifests.BridgeAccount
)
