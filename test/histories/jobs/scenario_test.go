package jobs

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/histories/play"
)

// scenario is what happens to a Job.
type scenario struct {
	Name string
	// Lasts is how long the scenario lasts. Steps happen at times since the beginning, when the Job is created.
	Lasts time.Duration
	Spec  batchv1.JobSpec
	// Watched is when the watch of new Jobs makes the first Pods; 0 means never, and the bridge starts the workflow at once. Starts is
	// how long after that the watch starts the workflow with them; it is lost before that if Starts is negative, and the bridge starts
	// the workflow when the Job is a minute old.
	Watched, Starts time.Duration
	// Lists is how long it takes until a list of the Job's Pods is answered.
	Lists time.Duration
	// Faults are those of its writes, Hangs is how long one in four creates takes.
	Faults faults
	Hangs  time.Duration
	// Cut is how many Pods a plan takes at most; 0 for as many as ever.
	Cut   int
	Steps []step
	// Courses are those of the Pods, by their attempts; the last one is that of all others too.
	Courses []course
	// Wants is how many Pods are to be active at times since the beginning, whatever was lost.
	Wants []want
}

// faults says which writes go wrong: one in so many, by so many kinds, and those of an outage, so many from the first of it.
type faults struct {
	Seed         uint64
	OneIn, Kinds int
	First, Many  int
}

func (f faults) of(write int) fault {
	if f.First <= write && write < f.First+f.Many {
		return unanswered
	}
	random := rand.New(rand.NewPCG(f.Seed, uint64(write)))
	if f.OneIn == 0 || random.IntN(f.OneIn) != 0 {
		return none
	}
	return fault(1 + random.IntN(f.Kinds))
}

// hangs reports whether the create of a Pod takes long.
func (f faults) hangs(name string) bool {
	sum := fnv.New64()
	sum.Write([]byte(name))
	return (sum.Sum64()^f.Seed)%4 == 0
}

// course is how a Pod goes: how long its container runs, its exit code, and how long it takes to end when it is deleted.
type course struct {
	Takes, Grace time.Duration
	Exit         int32
}

// want is how many Pods are to be active at a time.
type want struct {
	At     time.Duration
	Active int
}

func (s scenario) course(attempt int64) course {
	if len(s.Courses) == 0 {
		return course{Takes: 20 * time.Second, Grace: 2 * time.Second}
	}
	return s.Courses[min(max(attempt, 1), int64(len(s.Courses)))-1]
}

// step is what somebody does.
type step struct {
	At time.Duration
	// Does is edit; annotate or go on, which write and remove the annotation that stops the Job; suspend, resume or stop, which are signals; quota, late, outage, rights, statuses, webhook or accept, which the API server does
	// with creates, everything, statuses and releases of Pods; protect, by which a policy refuses to delete the first active Pod; delete
	// or evict, of the first active Pod by others; unwatched or watched, where no watch of Pods runs, or another one begins; lie, which a
	// stranger sends of a Pod; forge, an activity that a stranger asks for; deaf, where Temporal misses what attempts report for a while; anew, where the workflow starts anew; or long,
	// where its history is long.
	Does string
	// Lie is what the stranger says, Of the place of its Pod among those that there are; a Pod that never was where that is negative.
	Lie job.PodFact
	Of  int
	// Forgery is what a stranger asks an activity for.
	Forgery forgery
	// Edit changes the Job. The workflow hears of it, or of the annotation, Heard later, or by itself where that is negative.
	Edit   func(*batchv1.JobSpec)
	Called string
	Heard  time.Duration
}

func (s step) String() string {
	text := fmt.Sprintf("+%s %s", s.At, s.Does)
	switch {
	case s.Edit != nil && s.Heard < 0:
		text += " " + s.Called + ", which nobody tells"
	case s.Does == "forge":
		text += fmt.Sprintf(" %+v", s.Forgery)
	case s.Does == "lie":
		said, err := json.Marshal(s.Lie)
		must(err)
		text += fmt.Sprintf(" of Pod %d: %s", s.Of, said)
	case s.Edit != nil:
		text += fmt.Sprintf(" %s, heard %s later", s.Called, s.Heard)
	}
	return text
}

func (s scenario) String() string {
	var text strings.Builder
	spec := s.Spec
	spec.Template = corev1.PodTemplateSpec{}
	data, err := json.Marshal(spec)
	must(err)
	fmt.Fprintf(&text, "%s\nfor %s, watched after %s, started after %s, lists take %s, faults %+v, one create in four takes %s, a plan takes %d Pods: %s\n", s.Name, s.Lasts, s.Watched, s.Starts, s.Lists, s.Faults, s.Hangs, s.Cut, strings.Replace(string(data), `"template":{"metadata":{},"spec":{"containers":null}}`, "", 1))
	for _, step := range s.Steps {
		fmt.Fprintf(&text, "  %s\n", step)
	}
	fmt.Fprintf(&text, "  Pods %+v\n", s.Courses)
	return text.String()
}

