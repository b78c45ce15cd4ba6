package bridge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func TestWhenANewJobBegins(t *testing.T) {
	for name, test := range map[string]struct {
		begun, waiting int
		age, want      time.Duration
	}{
		"alone: at once":                                    {},
		"one less than may begins: at once":                 {begun: burst - 1},
		"as many begin as may: when it is old enough":       {begun: burst, age: time.Second, want: podsFirst - time.Second},
		"as many begin as may, and it is old enough":        {begun: burst, age: podsFirst, want: burstDelay - podsFirst},
		"as many begin as may, for a minute":                {begun: burst, age: burstDelay},
		"many wait: its first Pods come first":              {waiting: burst, age: time.Second, want: podsFirst - time.Second},
		"many wait, and it is old enough":                   {waiting: burst, age: podsFirst},
		"fewer wait: at once":                               {waiting: burst - 1},
		"created in the future, by this clock":              {begun: burst, age: -2 * time.Second},
		"it has begun, and more have than may at once: now": {begun: -burst - 1, age: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now := after(100)
			item := numbered(1000, now.Add(-test.age))
			jobs := &newJobs{begun: map[types.UID]time.Time{}}
			b := beginners{namespaces: map[string]*newJobs{"": jobs}}
			for i := range max(test.begun, -test.begun) {
				jobs.begun[numbered(i, now).UID] = now
			}
			for i := range test.waiting {
				jobs.waiting = append(jobs.waiting, numbered(burst+i, now))
			}
			if test.begun < 0 {
				jobs.begun[item.UID] = now
			}
			for range 2 {
				assert.Equal(t, test.want, b.admit(item, now))
				assert.Equal(t, test.want == 0, !jobs.begun[item.UID].IsZero())
			}
		})
	}
	t.Run("those that were created a minute ago make room", func(t *testing.T) {
		var b beginners
		for i := range burst {
			b.admit(numbered(i, after(0)), after(0))
		}
		assert.Zero(t, b.admit(numbered(1000, after(60)), after(60)))
	})
	t.Run("those that have waited longest are next, as many as have left", func(t *testing.T) {
		var b beginners
		for i := range burst + 4 {
			b.admit(numbered(i, after(i)), after(40))
		}
		first := b.leave(numbered(7, after(7)), after(40))
		assert.Len(t, first, 1)
		assert.Equal(t, numbered(burst, after(burst)), first[0])
		second := b.leave(numbered(burst, after(burst)), after(40))
		assert.Len(t, second, 1)
		assert.Equal(t, numbered(burst+1, after(burst+1)), second[0])
		third := b.leave(numbered(8, after(8)), after(40))
		assert.Len(t, third, 2)
		assert.Equal(t, numbered(burst+2, after(burst+2)), third[1])
	})
}

func numbered(i int, created time.Time) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i)), CreationTimestamp: metav1.NewTime(created)}}
}

// Whenever Jobs come, however long each takes to write its status, and if some never do: no more than burst begin at a
// time, each begins within a minute, and none that is old enough waits where there is room.
func TestEveryNewJobBegins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const tenth, minute = time.Second / 10, 600
		var b beginners
		count := rapid.IntRange(1, 150).Draw(t, "Jobs")
		created := rapid.SliceOfN(rapid.IntRange(0, 100), count, count).Draw(t, "created")
		takes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 40), rapid.Just(2*minute)), count, count).Draw(t, "takes")
		begun, looks, ends := map[int]int{}, map[int][]int{}, map[int][]int{}
		for number, at := range created {
			looks[at] = append(looks[at], number)
		}
		at := func(number int) time.Time { return after(0).Add(time.Duration(number) * tenth) }
		job := func(number int) *batchv1.Job { return numbered(number, at(created[number])) }
		for now := range 100 + minute + 2 {
			for _, number := range ends[now] {
				for _, may := range b.leave(job(number), at(now)) {
					var next int
					_, _ = fmt.Sscan(string(may.UID), &next)
					looks[now] = append(looks[now], next)
				}
			}
			for i := 0; i < len(looks[now]); i++ {
				number := looks[now][i]
				if _, already := begun[number]; already {
					continue
				}
				if wait := b.admit(job(number), at(now)); wait > 0 {
					looks[now+int(wait/tenth)] = append(looks[now+int(wait/tenth)], number)
					continue
				}
				begun[number] = now
				ends[now+takes[number]] = append(ends[now+takes[number]], number)
			}
			beginning, late, young := 0, 0, 0
			for number, since := range begun {
				if now < since+takes[number] && now < created[number]+minute {
					beginning++
				}
			}
			for number, at := range created {
				_, ok := begun[number]
				switch {
				case ok || now < at:
				case now >= at+int(podsFirst/tenth):
					late++
				default:
					young++
				}
			}
			if beginning > burst || late > 0 && young == 0 && beginning < burst && len(ends[now]) > 0 && now < minute {
				t.Fatalf("at %d, %d Jobs begin and %d wait that are old enough", now, beginning, late)
			}
		}
		for number, at := range created {
			if since, ok := begun[number]; !ok || since > at+minute {
				t.Fatalf("Job %d of %d began at %d", number, at, since)
			}
		}
	})
}

// TestABurstOfNewJobsBeginsLater: no other namespace waits for it, and each of its Jobs begins as others have a status.
func TestABurstOfNewJobsBeginsLater(t *testing.T) {
	named := func(namespace, name string) *batchv1.Job {
		return standalone(func(j *batchv1.Job) {
			j.Namespace, j.Name, j.UID, j.CreationTimestamp = namespace, name, types.UID(name), *at(20)
		})
	}
	const jobs = 3 * burst
	objects := []runtime.Object{named("other", "lone")}
	for i := range jobs {
		objects = append(objects, named("shop", fmt.Sprintf("burst-%d", i)))
	}
	w := newWorld(t, objects...).lead()
	begun := func(prefix string) (names []string) {
		for _, said := range w.temporal.said() {
			if name, found := strings.CutPrefix(said, "start job/"+prefix); found {
				names = append(names, name)
			}
		}
		return names
	}
	w.eventually(func() bool { return len(begun("other/lone")) == 1 }, "the lone Job begins")
	w.eventually(func() bool { return len(begun("shop/")) == burst }, "as many begin as may")
	time.Sleep(50 * time.Millisecond)
	assert.Len(t, begun("shop/"), burst, "Jobs of the burst that begin at once")
	written := 0
	w.eventually(func() bool {
		w.clock.Step(podsFirst)
		all := begun("shop/")
		for _, name := range all[written:] {
			begins := named("shop", name)
			running(begins)
			w.putJob(begins)
		}
		written = len(all)
		return written == jobs
	}, "the others begin as these have a status")
}
