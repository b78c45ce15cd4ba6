package temporalserver

import (
	"maps"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/schema/sqlite"

	"ostinato.dev/ostinato/internal/names"
)

func TestReconcileNamespace(t *testing.T) {
	none := Options{SearchAttributes: map[string]enums.IndexedValueType{}}
	const keyword, datetime = enums.INDEXED_VALUE_TYPE_KEYWORD, enums.INDEXED_VALUE_TYPE_DATETIME
	for _, test := range []struct {
		name        string
		registered  map[string]string
		retention   time.Duration
		attributes  map[string]enums.IndexedValueType
		lost        string
		want        map[string]string
		wantChanged bool
		wantError   string
	}{
		{
			name:        "attributes take columns in alphabetical order",
			attributes:  map[string]enums.IndexedValueType{"JobName": keyword, "CronJobName": keyword, "ScheduledTime": datetime},
			want:        map[string]string{"Keyword01": "CronJobName", "Keyword02": "JobName", "Datetime01": "ScheduledTime"},
			wantChanged: true,
		},
		{
			name:       "what is registered stays where it is",
			registered: map[string]string{"Keyword02": "JobName"},
			attributes: map[string]enums.IndexedValueType{"JobName": keyword},
			want:       map[string]string{"Keyword02": "JobName"},
		},
		{
			name:        "what is new takes a free column",
			registered:  map[string]string{"Keyword01": "JobName"},
			attributes:  map[string]enums.IndexedValueType{"JobName": keyword, "CronJobName": keyword},
			want:        map[string]string{"Keyword01": "JobName", "Keyword02": "CronJobName"},
			wantChanged: true,
		},
		{
			name:       "what is no longer asked for stays",
			registered: map[string]string{"Keyword01": "JobName"},
			want:       map[string]string{"Keyword01": "JobName"},
		},
		{name: "something was lost", lost: "a database", want: map[string]string{}, wantChanged: true},
		{name: "retention changes", retention: 2 * time.Hour, want: map[string]string{}, wantChanged: true},
		{
			name:       "a registered attribute has another type",
			registered: map[string]string{"Keyword01": "ScheduledTime"},
			attributes: map[string]enums.IndexedValueType{"ScheduledTime": datetime},
			wantError:  `search attribute "ScheduledTime" is registered as Keyword, not Datetime`,
		},
		{
			name:       "a type has no column left",
			attributes: map[string]enums.IndexedValueType{"A": datetime, "B": datetime, "C": datetime, "D": datetime},
			wantError:  `no column of type Datetime is left for search attribute "D"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			namespace, err := sqlite.NewNamespaceConfig(clusterName, DefaultNamespace, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			detail := namespace.Detail
			if _, err := reconcileNamespace(detail, none.withDefaults(), ""); err != nil {
				t.Fatal(err)
			}
			o := Options{Retention: test.retention, SearchAttributes: test.attributes}
			if o.SearchAttributes == nil {
				o.SearchAttributes = none.SearchAttributes
			}
			o = o.withDefaults()
			maps.Copy(detail.Config.CustomSearchAttributeAliases, test.registered)
			changed, err := reconcileNamespace(detail, o, test.lost)
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Fatalf("error = %v, want %q", err, test.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if changed != test.wantChanged {
				t.Errorf("changed = %v, want %v", changed, test.wantChanged)
			}
			if got := detail.Config.CustomSearchAttributeAliases; !maps.Equal(got, test.want) {
				t.Errorf("search attributes = %v, want %v", got, test.want)
			}
			if got := detail.Info.Data[names.TemporalLostData]; got != test.lost {
				t.Errorf("lost = %q, want %q", got, test.lost)
			}
			if again, err := reconcileNamespace(detail, o, test.lost); err != nil || again {
				t.Errorf("a second time: changed = %v, error = %v; want nothing to change", again, err)
			}
		})
	}
}