// perform does a step.
func (w *world) perform(s step) {
	refuses := &w.cluster.refuses
	switch s.Does {
	case "edit":
		w.cluster.do(func() {
			stored := w.cluster.job()
			before := stored.DeepCopy()
			s.Edit(&stored.Spec)
			w.cluster.edited(before, stored)
		})
		if s.Heard >= 0 {
			w.agenda.Plan(time.Now().Add(s.Heard), w.tellSpec)
		}
	case "annotate", "go on":
		w.cluster.do(func() {
			stored := w.cluster.job()
			before := stored.DeepCopy()
			delete(stored.Annotations, names.StopAnnotation)
			if s.Does == "annotate" {
				metav1.SetMetaDataAnnotation(&stored.ObjectMeta, names.StopAnnotation, "it hangs")
			}
			w.cluster.edited(before, stored)
		})
		if s.Heard >= 0 {
			w.agenda.Plan(time.Now().Add(s.Heard), w.tellSpec)
		}
	case "suspend", "resume", "stop":
		// Each is the signal's name. Without a workflow it comes to nothing.
		if w.begun {
			w.tell(play.Signal{Name: s.Does})
		}
	case "quota":
		w.cluster.do(func() { refuses.creates = quota })
	case "rights":
		w.cluster.do(func() { refuses.all = rights })
	case "outage":
		w.cluster.do(func() { refuses.all = outage })
	case "late":
		w.cluster.do(func() { refuses.late = true })
	case "statuses":
		w.cluster.do(func() { refuses.statuses = webhook })
	case "webhook":
		w.cluster.do(func() { refuses.releases = webhook })
	case "accept":
		w.cluster.do(func() { *refuses = refusals{deletes: map[string]bool{}} })
	case "protect":
		w.first(func(pod *corev1.Pod) { refuses.deletes[pod.Name] = true })
	case "delete":
		w.first(w.kubelet.remove)
	case "evict":
		w.first(w.kubelet.evict)
	case "unwatched":
		w.cluster.do(w.watch.stop)
	case "watched":
		w.cluster.do(w.watch.start)
	case "lie":
		w.lie(s)
	case "forge":
		w.forge(s.Forgery)
	case "anew":
		if w.begun && !w.over {
			panic(anew{w.started()})
		}
	case "deaf":
		w.temporal.Deafen(deafFor)
	case "long":
		w.tell(play.Signal{})
	default:
		panic("no such step: " + s.Does)
	}
}

// deafFor is how long Temporal misses what attempts report. It gives those up that report meanwhile, and they may go on.
const deafFor = 30 * time.Second

// lie tells the workflow what is not so, as who may write to Temporal does.
func (w *world) lie(s step) {
	said := s.Lie
	said.UID = "made-up"
	w.cluster.do(func() {
		if there := w.cluster.all(); s.Of >= 0 && len(there) > 0 {
			said.UID = string(there[s.Of%len(there)].UID)
		}
	})
	if w.begun {
		w.tell(play.Signal{Name: protocol.PodsSignal, Argument: protocol.PodFacts{JobUID: jobUID, Facts: []job.PodFact{said}}})
	}
}

// first does something with the first Pod that is active.
func (w *world) first(do func(*corev1.Pod)) {
	w.cluster.do(func() {
		for _, pod := range w.cluster.alive() {
			if pod.DeletionTimestamp == nil {
				do(pod.DeepCopy())
				return
			}
		}
	})
}

// Edits.

func edit(at time.Duration, called string, change func(*batchv1.JobSpec)) step {
	return step{At: at, Does: "edit", Called: called, Edit: change}
}

func suspending(at time.Duration) step {
	return edit(at, "suspend", func(spec *batchv1.JobSpec) { spec.Suspend = ptr.To(true) })
}

func resuming(at time.Duration) step {
	return edit(at, "resume", func(spec *batchv1.JobSpec) { spec.Suspend = ptr.To(false) })
}

// stopped is an annotation that a person writes.
func stopped(at time.Duration) step { return step{At: at, Does: "annotate"} }

func scaled(at time.Duration, to int32) step {
	return edit(at, fmt.Sprintf("parallelism %d", to), func(spec *batchv1.JobSpec) { spec.Parallelism = &to })
}

// elastic scales an Indexed Job whose completions are its parallelism.
func elastic(at time.Duration, to int32) step {
	return edit(at, fmt.Sprintf("parallelism and completions %d", to), func(spec *batchv1.JobSpec) { spec.Parallelism, spec.Completions = &to, ptr.To(to) })
}

func kept(at time.Duration, seconds int32) step {
	return edit(at, fmt.Sprintf("ttl %d", seconds), func(spec *batchv1.JobSpec) { spec.TTLSecondsAfterFinished = &seconds })
}

func bounded(at time.Duration, seconds int64) step {
	return edit(at, fmt.Sprintf("deadline %d", seconds), func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = &seconds })
}

// heard is the step where the workflow hears of it later; by itself where that is negative.
func (s step) heard(later time.Duration) step { s.Heard = later; return s }
