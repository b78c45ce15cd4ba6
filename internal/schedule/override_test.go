package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

var queued = ostinatov1.QueueConcurrent

// A trigger at 10:20, beside the run of 10:00, under the policy it asks for.
func TestATriggerMayAskForAnotherConcurrencyPolicy(t *testing.T) {
	const started, replaced, skipped = "10:20 started", "10:00 replaced, 10:20 started", "10:20 skipped"
	const waits = "10:20 waits"
	for _, test := range []struct {
		policy  specOption
		overlap batchv1.ConcurrencyPolicy
		want    string
	}{
		{allow, "", started}, {forbid, "", skipped}, {replace, "", replaced},
		{allow, "Allow", started}, {forbid, "Allow", started}, {replace, "Allow", started},
		{allow, "Forbid", skipped}, {forbid, "Forbid", skipped}, {replace, "Forbid", skipped},
		{allow, "Replace", replaced}, {forbid, "Replace", replaced}, {replace, "Replace", replaced},
		{allow, queued, waits}, {forbid, queued, waits}, {replace, queued, waits},
	} {
		spec := cronSpec("0 * * * *", test.policy)
		t.Run(fmt.Sprintf("%s, asks for %q", spec.ConcurrencyPolicy, test.overlap), func(t *testing.T) {
			c := newCluster(t, spec, at("09:30")).at(at("10:00")).triggerWith(test.overlap, at("10:20"))
			var got []string
			for _, wanted := range c.deletes {
				if wanted.Replaced {
					got = append(got, "10:00 replaced")
				}
			}
			for _, start := range c.starts[1:] {
				got = append(got, start.Scheduled.Format("15:04")+" started")
			}
			if len(c.state.Triggers) > 0 {
				got = append(got, waits)
			}
			if slices.Contains(c.ledger(), "19T10:20:00 SkippedOverlap JobAlreadyActive manual") {
				got = append(got, skipped)
			}
			if all := strings.Join(got, ", "); all != test.want {
				t.Errorf("%s, want %s", all, test.want)
			}
			if test.want != waits {
				return
			}
			wantTime(t, "wake: the next run, since an end wakes by itself", c.wake, "11:00")
			c.finish(batchv1.JobComplete, at("10:30"))
			if len(c.starts) != 2 || !c.starts[1].Manual || len(c.state.Triggers) != 0 {
				t.Errorf("after the run has ended: starts %+v", c.starts)
			}
		})
	}
}

func TestATriggerThatWaitsHoldsUpNoOther(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("10:00"))
	c.triggerWith(queued, at("10:20")).triggerWith("Allow", at("10:21"))
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T10:21:00 Started manual")
	c.finish(batchv1.JobComplete, at("10:30"))
	if len(c.state.Triggers) != 1 {
		t.Error("the trigger did not wait for the second run")
	}
	c.finish(batchv1.JobComplete, at("10:40"))
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T10:21:00 Started manual", "19T10:20:00 StartedLate JobAlreadyActive manual")
}

func TestAnOverlapThatIsNoneIsRefusedInWords(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30")).triggerWith("Sometimes", at("09:40"))
	wantStrings(t, "ledger", c.ledger(), "19T09:40:00 FailedToCreate InvalidSignal manual")
	wantStrings(t, "events", c.reasons(), "TriggerRefused")
	for _, text := range []string{c.state.Ledger.Entries[0].Message, c.events[0].Message} {
		if !strings.Contains(text, `overlap is "Sometimes": use Allow, Forbid, Replace or Queue`) {
			t.Errorf("said %q", text)
		}
	}
	if len(c.starts) != 0 {
		t.Errorf("starts %+v", c.starts)
	}
	state := c.state
	state.Triggers = []schedule.Trigger{{TriggerRequest: schedule.TriggerRequest{Overlap: "Sometimes"}}}
	if state.Validate() == nil {
		t.Error("a state with such a trigger is valid")
	}
}
