package ui

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/page"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// atOnce is how many ledgers are read from Temporal at a time.
	atOnce = 20
	// maxRows bounds what is read of a ledger: a week of each ten minutes, and the shortest zoom of each second.
	maxRows = 1500
	// maxKept bounds how many ledgers are kept.
	maxKept = 500
	// refreshEvery is how often the page asks again. The CronJobs are listed again no more often, and the less often the
	// longer a list takes.
	refreshEvery = 5 * time.Second
	listShare    = 10
	// listPatience bounds a list.
	listPatience = 30 * time.Second
	// awayFor is how long Temporal is left alone after it could not be reached.
	awayFor = 30 * time.Second
	// settledFor is how long a row that may still change is shown as it was read.
	settledFor = time.Minute
	// latestRows is how many rows are read for the page of a run or a CronJob.
	latestRows = 300
	// fillPatience bounds how long an answer waits for ledgers.
	fillPatience = 8 * time.Second
)

// reader reads CronJobs and ledgers for all requests, and keeps what it has read.
type reader struct {
	backend Backend

	listing sync.Mutex
	list    listed
	// stale says that one of the CronJobs was changed since.
	stale bool

	mutex   sync.Mutex
	ledgers map[types.UID]kept
	away    time.Time
	why     string
	places  chan struct{}
}

// listed are the CronJobs as they were last read.
type listed struct {
	cronJobs []ostinatov1.CronJob
	at       time.Time
	took     time.Duration
	// err is why they could not be read again.
	err error
}

// kept is what was read of a ledger.
type kept struct {
	known page.Known
	// asked is the time back to which it was asked for; what comes may be less.
	asked    time.Time
	at, used time.Time
	// err is why it could not be read.
	err error
}

func newReader(backend Backend) *reader {
	return &reader{backend: backend, ledgers: map[types.UID]kept{}, places: make(chan struct{}, atOnce)}
}

// cronJobs returns the CronJobs, as they were a few seconds ago at most. Those that were read before are returned with an error
// where they can't be read now.
func (r *reader) cronJobs(ctx context.Context) listed {
	r.listing.Lock()
	defer r.listing.Unlock()
	if age := time.Since(r.list.at); !r.stale && !r.list.at.IsZero() && age < max(refreshEvery-time.Second, listShare*r.list.took) {
		return r.list
	}
	began := time.Now()
	// Who asks first may be gone before the list is there, and the next one wants it too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listPatience)
	defer cancel()
	cronJobs, err := r.backend.CronJobs(ctx)
	if err != nil {
		failed := r.list
		failed.err = err
		return failed
	}
	slices.SortStableFunc(cronJobs, byName)
	r.list, r.stale = listed{cronJobs: cronJobs, at: time.Now(), took: time.Since(began)}, false
	return r.list
}

// forget has the CronJobs listed again at once, since one was changed.
func (r *reader) forget() {
	r.listing.Lock()
	defer r.listing.Unlock()
	r.stale = true
}

// known returns what is known of a CronJob's times without asking Temporal.
func (r *reader) known(cronJob *ostinatov1.CronJob) page.Known {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	read, found := r.ledgers[cronJob.UID]
	if !found {
		return page.OfStatus(cronJob)
	}
	read.used = time.Now()
	r.ledgers[cronJob.UID] = read
	known, _ := page.OfStatus(cronJob).With(read.known, true)
	return known
}

// reaches reports whether what was read of a ledger reaches back to a time and is as good as a new answer.
func (r *reader) reaches(cronJob *ostinatov1.CronJob, since time.Time) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	read, found := r.ledgers[cronJob.UID]
	age := time.Since(read.at)
	switch {
	case !found:
		return false
	case read.err != nil:
		return age < awayFor
	}
	_, joined := page.OfStatus(cronJob).With(read.known, age < settledFor)
	return joined && !read.asked.After(since)
}

// read reads the ledgers of CronJobs back to a time, atOnce at a time, and keeps them. What could not be read, unseen says.
func (r *reader) read(ctx context.Context, cronJobs []*ostinatov1.CronJob, since time.Time) {
	within, cancel := context.WithTimeout(ctx, fillPatience)
	defer cancel()
	var all sync.WaitGroup
	for _, cronJob := range cronJobs {
		if r.reaches(cronJob, since) || r.isAway() {
			continue
		}
		all.Go(func() {
			select {
			case r.places <- struct{}{}:
				defer func() { <-r.places }()
			case <-within.Done():
				return
			}
			if !r.isAway() {
				r.readOne(ctx, within, cronJob, since)
			}
		})
	}
	all.Wait()
}

