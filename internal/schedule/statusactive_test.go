package schedule_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

// TestTheLargestActive: a status may be written again and again, and etcd keeps each for minutes.
func TestTheLargestActive(t *testing.T) {
	namespace := strings.Repeat("n", 63)
	for name, test := range map[string]struct {
		change func(*corev1.ObjectReference)
		want   string
	}{
		"Jobs of the longest names that Pods can be named for": {func(*corev1.ObjectReference) {}, ""},
		"longer ones":               {func(run *corev1.ObjectReference) { run.Name = strings.Repeat("x", 253) }, "want 307200 at most"},
		"UIDs that are none":        {func(run *corev1.ObjectReference) { run.UID = types.UID(strings.Repeat("x", 37)) }, "no Job of the CronJob"},
		"versions that are none":    {func(run *corev1.ObjectReference) { run.ResourceVersion = strings.Repeat("1", 37) }, "no Job of the CronJob"},
		"Jobs of another API group": {func(run *corev1.ObjectReference) { run.APIVersion = "evil/v1" }, "no Job of the CronJob"},
	} {
		t.Run(name, func(t *testing.T) {
			active := make([]corev1.ObjectReference, schedule.MaxStatusActive)
			for i := range active {
				active[i] = corev1.ObjectReference{
					Kind: "Job", APIVersion: "batch/v1", Namespace: namespace, Name: strings.Repeat("x", 63),
					UID: "0b7a4b8e-5f0f-4f6c-9a44-0a1d2c3b4e5f", ResourceVersion: "123456789012",
				}
				test.change(&active[i])
			}
			err := schedule.ValidateStatus(ostinatov1.CronJobStatus{Active: active}, namespace)
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.want)
		})
	}
}
