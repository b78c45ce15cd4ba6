package job

import (
	"testing"

	"k8s.io/kubernetes/test/integration/framework"
)

// TestMain is upstream's.
func TestMain(m *testing.M) {
	framework.EtcdMain(m.Run)
}
