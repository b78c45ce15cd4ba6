package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"ostinato.dev/ostinato/internal/devstack/temporal"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name        string
		arguments   []string
		environment map[string]string
		check       func(temporal.Options) bool
		wantError   string
	}{
		{name: "defaults", check: func(o temporal.Options) bool {
			return o.DataDir == "" && o.IP == "127.0.0.1" && o.FrontendPort == 7233 && o.UIPort == 0 && o.Namespace == "default" &&
				o.Retention == 72*time.Hour && len(o.SearchAttributes) == 7
		}},
		{
			name:      "flags",
			arguments: []string{"--data-dir", "d", "--frontend-port=1", "--ui-port=2", "--metrics-port=3", "--retention", "1h", "--namespace", "n", "--synchronous=off"},
			check: func(o temporal.Options) bool {
				return o.DataDir == "d" && o.FrontendPort == 1 && o.UIPort == 2 && o.MetricsPort == 3 && o.Retention == time.Hour &&
					o.Namespace == "n" && o.Synchronous == temporal.SynchronousOff
			},
		},
		{
			name:        "the environment stands in for a flag that is not given",
			arguments:   []string{"--ui-port=2"},
			environment: map[string]string{"OSTINATO_DEVSERVER_FRONTEND_PORT": "1", "OSTINATO_DEVSERVER_UI_PORT": "9"},
			check:       func(o temporal.Options) bool { return o.FrontendPort == 1 && o.UIPort == 2 },
		},
		{
			name:      "further search attributes",
			arguments: []string{"--search-attribute", "Team=Keyword,Cost=Double", "--search-attribute", "Late=Bool"},
			check: func(o temporal.Options) bool {
				return o.SearchAttributes["Team"] == enums.INDEXED_VALUE_TYPE_KEYWORD && o.SearchAttributes["Cost"] == enums.INDEXED_VALUE_TYPE_DOUBLE &&
					o.SearchAttributes["Late"] == enums.INDEXED_VALUE_TYPE_BOOL && o.SearchAttributes["ScheduledTime"] == enums.INDEXED_VALUE_TYPE_DATETIME
			},
		},
		{
			name:      "dynamic configuration",
			arguments: []string{"--dynamic-config", `history.longPollExpirationInterval="1s"`, "--dynamic-config", "frontend.rps=5"},
			check: func(o temporal.Options) bool {
				return o.DynamicConfig["history.longPollExpirationInterval"] == "1s" && o.DynamicConfig["frontend.rps"] == 5
			},
		},
		{name: "dynamic configuration that is not JSON", arguments: []string{"--dynamic-config", "frontend.rps=few"}, wantError: "value of frontend.rps is not JSON"},
		{name: "a search attribute without type", arguments: []string{"--search-attribute", "Team"}, wantError: `"Team" is not name=type`},
		{name: "a search attribute of an unknown type", arguments: []string{"--search-attribute", "Team=Colour"}, wantError: `type "Colour" is not`},
		{name: "an unknown flag", arguments: []string{"--colour"}, wantError: "colour"},
		{name: "an argument", arguments: []string{"start"}, wantError: `unexpected argument "start"`},
		{name: "a wrong value", arguments: []string{"--retention", "1m"}, wantError: "retention 1m0s"},
		{
			name:        "a wrong value in the environment",
			environment: map[string]string{"OSTINATO_DEVSERVER_UI_PORT": "none"},
			wantError:   "environment variable OSTINATO_DEVSERVER_UI_PORT",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			lookup := func(name string) (string, bool) {
				value, set := test.environment[name]
				return value, set
			}
			var o temporal.Options
			cmd := newCommand(lookup, func(_ context.Context, given temporal.Options, _ io.Writer) error { o = given; return nil })
			cmd.SetArgs(slices.Concat([]string{}, test.arguments))
			err := cmd.Execute()
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Errorf("error = %v, want %q in it", err, test.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !test.check(o) {
				t.Errorf("options = %+v", o)
			}
		})
	}
}
