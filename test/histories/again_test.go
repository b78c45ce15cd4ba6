package histories

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/histories/play"
)

// madeAgain has the CronJob made again from its own export, as by kubectl get -o yaml | kubectl replace --force: another UID, the same
// annotations, and no status. Its Jobs go with the old one.
type madeAgain struct{}

func (madeAgain) String() string { return "the CronJob is made again from its own export" }
func (madeAgain) trait() trait   { return trait{forgets: true} }

// collected is how long it takes until Jobs of a deleted CronJob are gone.
const collected = 2 * time.Second

func (madeAgain) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() {
		w.record.lost = append(w.record.lost, w.description().Ledger...)
		old := w.cluster.makeAgain()
		w.tell(play.Signal{Name: protocol.DeletedSignal, Argument: protocol.Deleted{UID: string(old.UID)}})
		w.bridge.tells(false)
		w.agenda.Plan(time.Now().Add(collected), func() {
			for _, one := range w.cluster.jobs() {
				if claim.OfCronJob(&one, old.Name, old.UID) {
					w.cluster.remove(one.Name)
					w.jobEnded(&one)
				}
			}
		})
	})
}

// makeAgain makes the CronJob again, and returns the old one.
func (c *cluster) makeAgain() (old *ostinatov1.CronJob) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	old = c.stored()
	must(c.cronJobs.Vanish(c.namespace, c.name))
	c.made[c.name]++
	again := &ostinatov1.CronJob{
		TypeMeta: old.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.namespace, Name: c.name, UID: types.UID(fmt.Sprintf("%s-cron-uid-%d", c.name, c.made[c.name])), Generation: 1,
			ResourceVersion: c.next(), CreationTimestamp: metav1.NewTime(time.Now().UTC().Truncate(time.Second)), Annotations: old.Annotations,
			ManagedFields: writtenBy(creator),
		},
		Spec: old.Spec,
	}
	c.suspendedBy(&ostinatov1.CronJob{}, again, creator)
	must(c.cronJobs.Appear(again))
	c.note(taken{what: "made"})
	c.note(taken{what: "edit"})
	return old
}
