package main

import (
	"runtime"
	"testing"
	"time"
)

// TestTheCacheIsPurgedWhenTooMuchIsInUse looks once a second. The limit is 100 bytes.
func TestTheCacheIsPurgedWhenTooMuchIsInUse(t *testing.T) {
	type look struct {
		inUse, collections uint64
		purge              bool
	}
	for name, looks := range map[string][]look{
		"little is in use": {{inUse: 100}, {inUse: 1}, {inUse: 100, collections: 9}},
		"too much is":      {{inUse: 101, purge: true}},
		"a purge is judged when its effect shows": {
			{inUse: 101, collections: 7, purge: true}, {inUse: 101, collections: 7}, {inUse: 101, collections: 8}, {inUse: 101, collections: 9, purge: true},
		},
		"a cache that fills again and again is purged each time": {
			{inUse: 101, collections: 1, purge: true}, {inUse: 50, collections: 3}, {inUse: 101, collections: 4, purge: true},
			{inUse: 50, collections: 6}, {inUse: 101, collections: 7, purge: true},
		},
		"what a purge does not help against is purged for more and more rarely": {
			{inUse: 200, collections: 10, purge: true}, {inUse: 200, collections: 20, purge: true}, {inUse: 200, collections: 30},
			{inUse: 200, collections: 40, purge: true}, {inUse: 200, collections: 50}, {inUse: 200, collections: 60}, {inUse: 200, collections: 70},
			{inUse: 200, collections: 80, purge: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bound := cacheBound{limit: 100, pause: cacheLookPeriod}
			now := time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
			for i, look := range looks {
				if got := bound.exceeded(now, memory{inUse: look.inUse, collections: look.collections}); got != look.purge {
					t.Errorf("look %d: purges %v, want %v", i, got, look.purge)
				}
				now = now.Add(cacheLookPeriod)
			}
		})
	}
}

// TestPurgesThatDoNotHelpStayApart: but not for ever.
func TestPurgesThatDoNotHelpStayApart(t *testing.T) {
	bound := cacheBound{limit: 100, pause: cacheLookPeriod}
	now, purges := time.Now(), 0
	for second := range uint64(600) {
		if bound.exceeded(now.Add(time.Duration(second)*time.Second), memory{inUse: 101, collections: 2 * second}) {
			purges++
		}
	}
	if purges < 20 || purges > 30 {
		t.Errorf("%d purges in ten minutes, want one in %s", purges, maxPurgePause)
	}
}

func TestTheProcessKnowsWhatIsInUse(t *testing.T) {
	kept := make([]byte, 64<<20)
	before := readMemory()
	// Nothing but a collection makes memory known.
	runtime.GC()
	runtime.GC()
	after := readMemory()
	if after.inUse < uint64(len(kept)) || after.collections < before.collections+2 {
		t.Errorf("%+v in use before and %+v after %d bytes were kept", before, after, len(kept))
	}
	runtime.KeepAlive(kept)
}
