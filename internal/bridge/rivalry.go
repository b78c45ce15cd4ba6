package bridge

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// builtInLogPeriod is the shortest time between two lines about the built-in
// controllers' writes.
const builtInLogPeriod = time.Minute

// rivalry is when it was last logged that a built-in controller writes.
type rivalry struct {
	mu     sync.Mutex
	logged time.Time
}

// reportRival reports that a built-in controller has written the status of a Job or CronJob
// that is taken over. The probe at start may have come before that controller was started.
func (c *controller) reportRival(kind string, object metav1.Object, writes prometheus.Counter) {
	writes.Inc()
	c.rivalry.mu.Lock()
	defer c.rivalry.mu.Unlock()
	if now := c.Clock.Now(); now.Sub(c.rivalry.logged) >= builtInLogPeriod {
		c.rivalry.logged = now
		name := strings.ToLower(kind)
		c.Logger.Error(fmt.Sprintf("kube-controller-manager wrote the status of a %s taken over, so its %s controller runs too; "+
			"run it with --controllers=*,-%s-controller (docs/takeover.md), or bridge and workers without --takeover=%ss", kind, name, name, name),
			"namespace", object.GetNamespace(), "name", object.GetName())
	}
}
