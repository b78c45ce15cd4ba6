package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxArgument bounds the JSON of a person's argument, in bytes.
const maxArgument = 8 << 10

// decodeArgument reads the argument of what a person asks for, into a type without methods.
// What it misspells would be left out unseen, so its JSON is read strictly. It may be quoted
// once more as a string; null leaves the value as it is.
func decodeArgument(data []byte, of, example string, into any) error {
	if len(data) > maxArgument {
		return fmt.Errorf("a %s's argument has %d bytes: use %d at most", of, len(data), maxArgument)
	}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var quoted string
	if json.Unmarshal(data, &quoted) == nil {
		data = []byte(quoted)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("a %s's argument can't be read, want JSON such as %s: %w", of, example, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows a %s's argument", of)
	}
	return nil
}
