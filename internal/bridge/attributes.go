package bridge

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
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/protocol"
)

// searchAttributes are those that Ostinato sets, with their types.
var searchAttributes = map[string]enumspb.IndexedValueType{
	protocol.NamespaceAttribute:     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.CronJobNameAttribute:   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.JobNameAttribute:       enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	protocol.ScheduledTimeAttribute: enumspb.INDEXED_VALUE_TYPE_DATETIME,
}

// HaveSearchAttributes asks Temporal whether the namespace has the search
// attributes that Ostinato sets. Where some are missing it logs the command that
// adds them. Where Temporal won't say, it says so in the log and returns false.
func HaveSearchAttributes(ctx context.Context, sdk client.Client, namespace string, logger *slog.Logger) bool {
	response, err := sdk.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		logger.Warn("Temporal did not list its search attributes, so none are set; with --search-attributes=on they are taken as existing",
			"error", err)
		return false
	}
	command, ok := missingAttributes(response.GetCustomAttributes(), namespace)
	if !ok {
		logger.Warn("search attributes are missing, so none are set on workflows; add them and restart the bridge", "command", command)
	}
	return ok
}

// missingAttributes returns the command that adds the missing search attributes,
// or ok when there are none. An attribute of another type counts as missing: the
// command then says so by failing.
func missingAttributes(have map[string]enumspb.IndexedValueType, namespace string) (command string, ok bool) {
	var missing strings.Builder
	for _, name := range slices.Sorted(maps.Keys(searchAttributes)) {
		if have[name] != searchAttributes[name] {
			fmt.Fprintf(&missing, " --name %s --type %s", name, searchAttributes[name])
		}
	}
	if missing.Len() == 0 {
		return "", true
	}
	return "temporal operator search-attribute create --namespace " + namespace + missing.String(), false
}

// attributes returns the search attributes of an object's workflow; empty names
// are left out.
func attributes(namespace, cronJob, job string) temporal.SearchAttributes {
	var updates []temporal.SearchAttributeUpdate
	for _, attribute := range []struct{ name, value string }{
		{protocol.NamespaceAttribute, namespace},
		{protocol.CronJobNameAttribute, cronJob},
		{protocol.JobNameAttribute, job},
	} {
		if attribute.value != "" {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(attribute.name).ValueSet(attribute.value))
		}
	}
	return temporal.NewSearchAttributes(updates...)
}
