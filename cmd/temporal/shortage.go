package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"syscall"
	"time"

	"ostinato.dev/ostinato/internal/temporalserver/sqlite"
)

const (
	// lookEvery is how often the volume and the load are looked at.
	lookEvery = time.Minute
	// tellWithin bounds a call that tells of them.
	tellWithin = 10 * time.Second
)

const littleSpace = "The volume of the databases is nearly full: when it is full, no workflow goes on. Make it larger, remove backups and databases that were set aside, or shorten the retention."

// shortage tells what the server is short of: in its log, and by tell among the data of its namespace, for ostinato status and an alert.
type shortage struct {
	// space returns the room on the volume of the databases; nil if they are elsewhere.
	space  func() (sqlite.Space, error)
	load   load
	tell   func(ctx context.Context, words string) error
	logger *slog.Logger
	// told was told last.
	told string
}

func newShortage(dataDir string, tell func(context.Context, string) error, logger *slog.Logger) *shortage {
	s := &shortage{tell: tell, logger: logger, load: load{cores: usableCores()}, told: "unknown"}
	if dataDir != "" {
		s.space = func() (sqlite.Space, error) { return sqlite.SpaceOf(dataDir) }
	}
	return s
}

// watch looks until ctx ends.
func (s *shortage) watch(ctx context.Context) {
	for {
		used, err := processorTime()
		if err != nil {
			s.logger.Warn("the processor time is not known", "error", err)
		}
		s.look(ctx, time.Now(), used)
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

// look tells what the server is short of, if it is another thing than was told.
func (s *shortage) look(ctx context.Context, now time.Time, used time.Duration) {
	var short []string
	if s.space != nil {
		space, err := s.space()
		switch {
		case err != nil:
			s.logger.Warn("the space on the volume is not known", "error", err)
		case space.Little():
			short = append(short, littleSpace)
		}
	}
	s.load.see(now, used)
	if s.load.high() {
		short = append(short, s.load.words())
	}
	words := strings.Join(short, " ")
	if words == s.told {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	err := s.tell(ctx, words)
	switch {
	case err != nil:
		s.logger.Warn("what this Temporal is short of is not told, will try again", "short", words, "error", err)
		return
	case words != "":
		s.logger.Warn("this Temporal is short", "of", words)
	case s.told != "unknown":
		s.logger.Info("this Temporal has enough again")
	}
	s.told = words
}

const (
	// loadOver is the time over which the load is the mean: a herd at the full hour is none.
	loadOver = 10 * time.Minute
	// highLoad is the load from which the server is said to be short of processor time, and calmLoad that below which it is not any more.
	highLoad, calmLoad = 0.7, 0.6
	// mostCores are as many cores as one server makes use of.
	mostCores = 2
)

// load is the share of the processor time it can use that the server has used.
type load struct {
	cores   float64
	samples []sample
	was     bool
}

// sample is the processor time used until a time.
type sample struct {
	at   time.Time
	used time.Duration
}

func (l *load) see(now time.Time, used time.Duration) {
	l.samples = append(l.samples, sample{now, used})
	for len(l.samples) > 1 && now.Sub(l.samples[1].at) >= loadOver {
		l.samples = l.samples[1:]
	}
	share := l.share()
	l.was = share >= highLoad || l.was && share >= calmLoad
}

// share is 0 until it is known.
func (l *load) share() float64 {
	first, last := l.samples[0], l.samples[len(l.samples)-1]
	span := last.at.Sub(first.at)
	if span < loadOver {
		return 0
	}
	return float64(last.used-first.used) / (float64(span) * l.cores)
}

func (l *load) high() bool { return l.was }

func (l *load) words() string {
	return fmt.Sprintf("It has used more than %.0f %% of the processor time that it can use (%g cores) for ten minutes: runs will start late. Give it more, or move to a Temporal of your own (docs/temporal.md).", 100*calmLoad, l.cores)
}

// usableCores are those of the machine, or of the container's limit, up to as many as one server makes use of.
func usableCores() float64 { return float64(min(runtime.GOMAXPROCS(0), mostCores)) }

// processorTime is the user and system time of this process so far.
func processorTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
