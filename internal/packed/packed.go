// Package packed keeps large values below the size that Temporal takes as one payload (2 MB): their JSON is compressed.
// Small values stay readable JSON.
//
// What is read may come from anybody who may write to Temporal, so it is bounded before it takes memory.
package packed

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

const (
	// threshold is the size in bytes from which on JSON is compressed.
	threshold = 16 << 10
	// maxSize bounds what is decompressed, in bytes.
	maxSize = 4 << 20
	// maxElements bounds the JSON objects and arrays in a value, which take far more
	// memory than bytes: a State of 10,000 Pods has some 40,000.
	maxElements = 60_000
	// maxValues bounds the members of all objects and arrays together.
	maxValues = 1_000_000
	// atATime is how many large values a process decodes at a time: what they take while
	// they are read, many times their size, is bounded in sum.
	atATime = 2
)

// wholes and parts hold the large values that are being decoded. A value that is part of
// another waits at a gate of its own, since the other is at the gate of wholes meanwhile.
var wholes, parts = make(chan struct{}, atATime), make(chan struct{}, atATime)

// envelope is what a compressed value looks like.
type envelope struct {
	GZIP []byte `json:"gzip"`
}

// Marshal returns the JSON of a value, or, when that is long, of an object with the compressed JSON as its only field.
func Marshal(value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return compress(plain)
}

// Fits reports whether Marshal makes a value of at most length bytes, which UnmarshalPart or
// UnmarshalWithin reads with this size.
func Fits(value any, length, size int) error {
	plain, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := check(plain, size); err != nil {
		return err
	}
	data, err := compress(plain)
	if err == nil && len(data) > length {
		err = fmt.Errorf("a value of %d bytes, want %d at most", len(data), length)
	}
	return err
}

func compress(plain []byte) ([]byte, error) {
	if len(plain) < threshold {
		return plain, nil
	}
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, err := writer.Write(plain)
	if err = cmp.Or(err, writer.Close()); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return json.Marshal(envelope{compressed.Bytes()})
}

// Unmarshal reads what Marshal returned. A value that is larger than any that Ostinato writes is an error, found before
// it takes memory. One that is compressed, or longer than what is not, waits until few others are read.
func Unmarshal(data []byte, value any) error { return UnmarshalWithin(data, value, maxSize) }

// UnmarshalWithin is Unmarshal with another bound, in bytes.
func UnmarshalWithin(data []byte, value any, size int) error {
	return unmarshal(data, value, size, wholes)
}

// UnmarshalPart is Unmarshal of a value that is a field of values that Unmarshal reads. It
// has no such fields itself. Size is its bound, in bytes.
func UnmarshalPart(data []byte, value any, size int) error {
	return unmarshal(data, value, size, parts)
}

// Large reports whether a value waits until few others are read, since reading it may take long.
func Large(data []byte) bool { return compressed(data) || len(data) > threshold }

func compressed(data []byte) bool { return bytes.HasPrefix(data, []byte(`{"gzip":`)) }

func unmarshal(data []byte, value any, size int, gate chan struct{}) error {
	if Large(data) {
		gate <- struct{}{}
		defer func() { <-gate }()
	}
	var packed envelope
	if compressed(data) {
		if err := json.Unmarshal(data, &packed); err != nil {
			return fmt.Errorf("read compressed value: %w", err)
		}
		reader, err := gzip.NewReader(bytes.NewReader(packed.GZIP))
		if err != nil {
			return fmt.Errorf("decompress: %w", err)
		}
		if data, err = io.ReadAll(io.LimitReader(reader, int64(size)+1)); err != nil {
			return fmt.Errorf("decompress: %w", err)
		}
	}
	if err := check(data, size); err != nil {
		return err
	}
	return json.Unmarshal(data, value)
}

// check bounds the size of JSON and what it consists of, without taking memory for it. It need not be valid JSON.
func check(data []byte, size int) error {
	if len(data) > size {
		return fmt.Errorf("a value of more than %d MiB", size>>20)
	}
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
