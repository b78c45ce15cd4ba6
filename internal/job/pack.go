package job

import "ostinato.dev/ostinato/internal/packed"

// maxStateSize and maxSpecSize bound the JSON of a State and of a Spec, in bytes. The
// largest State that a Job can come to takes more than 4 MiB (TestTheLargestStatesFitIntoOnePayload).
const maxStateSize, maxSpecSize = 6 << 20, 1 << 20

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
	return packed.UnmarshalPart(data, (*plainState)(s), maxStateSize)
}
