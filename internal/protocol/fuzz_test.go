package protocol_test

import (
	"encoding/json"
	"testing"

	"ostinato.dev/ostinato/internal/protocol"
)

// FuzzDecode reads what anybody may send as every type that is decoded: it is an error or a value that can be judged and
// written again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"gzip":""}`, `{"gzip":"H4sIAAAAAAAA/6uuBQBDv6ajAgAAAA=="}`,
		`{"job":{"namespace":"a","name":"b","uid":"c"},"spec":{"parallelism":1},"state":{"pods":[{"name":"x","uid":"y"}],"completed":"1-5"}}`,
		`{"cronJob":{"namespace":"a","name":"b","uid":"c"},"spec":{"schedule":"* * * * *"},"state":{"active":[{"name":"x"}]}}`,
		`{"job":"u","pods":[{"name":"x","uid":"y","phase":"Failed","exits":[{"code":1}]}],"look":true}`,
		`{"cronJobUID":"u","name":"x","result":{"uid":"y","outcome":"Complete","attempts":[{}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, value := range protocol.Decoded() {
			if json.Unmarshal(data, value) != nil {
				continue
			}
			if judged, ok := value.(interface{ Validate() error }); ok {
				_ = judged.Validate()
			}
			if _, err := json.Marshal(value); err != nil {
				t.Errorf("%T can't be written again: %v", value, err)
			}
		}
	})
}
