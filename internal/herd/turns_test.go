package herd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/order"
)

// crowd asks for turns.
type crowd struct {
	turns *FairSemaphore
	mutex sync.Mutex
	// had is how many turns each namespace has had, and under those that have not ended.
	had   map[string]int
	under map[string][]takenTurn
}

type takenTurn struct {
	began time.Time
	leave func()
}

func newCrowd(turns *FairSemaphore) *crowd {
	return &crowd{turns: turns, had: map[string]int{}, under: map[string][]takenTurn{}}
}

// ask asks for turns of a namespace, one after another, until all have come or wait.
func (c *crowd) ask(namespace string, count int) {
	for range count {
		go func() {
			leave, err := c.turns.Take(context.Background(), namespace)
			if err != nil {
				return
			}
			c.mutex.Lock()
			defer c.mutex.Unlock()
			c.had[namespace]++
			c.under[namespace] = append(c.under[namespace], takenTurn{time.Now(), leave})
		}()
		synctest.Wait()
	}
}

// taken is how many turns each namespace has had.
func (c *crowd) taken() map[string]int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return maps.Clone(c.had)
}

// underWay is the turns of each namespace that have not ended, the oldest first.
func (c *crowd) underWay() map[string][]takenTurn {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	under := map[string][]takenTurn{}
	for namespace, turns := range c.under {
		under[namespace] = slices.Clone(turns)
	}
	return under
}

// end ends the first turns of a namespace that are under way.
func (c *crowd) end(namespace string, count int) {
	for range count {
		c.mutex.Lock()
		leave := c.under[namespace][0].leave
		c.under[namespace] = c.under[namespace][1:]
		c.mutex.Unlock()
		leave()
		synctest.Wait()
	}
}

// endAll ends all turns, and those that come then.
func (c *crowd) endAll() {
	for ended := true; ended; {
		ended = false
		for namespace, under := range c.underWay() {
			ended = ended || len(under) > 0
			c.end(namespace, len(under))
		}
	}
}

func after(patience time.Duration) {
	time.Sleep(patience)
	synctest.Wait()
}

func TestATurnHasAPlaceForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(NewTurns(order.Weights{}))
		c.ask("herd", 64)
		c.ask("quiet", 2)
		after(999 * time.Millisecond)
		assert.Equal(t, map[string]int{"herd": 64}, c.taken())
		after(time.Millisecond)
		assert.Equal(t, map[string]int{"herd": 64, "quiet": 2}, c.taken())
		// Neither who has just begun nor who ends now has a place for another.
		c.ask("quiet", 70)
		c.end("herd", 64)
		assert.Equal(t, 64, c.taken()["quiet"], "64 at a time")
		c.endAll()
		assert.Equal(t, map[string]int{"herd": 64, "quiet": 72}, c.taken())
	})
}

func TestANamespaceHasHalfOfTheTurnsThatAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(NewTurns(order.Weights{}))
		c.ask("herd", 200)
		after(time.Second)
		const most = 86
		assert.Equal(t, most, c.taken()["herd"], "170 are left")
		after(time.Hour)
		assert.Equal(t, most, c.taken()["herd"])
		c.ask("quiet", 100)
		assert.Equal(t, 57, c.taken()["quiet"], "113 are left")
		c.end("quiet", 43)
		assert.Equal(t, 100, c.taken()["quiet"])
		c.end("herd", 15)
		assert.Equal(t, most, c.taken()["herd"], "it has 71, and 128 are left")
		c.end("quiet", 57)
		assert.Equal(t, most+15, c.taken()["herd"], "the other has none")
		c.endAll()
		assert.Equal(t, map[string]int{"herd": 200, "quiet": 100}, c.taken())
	})
}

func TestTurnsThatLastHaveABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(NewTurns(order.Weights{}))
		for i := range 20 {
			c.ask(fmt.Sprintf("hangs-%d", i), 20)
		}
		after(time.Hour)
		all := 0
		for _, under := range c.underWay() {
			all += len(under)
		}
		assert.Less(t, all, 256)
		c.endAll()
		for namespace, had := range c.taken() {
			assert.Equal(t, 20, had, namespace)
		}
	})
}

// Admission hangs for some namespaces: another has its turn at once, however many they are.
func TestNamespacesThatHangLeaveRoomForAnother(t *testing.T) {
	for _, test := range []struct {
		hang  int
		apart time.Duration
	}{{1, 0}, {4, 0}, {12, 0}, {4, 2 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(NewTurns(order.Weights{}))
			for i := range test.hang {
				c.ask(fmt.Sprintf("hangs-%d", i), 300)
				after(test.apart)
			}
			after(time.Minute)
			c.ask("quiet", 10)
			assert.Equal(t, 10, c.taken()["quiet"], "%+v: %v", test, c.taken())
			c.endAll()
		})
	}
}

// Whatever comes, hangs and goes: the bounds hold, and nobody waits who may have a turn.
func TestTurnsAreTakenWhateverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Rapid asks a *testing.T how long it may take, which has no answer here.
		rapid.Check(struct{ testing.TB }{t}, func(t *rapid.T) {
			const places, most = 4, 9
			turns := NewTurns(order.Weights{})
			turns.free, turns.left = places, most
			c := newCrowd(turns)
			names := []string{"a", "b", "c"}
			asked := map[string]int{}
			for range rapid.IntRange(1, 60).Draw(t, "steps") {
				name := rapid.SampledFrom(names).Draw(t, "namespace")
				switch step := rapid.IntRange(0, 3).Draw(t, "step"); {
				case step < 2:
					asked[name]++
					c.ask(name, 1)
				case step == 2 && len(c.underWay()[name]) > 0:
					c.end(name, 1)
				default:
					after(rapid.SampledFrom([]time.Duration{100 * time.Millisecond, time.Second}).Draw(t, "time"))
				}
				young, all := 0, 0
				had, under := c.taken(), c.underWay()
				for _, name := range names {
					for _, turn := range under[name] {
						all++
						if time.Since(turn.began) < time.Second {
							young++
						}
					}
				}
				if young > places || all > most {
					t.Fatalf("%d turns, %d of them young", all, young)
				}
				for _, name := range names {
					if had[name] < asked[name] && 2*len(under[name]) < most-all && young < places {
						t.Fatalf("%s waits with %d turns, while %d are young of %d", name, len(under[name]), young, all)
					}
				}
			}
			c.endAll()
			for _, name := range names {
				if had := c.taken()[name]; had != asked[name] {
					t.Fatalf("%s asked for %d turns and had %d", name, asked[name], had)
				}
			}
		})
	})
}
