package protocol_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"ostinato.dev/ostinato/internal/protocol"
)

// TestWhatIsDecodedIsBounded walks the fields of every type that strangers' bytes are decoded into. A list or a map is bounded
// where a type above it reads its own JSON: a few bytes of JSON can stand for a hundred times as much memory.
func TestWhatIsDecodedIsBounded(t *testing.T) {
	for _, value := range protocol.Decoded() {
		walk(t, reflect.TypeOf(value).Elem(), reflect.TypeOf(value).Elem().Name(), map[reflect.Type]bool{})
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func walk(t *testing.T, kind reflect.Type, path string, above map[reflect.Type]bool) {
	if above[kind] || reflect.PointerTo(kind).Implements(unmarshaler) {
		return
	}
	above[kind] = true
	defer delete(above, kind)
	switch kind.Kind() {
	case reflect.Slice, reflect.Map, reflect.Interface:
		t.Errorf("%s is a %s of any size: give a type above it an UnmarshalJSON by package packed, or leave the field out", path, kind)
	case reflect.Pointer:
		walk(t, kind.Elem(), path, above)
	case reflect.Struct:
		for field := range kind.Fields() {
			if field.Tag.Get("json") != "-" && field.IsExported() {
				walk(t, field.Type, path+"."+field.Name, above)
			}
		}
	}
}
