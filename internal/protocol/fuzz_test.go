package protocol_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"testing"

	"ostinato.dev/ostinato/internal/testing/fixture"
)

// enveloped is the value as one of ours that is large arrives.
func enveloped(t *testing.T, data []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write(data)
	if err = errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	envelope, err := json.Marshal(map[string][]byte{"gzip": packed.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

// FuzzDecode reads what anybody may send as every type that is decoded, as it is and compressed: it is an error or a
// value that can be judged and written again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"gzip":""}`, `{"gzip":"H4sIAAAAAAAA/6uuBQBDv6ajAgAAAA=="}`,
		`{"job":{"namespace":"a","name":"b","uid":"c"},"spec":{"parallelism":1},"state":{"pods":[{"name":"x","uid":"y"}],"completed":"1-5"}}`,
		`{"cronJob":{"namespace":"a","name":"b","uid":"c"},"spec":{"schedule":"* * * * *"},"state":{"active":[{"name":"x"}]}}`,
		`{"job":"u","pods":[{"name":"x","uid":"y","phase":"Failed","exits":[{"code":1}]}],"look":true}`,
		`{"since":"2026-01-02T00:00:00Z","until":"2026-01-02T12:00:00Z","limit":20,"before":281}`,
		`{"overlap":"Queue","note":"once more","by":"ada"}`, `"{\"overlap\":\"Queue\"}"`,
		`{"cronJobUID":"u","name":"x","result":{"uid":"y","outcome":"Complete","attempts":[{}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, sent := range [][]byte{data, enveloped(t, data)} {
			for _, value := range fixture.Decoded() {
				if json.Unmarshal(sent, value) != nil {
					continue
				}
				if judged, ok := value.(interface{ Validate() error }); ok {
					_ = judged.Validate()
				}
				if _, err := json.Marshal(value); err != nil {
					t.Errorf("%T can't be written again: %v", value, err)
				}
			}
		}
	})
}
