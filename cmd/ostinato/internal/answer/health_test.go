package answer_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
)

// healthy is an installation where all is as it should be.
func healthy() answer.Facts {
	return answer.Facts{
		Command: "v1.2.3",
		Programs: []answer.Program{
			{Part: "worker", Namespace: "ostinato-system", Name: "ostinato-worker", Image: "registry:5000/ostinato:v1.2.3", Ready: 2, Wanted: 2},
			{Part: "bridge", Namespace: "ostinato-system", Name: "ostinato-bridge", Image: "registry:5000/ostinato:v1.2.3", Ready: 2, Wanted: 2},
		},
		Temporal: answer.TemporalFacts{Address: "temporal:7233", Namespace: "jobs", Version: "1.32.0", Queues: []answer.Queue{
			{Name: "ostinato", Tasks: "workflow", Pollers: 2, Last: clock().Now.Add(-time.Minute)},
			{Name: "ostinato", Tasks: "activity", Pollers: 2, Last: clock().Now.Add(-time.Minute)},
			{Name: "ostinato-jobs", Tasks: "workflow", Pollers: 2, Last: clock().Now.Add(-time.Minute)},
		}},
		Own: []answer.OwnTemporal{{
			Namespace: "ostinato-system", Name: "ostinato-temporal", Image: "registry:5000/ostinato-temporal:v1.2.3",
			Claim: &answer.Claim{Namespace: "ostinato-system", Name: "ostinato-temporal", Bound: true},
		}},
		Policies: answer.Policies, Bindings: answer.Policies,
	}
}

