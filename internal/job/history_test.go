package job_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
)

// histories is the number of random histories of a run, and historySteps how many
// things happen in each on average. A failing history is shrunk, and its file under
// testdata/rapid repeats it (-rapid.failfile).
const (
	histories    = 10_000
	historySteps = 30
	// shards are the parts of them, those of one cut side by side.
	shards = 4
)

// cuts are how many Pods the plans of the histories take at most. No history has more Pods than a plan takes otherwise.
var cuts = []int{job.MaxPods, 2}

// cut is that of the plans that are made.
var cut = job.MaxPods

// cutPlans has plans take few Pods for the length of a test.
func cutPlans(t *testing.T, to int) {
	before := cut
	set := func(pods int) { cut = pods; job.CutPlans(pods) }
	set(to)
	t.Cleanup(func() { set(before) })
}

// The properties of the planner over random histories of a cluster: whatever
// happens, every Pod is counted once and as the API's rules say, no step wants what
// it must not, every status is one that the API server accepts, and the Job ends
// with no Pod left behind.
func TestRandomHistories(t *testing.T) {
	setFlag(t, "rapid.checks", strconv.Itoa((histories+shards-1)/shards))
	setFlag(t, "rapid.steps", strconv.Itoa(historySteps))
	var done atomic.Int64
	for _, cut := range cuts {
		t.Run(fmt.Sprintf("plans of %d Pods", cut), func(t *testing.T) {
			cutPlans(t, cut)
			t.Run("shards", func(t *testing.T) {
				for shard := range shards / len(cuts) {
					t.Run(strconv.Itoa(shard), func(t *testing.T) {
						t.Parallel()
						rapid.Check(t, func(t *rapid.T) {
							runHistory(t)
							done.Add(1)
						})
					})
				}
			})
		})
	}
	t.Logf("%d histories", done.Load())
}

// setFlag sets a flag for the length of a test, unless the command line does.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := flag.Set(name, before); err != nil {
			t.Error(err)
		}
	})
}

func runHistory(t *rapid.T) {
	c := drawCluster(t).withLedger()
	c.roundTrips, c.reread = false, true
	c.logs = rapid.SampledFrom([]logMode{logsRead, logsMissing, logsLate}).Draw(t, "logs")
	t.Repeat(c.happenings())
	if c.spec.Deleting {
		c.checkLetGo()
		return
	}
	c.runToTheEnd()
	c.checkEnd()
}