// isAway reports whether Temporal is left alone, since it could not be reached.
func (r *reader) isAway() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return time.Now().Before(r.away)
}

// unseen says why ledgers could not be read; empty where all were that were asked for.
func (r *reader) unseen(cronJobs []*ostinatov1.CronJob) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if time.Now().Before(r.away) {
		return r.why
	}
	for _, cronJob := range cronJobs {
		if read := r.ledgers[cronJob.UID]; read.err != nil {
			return read.err.Error()
		}
	}
	return ""
}

// readOne reads a ledger within a time. That the request has ended meanwhile says nothing of Temporal.
func (r *reader) readOne(request, within context.Context, cronJob *ostinatov1.CronJob, since time.Time) {
	rows, whole, err := r.backend.Ledger(within, cronJob, protocol.LedgerQuestion{Limit: maxRows, Since: since})
	if request.Err() != nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if ask.Unreachable(err) {
		r.away, r.why = time.Now().Add(awayFor), err.Error()
		return
	}
	read := kept{asked: since, at: time.Now(), used: time.Now(), err: err}
	read.known = page.Known{Ledger: answer.Ledger{Rows: rows, Whole: whole && since.IsZero()}, Since: since}
	if len(rows) == maxRows {
		read.known.Since = rows[len(rows)-1].ScheduledTime.Time
	}
	r.ledgers[cronJob.UID] = read
	for len(r.ledgers) > maxKept {
		var oldest types.UID
		for uid, other := range r.ledgers {
			if oldest == "" || other.used.Before(r.ledgers[oldest].used) {
				oldest = uid
			}
		}
		delete(r.ledgers, oldest)
	}
}

// latest reads the latest rows of a ledger, and that of a time, which may be older; what the object says has to do where
// Temporal can't be asked.
func (r *reader) latest(ctx context.Context, cronJob *ostinatov1.CronJob, at time.Time) page.Known {
	known := page.OfStatus(cronJob)
	if known.Whole {
		return known
	}
	if r.isAway() {
		return r.withoutTemporal(cronJob)
	}
	rows, whole, err := r.backend.Ledger(ctx, cronJob, protocol.LedgerQuestion{Limit: latestRows})
	if err == nil && !at.IsZero() && (answer.Ledger{Rows: rows}).RowOf(at) == nil && !whole {
		var older []ostinatov1.RecentRun
		older, _, err = r.backend.Ledger(ctx, cronJob, protocol.LedgerQuestion{Limit: 1, Since: at, Until: at})
		rows = append(rows, older...)
	}
	if err != nil {
		if ask.Unreachable(err) && ctx.Err() == nil {
			r.mutex.Lock()
			r.away, r.why = time.Now().Add(awayFor), err.Error()
			r.mutex.Unlock()
		}
		known = r.known(cronJob)
		known.Unseen = unseenBecause(err.Error())
		return known
	}
	return page.Known{Ledger: answer.Ledger{Rows: rows, Whole: whole}}
}

// withSuspensions is latest with the last suspensions, which no status has.
func (r *reader) withSuspensions(ctx context.Context, cronJob *ostinatov1.CronJob) answer.Ledger {
	known := r.latest(ctx, cronJob, time.Time{}).Ledger
	if answer.WasSuspended(cronJob) && known.Unseen == "" && !r.isAway() {
		var err error
		if known.Suspensions, err = r.backend.Suspensions(ctx, cronJob); err != nil {
			known.Unseen = unseenBecause(err.Error())
		}
	}
	return known
}

func (r *reader) withoutTemporal(cronJob *ostinatov1.CronJob) page.Known {
	known := r.known(cronJob)
	known.Unseen = unseenBecause(r.unseen(nil))
	return known
}

// unseenBecause is what a person reads where older rows are missing.
func unseenBecause(why string) string {
	if why == "" {
		return ""
	}
	return "Older times could not be read from Temporal: " + answer.Printable(why)
}

// byName orders CronJobs as the page shows them.
func byName(a, b ostinatov1.CronJob) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
