package cronjobs

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/controller/cronjob"
)

var (
	input  = flag.String("scenarios", "", "file of the scenarios")
	output = flag.String("lines", "", "file to write what the controller did to")
)

// TestScenarios reads scenarios and writes, by their names, what upstream's controller did.
func TestScenarios(t *testing.T) {
	if *input == "" {
		t.Skip("it is run by test/parity/cronjobs, with -scenarios and -lines")
	}
	// A CronJob without a time zone is in the controller's.
	time.Local = time.UTC
	// What slows errors down remembers the time of the last one, which in another scenario is years later.
	utilruntime.ErrorHandlers = nil
	data, err := os.ReadFile(*input)
	if err != nil {
		t.Fatal(err)
	}
	var scenarios []scenario
	if err := json.Unmarshal(data, &scenarios); err != nil {
		t.Fatal(err)
	}
	lines := map[string][]line{}
	for _, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { lines[s.Name] = play(t, s) })
		})
	}
	data, err = json.MarshalIndent(lines, "", "\t")
	if err == nil {
		err = os.WriteFile(*output, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// play runs the controller through a scenario.
func play(t *testing.T, s scenario) []line {
	until(t, s.Begin)
	c := newCluster(t, s)
	stop := start(t, c)
	for _, one := range s.Steps {
		until(t, one.At)
		switch one.Action {
		case "stop":
			stop()
		case "start":
			stop = start(t, c)
		default:
			c.act(one)
		}
	}
	until(t, s.End)
	stop()
	return c.written()
}

// until lets the time come, and what is to be done then be done.
func until(t *testing.T, at time.Time) {
	if wait := time.Until(at); wait > 0 {
		time.Sleep(wait)
	}
	synctest.Wait()
}

// start starts the controller, as kube-controller-manager does.
func start(t *testing.T, c *cluster) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	factory := informers.NewSharedInformerFactory(c.client, 0)
	controller, err := cronjob.NewControllerV2(ctx, factory.Batch().V1().Jobs(), factory.Batch().V1().CronJobs(), client{c.client})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		controller.Run(ctx, 1)
	}()
	return func() {
		cancel()
		<-ended
		factory.Shutdown()
		synctest.Wait()
	}
}
