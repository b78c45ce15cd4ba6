package job_test

import (
	"encoding/json"
	"slices"
	"testing"

	"ostinato.dev/ostinato/internal/job"
)

// Facts come from signals: what is valid joins any State, in any order, and adds few Pods that nobody knows.
func FuzzObserve(f *testing.F) {
	f.Add([]byte(`{"name":"a","uid":"b","pods":[{"name":"x","uid":"y","phase":"Running"}]}`), []byte(`[{"name":"x","uid":"y","phase":"Failed","tracked":true,"exits":[{"code":1}]}]`))
	f.Add([]byte(`{}`), []byte(`[{"name":"e-1-1","uid":"e-1-1","phase":"Running","tracked":true,"message":"x"},{"name":"e-1-1","uid":"z","index":3}]`))
	f.Add([]byte(`{"accounted":["y"]}`), []byte(`[{"name":"x","uid":"y","phase":"Pending","deleting":true},{}]`))
	f.Fuzz(func(t *testing.T, stateJSON, factsJSON []byte) {
		var state job.State
		var facts []job.PodFact
		if json.Unmarshal(stateJSON, &state) != nil || json.Unmarshal(factsJSON, &facts) != nil || state.Validate() != nil || job.ValidateFacts(facts) != nil {
			return
		}
		before := len(state.Pods)
		once := state.Observe(facts)
		if added := len(once.Pods) - before; added > len(facts) {
			t.Errorf("%d Pods more by %d facts", added, len(facts))
		}
		if twice := once.Observe(facts); len(twice.Pods) != len(once.Pods) {
			t.Errorf("%d Pods, and %d when the same is said again", len(once.Pods), len(twice.Pods))
		}
		if _, err := json.Marshal(once); err != nil {
			t.Error(err)
		}
	})
}

// Sets of indexes come in States and in statuses: what is read is a set that is written and read again.
func FuzzIndexes(f *testing.F) {
	for _, seed := range []string{"", "1,3-5,7", "5-1", "0-2147483647", "bits:VVVV", "bits:", "1,,2", "-1", "9-9,9", "1-2-3", "99999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set := job.ParseIndexes(text)
		if again := job.ParseIndexes(set.String()); again.String() != set.String() {
			t.Errorf("%q is written as %q and read as %q", text, set, again)
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var read job.Indexes
		if json.Unmarshal(quoted, &read) != nil {
			return
		}
		data, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		var again job.Indexes
		if err := json.Unmarshal(data, &again); err != nil || again.String() != read.String() {
			t.Errorf("%q is written as %s and read as %q, error %v", text, data, again, err)
		}
	})
}

// The records of indexes come in States as one text: what is read is written and read again.
func FuzzIndexRecords(f *testing.F) {
	for _, seed := range []string{"", "1:2", "1:2:3:4:5", "1:2 2:1:1:0:1700000000000", "2:1:1:0:1 1:1", "1:2:3", "1:2:3:4:5:6", "-1:-1:-1:-1:-1", "1:2:3:4:9223372036854775807", "1:\n2:3:4:5", "\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var read, again job.IndexRecords
		if json.Unmarshal(quoted, &read) != nil {
			return
		}
		data, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &again); err != nil || !slices.Equal(again, read) {
			t.Errorf("%q is written as %s and read as %v, not %v: error %v", text, data, again, read, err)
		}
		// A State with them is judged before anybody goes on with it.
		_ = job.State{Indexes: read}.Validate()
	})
}
