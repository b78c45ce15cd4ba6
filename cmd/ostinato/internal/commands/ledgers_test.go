package commands

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// failing are CronJobs that all have failed, and more often than their status says.
func failing(count int) (made []ostinatov1.CronJob) {
	for n := range count {
		one := orders()
		one.Name = fmt.Sprintf("orders-%03d", n)
		one.UID, one.Status.Workflow.ID = types.UID(one.Name), "cronjob/shop/"+one.Name
		made = append(made, one)
	}
	return made
}

func TestTheLedgersOfManyCronJobsAreRead(t *testing.T) {
	const count = 60
	w := newWorld(t)
	w.api.cronJobs = failing(count)
	stdout, stderr, code := w.run(t, "failed", "12h", "--no-headers")
	assert.Zero(t, code)
	assert.Empty(t, stderr)
	for _, cronJob := range w.api.cronJobs {
		assert.Equal(t, 2, strings.Count(stdout, cronJob.Name+" "), cronJob.Name)
	}
}

func TestATemporalThatIsAwayIsNotAskedForEachCronJob(t *testing.T) {
	const count = 200
	w := newWorld(t)
	w.api.cronJobs = failing(count)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var dialed atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			dialed.Add(1)
			_ = connection.Close()
		}
	}()
	w.temporal.address = listener.Addr().String()
	stdout, stderr, code := w.run(t, "failed", "12h", "--no-headers")
	require.NoError(t, listener.Close())
	<-ended
	assert.Zero(t, code, "what the objects say is an answer")
	assert.Equal(t, 2*count, strings.Count(stdout, "\n"))
	assert.Contains(t, stderr, "shop/orders-000 and 199 more CronJobs: Only the last 10 rows could be read")
	assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line says it for all")
	assert.Less(t, dialed.Load(), int64(count/2))
}