func TestHealth(t *testing.T) {
	ok, wrong, unseen := answer.HealthOK, answer.HealthWrong, answer.HealthUnseen
	for name, row := range map[string]struct {
		change        func(*answer.Facts)
		part, is, why string
	}{
		"a worker that is ready": {nil, "worker", ok, "2 of 2 ready in ostinato-system/ostinato-worker, image registry:5000/ostinato:v1.2.3"},
		"a bridge with a replica that is not ready": {func(f *answer.Facts) { f.Programs[1].Ready = 1 },
			"bridge", wrong, "1 of 2 ready in ostinato-system/ostinato-bridge, image registry:5000/ostinato:v1.2.3"},
		"a worker that was scaled to nothing": {func(f *answer.Facts) { f.Programs[0].Ready, f.Programs[0].Wanted = 0, 0 },
			"worker", wrong, "0 of 0 ready in ostinato-system/ostinato-worker, image registry:5000/ostinato:v1.2.3"},
		"of two installations, the one that is not ready": {func(f *answer.Facts) {
			f.Programs = append(f.Programs, answer.Program{Part: "worker", Namespace: "b", Name: "ostinato-worker", Image: "x", Wanted: 1})
		}, "worker", wrong, "0 of 1 ready in b/ostinato-worker, image x"},
		"no Deployment": {func(f *answer.Facts) { f.Programs = nil }, "worker", unseen, "not visible: no Deployment has its label; it may run outside of the cluster"},
		"Deployments that may not be listed": {func(f *answer.Facts) { f.ProgramsUnseen = "forbidden" },
			"bridge", unseen, "not visible: forbidden"},

		"a Temporal that workers poll": {nil, "temporal", ok, "temporal:7233 answers, and workers poll ostinato, ostinato-jobs in namespace jobs"},
		"no answer of Temporal":        {func(f *answer.Facts) { f.Temporal.Unseen = "refused" }, "temporal", unseen, "not visible: refused"},
		"a task queue without pollers": {func(f *answer.Facts) { f.Temporal.Queues[1].Pollers = 0 },
			"temporal", wrong, "no worker polls task queue ostinato (activity tasks)"},
		"pollers that are gone, and Temporal remembers": {func(f *answer.Facts) { f.Temporal.Queues[0].Last = clock().Now.Add(-4 * time.Minute) },
			"temporal", wrong, "the last poll of task queue ostinato (workflow tasks) was 4m ago"},
		"a task queue that may not be described": {func(f *answer.Facts) { f.Temporal.Queues[2].Unseen = "permission denied" },
			"temporal", unseen, "not visible: task queue ostinato-jobs (workflow tasks): permission denied"},
		"what is wrong comes before what is hidden": {func(f *answer.Facts) {
			f.Temporal.Queues[2].Unseen, f.Temporal.Queues[0].Pollers = "permission denied", 0
		},
			"temporal", wrong, "no worker polls task queue ostinato (workflow tasks)"},

		"databases that were set aside": {func(f *answer.Facts) { f.Temporal.Lost = "The old ones are in /data/temporal/databases-of-a." },
			"data", answer.HealthLost, "CronJobs and Jobs go on from their objects. The old ones are in /data/temporal/databases-of-a."},

		"little room on the volume": {func(f *answer.Facts) { f.Temporal.Short = "The volume is nearly full." },
			"capacity", answer.HealthShort, "The volume is nearly full."},

		"a volume": {nil, "volume", ok, "claim ostinato-system/ostinato-temporal has its volume"},
		"no storage class that is the default": {func(f *answer.Facts) { f.Own[0].Claim.Bound, f.Own[0].Claim.NoDefault = false, true },
			"volume", wrong, "claim ostinato-system/ostinato-temporal names no storage class, and none of the cluster is the default: make one the default, or name one (temporal.embedded.storage.storageClassName in the chart)"},
		"no volume of a class yet": {func(f *answer.Facts) { f.Own[0].Claim.Bound, f.Own[0].Claim.Class = false, "fast" },
			"volume", wrong, "claim ostinato-system/ostinato-temporal has no volume of storage class fast yet: kubectl describe says why"},
		"no volume of the default class yet": {func(f *answer.Facts) { f.Own[0].Claim.Bound = false },
			"volume", wrong, "claim ostinato-system/ostinato-temporal has no volume yet: kubectl describe says why"},
		"storage classes that may not be listed": {func(f *answer.Facts) {
			f.Own[0].Claim.Bound, f.Own[0].Claim.DefaultUnseen = false, "forbidden"
		}, "volume", wrong, "claim ostinato-system/ostinato-temporal has no volume yet, and names no storage class; whether one is the default is not visible: forbidden"},
		"a claim that may not be read":               {func(f *answer.Facts) { f.Own[0].Claim, f.Own[0].ClaimUnseen = nil, "forbidden" }, "volume", unseen, "not visible: forbidden"},
		"a Temporal of its own that may not be seen": {func(f *answer.Facts) { f.Own, f.OwnUnseen = nil, "forbidden" }, "volume", unseen, "not visible: forbidden"},

		"policies that are enforced":       {nil, "policies", ok, "8 admission policies are enforced"},
		"policies that may not be listed":  {func(f *answer.Facts) { f.PoliciesUnseen = "forbidden" }, "policies", unseen, "not visible: forbidden"},
		"a policy that somebody took away": {func(f *answer.Facts) { f.Policies = answer.Policies[1:] }, "policies", wrong, "missing: ostinato-bridge-cronjobs"},
		"policies that nothing enforces": {func(f *answer.Facts) { f.Bindings = answer.Policies[2:] },
			"policies", wrong, "without a binding that denies: ostinato-bridge-cronjobs, ostinato-cronjobs-status"},

		"one version":                        {nil, "versions", ok, "worker v1.2.3, bridge v1.2.3, ostinato-temporal v1.2.3, Temporal server 1.32.0, this command v1.2.3"},
		"a Temporal elsewhere":               {func(f *answer.Facts) { f.Own = nil }, "versions", ok, "worker v1.2.3, bridge v1.2.3, Temporal server 1.32.0, this command v1.2.3"},
		"a server that does not say its own": {func(f *answer.Facts) { f.Own, f.Temporal.Version = nil, "" }, "versions", ok, "worker v1.2.3, bridge v1.2.3, this command v1.2.3"},
		"a command of another release":       {func(f *answer.Facts) { f.Own, f.Temporal.Version, f.Command = nil, "", "v1.1.0" }, "versions", wrong, "worker v1.2.3, bridge v1.2.3, this command v1.1.0: the command is of another release"},
		"a release whose tag has no v": {func(f *answer.Facts) {
			f.Own, f.Programs[0].Image, f.Programs[1].Image = nil, "o:1.2.3@sha256:a", "o:1.2.3"
		}, "versions", ok, "worker 1.2.3, bridge 1.2.3, Temporal server 1.32.0, this command v1.2.3"},
		"a worker of another image":         {func(f *answer.Facts) { f.Own, f.Programs[0].Image = nil, "o@sha256:a" }, "versions", wrong, "worker sha256:a, bridge v1.2.3, Temporal server 1.32.0, this command v1.2.3: give worker and bridge one image"},
		"images whose tags name no release": {func(f *answer.Facts) { f.Own, f.Programs[0].Image, f.Programs[1].Image = nil, "o:dev", "o:dev" }, "versions", unseen, "not visible: one of these names no release: worker dev, bridge dev, Temporal server 1.32.0, this command v1.2.3"},
		"a command that was built of a clone": {func(f *answer.Facts) {
			f.Own, f.Temporal.Version, f.Command = nil, "", "v0.0.0-20260101000000-abcdefabcdef"
		}, "versions", unseen, "not visible: one of these names no release: worker v1.2.3, bridge v1.2.3, this command v0.0.0-20260101000000-abcdefabcdef"},
		"a command that knows no version": {func(f *answer.Facts) { f.Own, f.Command, f.Programs = nil, "", nil }, "versions", unseen, "not visible: no image of a worker or bridge: Temporal server 1.32.0, this command unknown"},
		"images that may not be seen":     {func(f *answer.Facts) { f.ProgramsUnseen = "forbidden" }, "versions", unseen, "not visible: forbidden; this command is v1.2.3"},

		"no Job under way":            {nil, "jobs", ok, "none is under way"},
		"Jobs under way":              {func(f *answer.Facts) { f.Jobs = []string{"shop/a", "shop/b"} }, "jobs", ok, "2 under way: shop/a, shop/b"},
		"many Jobs under way":         {func(f *answer.Facts) { f.Jobs = strings.Split(strings.Repeat("shop/a ", 11)+"shop/b", " ") }, "jobs", ok, "12 under way: shop/a" + strings.Repeat(", shop/a", 9) + " and 2 more"},
		"Jobs that may not be listed": {func(f *answer.Facts) { f.JobsUnseen = "forbidden" }, "jobs", unseen, "not visible: forbidden"},

		"clocks that agree":             {func(f *answer.Facts) { f.Ahead = -2 * time.Second }, "clocks", ok, "this machine and the API server are within 3s"},
		"a machine that is fast":        {func(f *answer.Facts) { f.Ahead = 90 * time.Second }, "clocks", wrong, "this machine is 1m30s ahead of the API server: times since and until are wrong by that"},
		"a machine that is slow":        {func(f *answer.Facts) { f.Ahead = -4 * time.Second }, "clocks", wrong, "this machine is 4s behind the API server: times since and until are wrong by that"},
		"an API server without a clock": {func(f *answer.Facts) { f.ClockUnseen = "no Date" }, "clocks", unseen, "not visible: no Date"},
	} {
		facts := healthy()
		if row.change != nil {
			row.change(&facts)
		}
		all := answer.HealthOf(clock().Now, facts)
		n := slices.IndexFunc(all, func(one answer.Health) bool { return one.Part == row.part })
		if assert.GreaterOrEqual(t, n, 0, name) {
			assert.Equal(t, answer.Health{Part: row.part, Is: row.is, Why: row.why}, all[n], name)
		}
	}
}

// An installation without a volume has no line for one, nor one without a loss.
func TestAVolumeIsAPartWhereThereIsOne(t *testing.T) {
	elsewhere, database := healthy(), healthy()
	elsewhere.Own, database.Own[0].Claim = nil, nil
	for _, facts := range []answer.Facts{elsewhere, database} {
		for _, one := range answer.HealthOf(clock().Now, facts) {
			assert.NotContains(t, []string{"volume", "data"}, one.Part)
		}
	}
}

// The policies that are looked for are those that are installed.
func TestThePoliciesAreThoseOfTheManifests(t *testing.T) {
	var found, bound []string
	files, err := filepath.Glob("../../../../deploy/base/admission-*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`(?m)^kind: ValidatingAdmissionPolicy(Binding)?\nmetadata:\n  name: (\S+)$`).FindAllStringSubmatch(string(text), -1) {
			if match[1] == "" {
				found = append(found, match[2])
			} else {
				bound = append(bound, match[2])
			}
		}
	}
	assert.ElementsMatch(t, answer.Policies, found)
	assert.ElementsMatch(t, answer.Policies, bound)
}
