// Package packed keeps large values below the size that Temporal takes as one
// payload (2 MB): their JSON is compressed. Small values stay readable JSON.
package packed

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// threshold is the size in bytes from which on JSON is compressed.
const threshold = 64 << 10

// envelope is what a compressed value looks like.
type envelope struct {
	GZIP []byte `json:"gzip"`
}

// Marshal returns the JSON of a value, or, when that is long, of an object with
// the compressed JSON as its only field.
func Marshal(value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil || len(plain) < threshold {
		return plain, err
	}
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	if _, err := writer.Write(plain); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return json.Marshal(envelope{compressed.Bytes()})
}

// Unmarshal reads what Marshal returned.
func Unmarshal(data []byte, value any) error {
	var packed envelope
	if bytes.HasPrefix(data, []byte(`{"gzip":`)) {
		if err := json.Unmarshal(data, &packed); err != nil {
			return fmt.Errorf("read compressed value: %w", err)
		}
		reader, err := gzip.NewReader(bytes.NewReader(packed.GZIP))
		if err != nil {
			return fmt.Errorf("decompress: %w", err)
		}
		if data, err = io.ReadAll(reader); err != nil {
			return fmt.Errorf("decompress: %w", err)
		}
	}
	return json.Unmarshal(data, value)
}
