// Package packed keeps large values below the size that Temporal takes as one
// payload (2 MB): their JSON is compressed. Small values stay readable JSON.
//
// What is read may come from anybody who may write to Temporal, so it is bounded before
// it takes memory.
package packed

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

const (
	// threshold is the size in bytes from which on JSON is compressed.
	threshold = 64 << 10
	// maxSize bounds what is decompressed, in bytes.
	maxSize = 16 << 20
	// maxElements bounds the JSON objects and arrays in a value, which take far more
	// memory than bytes: a State of 10,000 Pods has some 40,000.
	maxElements = 120_000
	// maxValues bounds the members of all objects and arrays together.
	maxValues = 2_000_000
)

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

// Unmarshal reads what Marshal returned. A value that is larger than any that Ostinato
// writes is an error, found before it takes memory.
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
		if data, err = io.ReadAll(io.LimitReader(reader, maxSize+1)); err != nil {
			return fmt.Errorf("decompress: %w", err)
		}
	}
	if len(data) > maxSize {
		return fmt.Errorf("a value of more than %d MiB", maxSize>>20)
	}
	if err := bounded(data); err != nil {
		return err
	}
	return json.Unmarshal(data, value)
}

// bounded counts what the JSON consists of, without taking memory for it. It need not be
// valid JSON.
func bounded(data []byte) error {
	elements, values, text := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{', c == '[':
			elements++
		case c == ',':
			values++
		}
	}
	if elements > maxElements || values > maxValues {
		return fmt.Errorf("a value of %d objects and arrays with %d members, want %d and %d at most", elements, values, maxElements, maxValues)
	}
	return nil
}
