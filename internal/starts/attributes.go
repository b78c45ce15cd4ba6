package starts

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/internal/protocol"
)

// SearchAttributes says which search attributes the Temporal namespace has: those that are set when a workflow starts, and
// those that a CronJob's workflow sets with its status.
type SearchAttributes struct{ AtStart, WithStatus bool }

// startAttributes and statusAttributes are those that Ostinato sets, with their types.
var startAttributes = map[string]enumspb.IndexedValueType{
	protocol.NamespaceAttribute:     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.CronJobNameAttribute:   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.JobNameAttribute:       enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.ScheduledTimeAttribute: enumspb.INDEXED_VALUE_TYPE_DATETIME,
}

var statusAttributes = map[string]enumspb.IndexedValueType{
	protocol.CronJobSuspendedAttribute:  enumspb.INDEXED_VALUE_TYPE_BOOL,
	protocol.CronJobLastResultAttribute: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.CronJobNextRunAttribute:    enumspb.INDEXED_VALUE_TYPE_DATETIME,
}

// HaveSearchAttributes asks Temporal which search attributes of Ostinato's the namespace has. Where some are missing it logs
// the command that adds them. Where Temporal won't say, it says so in the log and returns that it has none.
func HaveSearchAttributes(ctx context.Context, sdk client.Client, namespace string, logger *slog.Logger) SearchAttributes {
	response, err := sdk.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		logger.Warn("Temporal did not list its search attributes, so none are set on workflows; restart the process to ask again", "error", err)
		return SearchAttributes{}
	}
	found, command := judgeAttributes(response.GetCustomAttributes(), namespace)
	if command != "" {
		logger.Warn("search attributes are missing, so they are not set on workflows; add them and restart the process", "command", command)
	}
	return found
}

// judgeAttributes says which of the attributes there are, and returns the command that adds the missing ones; empty where none
// is. An attribute of another type counts as missing: the command then says so by failing.
func judgeAttributes(have map[string]enumspb.IndexedValueType, namespace string) (found SearchAttributes, command string) {
	names, status := missingAttributes(have, startAttributes), missingAttributes(have, statusAttributes)
	found = SearchAttributes{AtStart: names == "", WithStatus: status == ""}
	if names+status != "" {
		command = "temporal operator search-attribute create --namespace " + namespace + names + status
	}
	return found, command
}

// missingAttributes returns the flags that add those that are missing.
func missingAttributes(have, want map[string]enumspb.IndexedValueType) string {
	var missing strings.Builder
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] != want[name] {
			fmt.Fprintf(&missing, " --name %s --type %s", name, want[name])
		}
	}
	return missing.String()
}
