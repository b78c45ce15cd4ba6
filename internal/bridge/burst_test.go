package bridge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// TestABurstOfNewJobsBeginsLater: no other namespace waits for it, and each of its Jobs begins, although nothing changes.
func TestABurstOfNewJobsBeginsLater(t *testing.T) {
	named := func(namespace, name string) *batchv1.Job {
		return standalone(func(j *batchv1.Job) {
			j.Namespace, j.Name, j.UID, j.CreationTimestamp = namespace, name, types.UID(name), *at(20)
		})
	}
	const jobs = 3 * burst
	objects := []runtime.Object{named("other", "lone")}
	for i := range jobs {
		objects = append(objects, named("shop", fmt.Sprintf("burst-%d", i)))
	}
	w := newWorld(t, objects...).lead()
	begun := func(prefix string) (count int) {
		for _, said := range w.temporal.said() {
			if strings.HasPrefix(said, "start job/"+prefix) {
				count++
			}
		}
		return count
	}
	w.eventually(func() bool { return begun("other/lone") == 1 }, "the lone Job begins")
	for range int(burstDelay / burstRetry) {
		w.clock.Step(burstRetry)
	}
	time.Sleep(50 * time.Millisecond)
	assert.LessOrEqual(t, begun("shop/"), jobs-burst, "Jobs of the burst that begin at once")
	w.eventually(func() bool {
		w.clock.Step(burstRetry)
		return begun("shop/") == jobs
	}, "the whole burst begins")
}
