package temporalserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	serverpersistence "go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute/sadefs"
	"go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/store"
)

// EnsureNamespace registers the namespace of o, or brings a registered one's retention, search attributes and data in line.
// It works on the database directly, before a server starts: so the namespace is known to every service from its
// first moment, without the wait for caches that registration through the frontend needs.
func EnsureNamespace(ctx context.Context, d store.Databases, o Options) error {
	o = o.withDefaults()
	c := d.Executions
	db, err := persistencesql.NewSQLDB(sqlplugin.DbKindMain, c, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return fmt.Errorf("open database %s: %w", c.DatabaseName, err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.SelectFromNamespace(ctx, sqlplugin.NamespaceFilter{Name: &o.Namespace})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = insertNamespace(ctx, db, o, d.Lost)
	case err == nil:
		err = updateNamespace(ctx, db, rows[0], o, d.Lost)
	}
	if err != nil {
		return fmt.Errorf("register namespace %q: %w", o.Namespace, err)
	}
	return nil
}

func insertNamespace(ctx context.Context, db sqlplugin.DB, o Options, lost string) error {
	namespace, err := sqlite.NewNamespaceConfig(clusterName, o.Namespace, false, nil)
	if err != nil {
		return err
	}
	if _, err := reconcileNamespace(namespace.Detail, o, lost); err != nil {
		return err
	}
	row, err := namespaceRow(namespace.Detail)
	if err != nil {
		return err
	}
	_, err = db.InsertIntoNamespace(ctx, row)
	return err
}

func updateNamespace(ctx context.Context, db sqlplugin.DB, row sqlplugin.NamespaceRow, o Options, lost string) error {
	detail, err := serialization.NewSerializer().NamespaceDetailFromBlob(serverpersistence.NewDataBlob(row.Data, row.DataEncoding))
	if err != nil {
		return err
	}
	changed, err := reconcileNamespace(detail, o, lost)
	if err != nil || !changed {
		return err
	}
	detail.ConfigVersion++
	updated, err := namespaceRow(detail)
	if err != nil {
		return err
	}
	updated.IsGlobal = row.IsGlobal
	updated.NotificationVersion = row.NotificationVersion
	_, err = db.UpdateNamespace(ctx, updated)
	return err
}

// reconcileNamespace sets the retention of o and what was lost, and gives each search attribute that the namespace lacks the first free
// column of its type, names in alphabetical order. It reports whether anything changed.
func reconcileNamespace(detail *persistence.NamespaceDetail, o Options, lost string) (changed bool, err error) {
	if detail.Info.Data[names.TemporalLostData] != lost {
		detail.Info.Data = map[string]string{names.TemporalLostData: lost}
		changed = true
	}
	if detail.Config.Retention.AsDuration() != o.Retention {
		detail.Config.Retention = durationpb.New(o.Retention)
		changed = true
	}
	if detail.Config.CustomSearchAttributeAliases == nil {
		detail.Config.CustomSearchAttributeAliases = map[string]string{}
	}
	aliases := detail.Config.CustomSearchAttributeAliases
	columns := sadefs.GetDBIndexSearchAttributes(nil).CustomSearchAttributes
	for _, name := range slices.Sorted(maps.Keys(o.SearchAttributes)) {
		kind := o.SearchAttributes[name]
		if column, registered := columnOf(aliases, name); registered {
			if columns[column] != kind {
				return false, fmt.Errorf("search attribute %q is registered as %s, not %s", name, columns[column], kind)
			}
			continue
		}
		column, found := freeColumn(columns, aliases, kind)
		if !found {
			return false, fmt.Errorf("no column of type %s is left for search attribute %q", kind, name)
		}
		aliases[column] = name
		changed = true
	}
	return changed, nil
}

// columnOf finds the column that carries the search attribute called name.
func columnOf(aliases map[string]string, name string) (column string, found bool) {
	for column, alias := range aliases {
		if alias == name {
			return column, true
		}
	}
	return "", false
}

func freeColumn(columns map[string]enums.IndexedValueType, aliases map[string]string, kind enums.IndexedValueType) (column string, found bool) {
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		if _, used := aliases[column]; !used && columns[column] == kind {
			return column, true
		}
	}
	return "", false
}

func namespaceRow(detail *persistence.NamespaceDetail) (*sqlplugin.NamespaceRow, error) {
	id, err := primitives.ParseUUID(detail.Info.Id)
	if err != nil {
		return nil, err
	}
	blob, err := serialization.NewSerializer().NamespaceDetailToBlob(detail)
	if err != nil {
		return nil, err
	}
	return &sqlplugin.NamespaceRow{ID: id, Name: detail.Info.Name, Data: blob.Data, DataEncoding: blob.EncodingType.String()}, nil
}
