package bridge

import "testing"

// A finished Job that somebody else deletes is reported to its workflow, which counts
// it for a history limit until then.
func TestAFinishedJobThatOthersDeleteIsMentioned(t *testing.T) {
	w := newWorld(t, cronJob(taken, nextRun(24*3600)), run("r1", complete))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	w.deleteJob(run("r1"))
	w.hearsInTime("signal " + cronJobID + " job-seen report-r1")
}
