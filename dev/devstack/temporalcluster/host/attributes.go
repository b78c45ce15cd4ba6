package host

import (
	"fmt"

	"go.temporal.io/api/enums/v1"
)

// searchAttributes gives names of types their meaning.
func searchAttributes(types map[string]string) (map[string]enums.IndexedValueType, error) {
	attributes := map[string]enums.IndexedValueType{}
	for name, kind := range types {
		value, err := enums.IndexedValueTypeFromString(kind)
		if err != nil || value == enums.INDEXED_VALUE_TYPE_UNSPECIFIED {
			return nil, fmt.Errorf("search attribute %s: %q is not a type", name, kind)
		}
		attributes[name] = value
	}
	return attributes, nil
}
