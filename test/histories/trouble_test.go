package histories

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// fault is something that goes wrong at a time of a history.
type fault interface {
	fmt.Stringer
	// plan has it happen.
	plan(w *world, at time.Time)
	// trait says what it means for what must hold.
	trait() trait
}

// trait is what a fault means for what must hold.
type trait struct {
	// forgets says that Temporal has lost, or has again, what had come since some time.
	forgets bool
	// requests says that what becomes of a request depends on when it is made, so that a crash changes what comes after it.
	requests bool
}

// trouble is what becomes of requests for a while.
type trouble interface {
	// meets returns what becomes of the request that is the nth of those it is about; what it is about is up to it too.
	meets(request asked) bool
	fate() fate
	// oneIn is the share of the requests to which it happens.
	oneIn() int
}

// fate is what becomes of a request.
type fate struct {
	// takes is how long its answer takes, err is the answer where it is not the API server's own.
	takes time.Duration
	err   error
	// lands says that it is carried out all the same, later how long after its answer; 0 for with it or never.
	lands bool
	later time.Duration
}

// troubled is a trouble with its end, and with how many requests it has met.
type troubled struct {
	trouble
	until time.Time
	met   int
}

// suffers has requests meet a trouble for a while.
func (c *cluster) suffers(from trouble, until time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.troubles = append(c.troubles, &troubled{trouble: from, until: until})
}

// fateOf is what becomes of a request: the first trouble that it meets decides.
func (c *cluster) fateOf(request asked) fate {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, one := range c.troubles {
		if !time.Now().Before(one.until) || !one.meets(request) {
			continue
		}
		if one.met++; chosen(one.met, one.oneIn()) {
			return one.fate()
		}
	}
	return fate{}
}

// chosen reports whether the nth request is one of those to which something happens, one in so many.
func chosen(n, oneIn int) bool {
	sum := fnv.New32a()
	fmt.Fprint(sum, n)
	return oneIn <= 1 || sum.Sum32()%uint32(oneIn) == 0
}

// triggered is the kind of the creates of Jobs that somebody has asked for.
const triggered = "create jobs of triggers"

// concerns reports whether a request is one of a kind: "create jobs", or "" for all.
func (a asked) concerns(kind string) bool {
	return kind == "" || a.what == kind || kind == triggered && a.what == "create jobs" && a.manual
}

// kinds are the requests that Ostinato makes for a CronJob, "" all of them.
var kinds = []string{"", "create jobs", "get jobs", "list jobs", "delete jobs", "get cronjobs", "update cronjobs/status", "patch cronjobs", "create pods"}

// answerOf is the answer of the API server of a code, such as "500"; "webhook" is that of an admission webhook that is away.
func answerOf(code string) error {
	switch code {
	case "500":
		return apierrors.NewInternalError(fmt.Errorf("etcdserver: leader changed"))
	case "503":
		return apierrors.NewServiceUnavailable("the API server is away")
	case "504":
		return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	case "409":
		return apierrors.NewConflict(jobs.GroupResource(), cronJob, fmt.Errorf("the object has been modified"))
	case "429":
		return apierrors.NewTooManyRequests("too many requests", 1)
	case "403":
		return apierrors.NewForbidden(jobs.GroupResource(), cronJob, fmt.Errorf("not allowed"))
	case "webhook":
		return apierrors.NewInternalError(fmt.Errorf(`failed calling webhook "jobs.policy.example": failed to call webhook: connection refused`))
	}
	panic("no such answer: " + code)
}

// proves reports whether an answer proves that nothing was made.
func proves(err error) bool {
	status, answered := err.(apierrors.APIStatus)
	if !answered {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != 408 || strings.Contains(err.Error(), "failed calling webhook")
}
