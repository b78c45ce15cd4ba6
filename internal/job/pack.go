package job

import "ostinato.dev/ostinato/internal/packed"

// MaxStateSize bounds the JSON of a State, and of a list of its Pods, in bytes: what there is
// of 10,000 Pods takes more than 4 MiB (TestTheLargestStatesFitIntoOnePayload).
const MaxStateSize = 6 << 20

// maxSpecSize bounds the JSON of a Spec, in bytes.
const maxSpecSize = 1 << 20

// plainState is a State without methods.
type plainState State

// plainSpec is a Spec without methods.
type plainSpec Spec

// MarshalJSON implements json.Marshaler: a Spec with a large podFailurePolicy is
// compressed. The API server bounds that policy to some 170 kB.
func (s Spec) MarshalJSON() ([]byte, error) { return packed.Marshal(plainSpec(s)) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Spec) UnmarshalJSON(data []byte) error {
	return packed.UnmarshalPart(data, (*plainSpec)(s), maxSpecSize)
}

// MarshalJSON implements json.Marshaler: a large State is compressed.
func (s State) MarshalJSON() ([]byte, error) { return packed.Marshal(plainState(s)) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *State) UnmarshalJSON(data []byte) error {
	return packed.UnmarshalPart(data, (*plainState)(s), MaxStateSize)
}

// Fits reports whether the State takes at most so many bytes as a payload, and can be read again.
func (s State) Fits(length int) error { return packed.Fits(plainState(s), length, MaxStateSize) }