// happenings are what can happen to a Job.
func (c *cluster) happenings() map[string]func(*rapid.T) {
	on := func(match func(*modelPod) bool, action func(*modelPod)) func(*rapid.T) {
		return func(t *rapid.T) {
			if pod := c.choose(t, match); pod != nil {
				action(pod)
			}
		}
	}
	return map[string]func(*rapid.T){
		"": func(*rapid.T) {
			if c.settle(); !c.crashed {
				c.checkRest()
			}
		},
		"begin":         on((*modelPod).running, c.begin),
		"succeed":       on((*modelPod).running, c.endWell),
		"fail":          func(t *rapid.T) { on((*modelPod).running, func(pod *modelPod) { c.exit(pod, drawExits(t)...) })(t) },
		"go on":         c.goOn,
		"go on still":   c.goOn,
		"go on further": c.goOn,
		"disrupt":       on((*modelPod).running, c.disrupt),
		"delete":        on((*modelPod).running, c.delete),
		"vanish":        on(c.known, c.vanish),
		"disown":        on(func(pod *modelPod) bool { return !pod.gone && !pod.disowned }, c.disown),
		"pend": on((*modelPod).running, func(pod *modelPod) {
			if pod.phase != corev1.PodPending {
				return
			}
			if pod.pending == "" {
				pod.pendingSince = c.now.Truncate(time.Second)
			}
			pod.pending = job.PendingImagePull
			c.changed(pod)
		}),
		"initialize": on((*modelPod).running, func(pod *modelPod) {
			if pod.phase == corev1.PodPending {
				pod.pending = ""
				c.changed(pod)
			}
		}),
		"adopt":   c.adoptSome,
		"deliver": c.deliverSome,
		// Facts that were lost come to light when the Pods are listed.
		"lose facts":           func(*rapid.T) { c.mailbox = nil; c.listed() },
		"lose facts for long":  func(*rapid.T) { c.mailbox = nil },
		"crash":                c.drawCrash,
		"stop writes of a Pod": on(func(pod *modelPod) bool { return !pod.gone }, func(pod *modelPod) { pod.stuck = true }),
		"let writes pass":      func(*rapid.T) { c.mend() },
		"wait":                 func(t *rapid.T) { c.pass(time.Duration(rapid.IntRange(0, 3000).Draw(t, "seconds")) * time.Second) },
		"stop": func(t *rapid.T) {
			if oneIn(t, 4, "stop it") {
				c.edit(func(spec *job.Spec) {
					spec.Stop = rapid.SampledFrom([]*job.Stop{nil, {}, {By: "ada", Note: "it hangs"}}).Draw(t, "stop")
				})
			}
		},
		"suspend": func(*rapid.T) { c.edit(func(spec *job.Spec) { spec.Suspend = !spec.Suspend }) },
		"scale":   c.scale,
		"edit":    c.editLimits,
		"refuse": func(t *rapid.T) {
			c.refuseCreates = rapid.IntRange(0, 3).Draw(t, "creates")
			c.refuseStatus = rapid.IntRange(0, 2).Draw(t, "statuses")
			c.loseCreates = rapid.Bool().Draw(t, "lose")
		},
		"continue as new": func(*rapid.T) { c.roundTrips = true; c.state = c.roundTrip(c.state); c.roundTrips = false },
		"lose workflow": func(t *rapid.T) {
			if oneIn(t, 4, "lose it") {
				c.restart()
			}
		},
		"take over": func(t *rapid.T) {
			if oneIn(t, 4, "take it over") {
				c.takeOver(t)
			}
		},
		"delete the Job": func(t *rapid.T) {
			if oneIn(t, 10, "delete it") {
				c.edit(func(spec *job.Spec) { spec.Deleting = true })
			}
		},
	}
}

// goOn is what happens most of the time: Pods end, their facts come at once, time
// passes.
func (c *cluster) goOn(t *rapid.T) {
	for _, pod := range c.activePods() {
		switch rapid.SampledFrom([]string{"", "begins", "fails", "fails", "succeeds"}).Draw(t, "the Pod") {
		case "begins":
			c.begin(pod)
		case "fails":
			c.exit(pod, drawExits(t)...)
		case "succeeds":
			c.endWell(pod)
		}
	}
	c.deliver().pass(time.Duration(rapid.SampledFrom([]int{0, 10, 300, 600}).Draw(t, "seconds")) * time.Second)
}

func (c *cluster) edit(change func(*job.Spec)) {
	spec := c.spec
	change(&spec)
	spec.Generation++
	c.state, c.spec = c.state.Edited(c.spec, spec)
}

func (c *cluster) choose(t *rapid.T, match func(*modelPod) bool) *modelPod {
	var matching []*modelPod
	for _, pod := range c.pods {
		if match(pod) {
			matching = append(matching, pod)
		}
	}
	if len(matching) == 0 {
		return nil
	}
	return matching[rapid.IntRange(0, len(matching)-1).Draw(t, "which pod")]
}

// known Pods run, and the workflow has heard of them.
func (c *cluster) known(pod *modelPod) bool { return pod.running() && find(c.state, pod.uid) != nil }

