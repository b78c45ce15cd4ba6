package deploy

import (
	"testing"
	"time"

	"ostinato.dev/ostinato/test/deploy/life"
)

// patience is ample for one step.
const patience = 30 * time.Second

// With worker and bridge under the access that the manifests give, and the admission
// policy in force.
func TestAWholeLifeUnderTheManifestsAccess(t *testing.T) {
	life.Whole(t, stack, stack.Namespace(t))
}
