package protocol_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/testing/fixture"
)

// TestWhatIsDecodedIsBounded walks the fields of every type that strangers' bytes are decoded into. A list or a map is bounded
// where a type above it reads its own JSON: a few bytes of JSON can stand for a hundred times as much memory.
func TestWhatIsDecodedIsBounded(t *testing.T) {
	for _, value := range fixture.Decoded() {
		walk(t, reflect.TypeOf(value).Elem(), reflect.TypeOf(value).Elem().Name(), map[reflect.Type]bool{})
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// bounded are the types that read their own JSON and take no more memory than it has bytes.
var bounded = []reflect.Type{
	reflect.TypeFor[time.Time](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](),
	reflect.TypeFor[job.Indexes](), reflect.TypeFor[job.Spec](), reflect.TypeFor[job.IndexRecords](),
}

// readsItself reports whether a type bounds what it is decoded from: those of package protocol and a Job's State do, by package
// packed, which TestBombsAreRefusedBeforeTheyTakeMemory shows.
func readsItself(t *testing.T, kind reflect.Type, path string) bool {
	if !reflect.PointerTo(kind).Implements(unmarshaler) {
		return false
	}
	if kind.PkgPath() != reflect.TypeFor[protocol.JobInput]().PkgPath() && kind != reflect.TypeFor[job.State]() && !slices.Contains(bounded, kind) {
		t.Errorf("%s is a %s, which reads its own JSON: say here that it bounds it", path, kind)
	}
	return true
}

func walk(t *testing.T, kind reflect.Type, path string, above map[reflect.Type]bool) {
	if above[kind] || readsItself(t, kind, path) {
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

// Only a list of the activity's own says that a Pod is the Job's and runs: with that word a delete reads no Pod first.
func TestNoRequestSaysThatAListHasShownAPod(t *testing.T) {
	forged := `{"name":"victim","uid":"uid","release":true,"version":7,"Version":7,"VERSION":7,"-":7}`
	for name, field := range map[string]string{"a request": `"deletes"`, "in capitals": `"DELETES"`} {
		var request protocol.JobRequest
		if err := json.Unmarshal([]byte(`{`+field+`:[`+forged+`]}`), &request); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := []job.Delete{{Name: "victim", UID: "uid", Release: true}}; !slices.Equal(request.Deletes, want) {
			t.Errorf("%s decodes to %+v, want %+v", name, request.Deletes, want)
		}
	}
}