// adoptSome makes a Pod the Job's that it did not create: of an index of the Job,
// which may have a Pod already, of one beyond, or of none.
func (c *cluster) adoptSome(t *rapid.T) {
	if c.spec.Deleting || finished(c.status) {
		return
	}
	c.ledger.clean = false
	var index *int32
	if number := rapid.Int32Range(-1, 6).Draw(t, "index"); number >= 0 {
		index = &number
	}
	pod := c.adopt(index)
	if rapid.Bool().Draw(t, "has ended") {
		c.endBadly(pod)
	}
}

// scale edits parallelism, of an Indexed Job maybe with its completions.
func (c *cluster) scale(t *rapid.T) {
	c.edit(func(spec *job.Spec) {
		spec.Parallelism = rapid.Int32Range(0, 4).Draw(t, "parallelism")
		if c.indexed() && oneIn(t, 3, "elastic") {
			spec.Completions = pointer(spec.Parallelism)
		}
	})
	c.disturbBeyondCompletions()
}

// disturbBeyondCompletions: whether a Pod beyond the completions counts depends on when
// its end is known.
func (c *cluster) disturbBeyondCompletions() {
	for _, pod := range c.pods {
		pod.disturbed = pod.disturbed || c.indexed() && pod.index != nil && *pod.index >= *c.spec.Completions
	}
}

// editLimits edits what may be edited at any time (parity 2.4).
func (c *cluster) editLimits(t *rapid.T) {
	c.edit(func(spec *job.Spec) {
		switch rapid.IntRange(0, 3).Draw(t, "field") {
		case 0:
			spec.BackoffLimit = drawBackoffLimit(t)
		case 1:
			spec.ActiveDeadlineSeconds = rapid.Ptr(rapid.Int64Range(0, 5000), true).Draw(t, "deadline")
		case 2:
			if spec.MaxFailedIndexes != nil {
				spec.MaxFailedIndexes = pointer(rapid.Int32Range(0, 4).Draw(t, "maxFailedIndexes"))
			}
		case 3:
			if spec.PodFailurePolicy == nil {
				spec.PodReplacementPolicy = rapid.SampledFrom([]batchv1.PodReplacementPolicy{batchv1.TerminatingOrFailed, batchv1.Failed}).Draw(t, "podReplacementPolicy")
			}
		}
	})
}

// takeOver starts a workflow for a Job that kube-controller-manager has left in the
// middle of its accounting: Pods are noted as uncounted, and maybe released.
func (c *cluster) takeOver(t *rapid.T) {
	if finished(c.status) || len(c.status.Conditions) > 0 {
		return
	}
	uncounted := &batchv1.UncountedTerminatedPods{}
	for _, pod := range c.pods {
		if !pod.tracked || pod.gone || pod.phase != corev1.PodFailed && pod.phase != corev1.PodSucceeded || c.indexed() ||
			slices.Contains(c.counted, pod.uid) || !rapid.Bool().Draw(t, "noted") {
			continue
		}
		if pod.phase == corev1.PodSucceeded {
			uncounted.Succeeded = append(uncounted.Succeeded, types.UID(pod.uid))
		} else {
			uncounted.Failed = append(uncounted.Failed, types.UID(pod.uid))
		}
		if rapid.Bool().Draw(t, "released") {
			pod.tracked, pod.noted = false, true
			c.changed(pod)
		}
	}
	c.status.UncountedTerminatedPods, c.ledger.inexact = uncounted, true
	c.restart()
}

// deliverSome delivers some of the waiting facts in any order, and keeps some of
// these to deliver them again.
func (c *cluster) deliverSome(t *rapid.T) {
	if len(c.mailbox) == 0 {
		return
	}
	shuffled := rapid.Permutation(c.mailbox).Draw(t, "mailbox")
	cut := rapid.IntRange(0, len(shuffled)).Draw(t, "delivered")
	again := rapid.IntRange(0, min(cut, 3)).Draw(t, "again")
	c.hear(shuffled[:cut]...)
	c.mailbox = slices.Concat(shuffled[cut:], shuffled[:again])
}
