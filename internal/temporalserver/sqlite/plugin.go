package sqlite

import (
	"database/sql"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	serversqlite "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/resolver"
)

// pluginName is the server's SQLite plugin on connections of our own.
const pluginName = "ostinato-sqlite"

func init() {
	converter, err := persistencesql.GetPluginVisibilityQueryConverter(serversqlite.PluginName)
	if err != nil {
		panic(err)
	}
	persistencesql.RegisterPlugin(pluginName, &plugin{converter: converter})
}

// plugin serves databases that are open (see database.open) through the tables code of the server's SQLite plugin. That
// plugin opens its connections itself and never closes them; here it opens one to an empty database in memory, its seat,
// which is then exchanged for ours.
type plugin struct {
	converter sqlplugin.VisibilityQueryConverter

	// mutex is held while a connection is exchanged.
	mutex sync.Mutex
}

// GetVisibilityQueryConverter returns SQLite's.
func (p *plugin) GetVisibilityQueryConverter() sqlplugin.VisibilityQueryConverter { return p.converter }

// CreateDB returns the tables of the open database called c.DatabaseName.
func (p *plugin) CreateDB(kind sqlplugin.DbKind, c *config.SQL, r resolver.ServiceResolver, logger log.Logger, handler metrics.Handler) (sqlplugin.GenericDB, error) {
	opened, err := findDatabase(c.DatabaseName)
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	tables, err := persistencesql.NewSQLDB(kind, opened.seat, r, logger, handler)
	if err != nil {
		return nil, err
	}
	if err := exchangeConnection(tables, opened.db); err != nil {
		return nil, err
	}
	administration, ok := tables.(sqlplugin.AdminDB)
	if !ok {
		return nil, fmt.Errorf("SQLite plugin's %T has no administration", tables)
	}
	if kind == sqlplugin.DbKindVisibility {
		tables = &groupedVisibility{DB: tables, delay: visibilityDelay}
	}
	return pluginDB{DB: tables, AdminCRUD: administration, version: administration, name: c.DatabaseName}, nil
}

// seats counts the seats of this process; the server's plugin keeps connections by name and for ever.
var seats atomic.Int64

// newSeat is a configuration that makes the server's plugin open an empty database in memory.
func newSeat() *config.SQL {
	return &config.SQL{
		PluginName:        serversqlite.PluginName,
		DatabaseName:      fmt.Sprintf("/ostinato-%d", seats.Add(1)),
		ConnectAttributes: map[string]string{"vfs": "memdb"},
	}
}

// exchangeConnection makes tables, a database of the server's SQLite plugin, use db. The plugin has no way to be given a
// connection: its field is read by reflection, and the connection in it replaced.
func exchangeConnection(tables any, db *sql.DB) error {
	value := reflect.ValueOf(tables)
	if value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("SQLite plugin's %T is not a pointer to a struct", tables)
	}
	field := value.Elem().FieldByName("db")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*sqlx.DB]() {
		return fmt.Errorf("SQLite plugin's %T has no connection in its field db", tables)
	}
	connection := (*sqlx.DB)(field.UnsafePointer())
	if connection.DB == db {
		return nil
	}
	previous := connection.DB
	connection.DB = db
	return previous.Close()
}

// pluginDB is what the server asks of a database: its tables, and the administration that checks their version.
type pluginDB struct {
	sqlplugin.DB
	sqlplugin.AdminCRUD
	version sqlplugin.AdminDB
	name    string
}

// DbName is the name in the configuration.
func (d pluginDB) DbName() string { return d.name }

// ExpectedVersion is the schema version that the server wants.
func (d pluginDB) ExpectedVersion() string { return d.version.ExpectedVersion() }

// VerifyVersion fails when the schema is not of the expected version.
func (d pluginDB) VerifyVersion() error { return d.version.VerifyVersion() }
