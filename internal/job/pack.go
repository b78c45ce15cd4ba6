package job

import "ostinato.dev/ostinato/internal/packed"

// plainState is a State without methods.
type plainState State

// MarshalJSON implements json.Marshaler: a large State is compressed.
func (s State) MarshalJSON() ([]byte, error) { return packed.Marshal(plainState(s)) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *State) UnmarshalJSON(data []byte) error {
	return packed.Unmarshal(data, (*plainState)(s))
}
