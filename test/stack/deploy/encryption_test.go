package deploy

import (
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/devstack/manifests"
)

// The components of encryption apply without an error or a warning, the codec server's
// Pod in a namespace that restricts Pods.
func TestEncryptionApplies(t *testing.T) {
	const encryption, codecServer = "components/payload-encryption", "components/codec-server"
	for name, components := range map[string][]string{
		"encryption alone":        {encryption},
		"and the codec server":    {encryption, codecServer},
		"beside other components": {manifests.TakeOverJobs, manifests.WithoutPodLogs, encryption, codecServer},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, err := manifests.Render(t.Context(), manifests.Installation{Folder: manifests.Base, Components: components})
			if err != nil {
				t.Fatal(err)
			}
			output, err := manifests.Apply(t.Context(), stack.Stack, rendered, "--dry-run=server")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(output, "Warning:") {
				t.Errorf("kubectl warns:\n%s", output)
			}
			if !strings.Contains(output, "statefulset.apps/ostinato-codec-server") && len(components) > 1 {
				t.Errorf("kubectl applies no codec server:\n%s", output)
			}
		})
	}
}
