package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"sync"

	"go.temporal.io/server/common/config"
)

// database is one SQLite database.
type database struct {
	// name is the path of a file, or any name that is unique in the process when in memory.
	name        string
	inMemory    bool
	synchronous Synchronous
}

// dsn is the data source name of modernc.org/sqlite: a SQLite URI with pragmas for every connection.
func (d database) dsn() string {
	query := url.Values{}
	pragma := func(name, value string) { query.Add("_pragma", name+"("+value+")") }
	// The layout of times that the server's SQL compares.
	query.Set("_time_format", "sqlite")
	query.Set("cache", "private")
	pragma("temp_store", "memory")
	if d.inMemory {
		query.Set("mode", "memory")
		return "file:" + d.escapedName() + "?" + query.Encode()
	}
	query.Set("mode", "rwc")
	pragma("busy_timeout", "10000")
	pragma("journal_mode", "wal")
	pragma("synchronous", string(d.synchronous))
	pragma("cache_size", "-65536")
	// 16 MB of log between checkpoints instead of 4: pages that are written again and again are copied less often.
	pragma("wal_autocheckpoint", "4000")
	pragma("journal_size_limit", "67108864")
	return "file:" + d.escapedName() + "?" + query.Encode()
}

// escapedName makes a path safe inside a URI.
func (d database) escapedName() string { return (&url.URL{Path: d.name}).EscapedPath() }

// openDatabases are the databases of all servers of this process, by name. The server's services open a database
// several times each, by the name in the configuration, and all of them share one connection.
var openDatabases = struct {
	sync.Mutex
	byName map[string]*openDatabase
}{byName: map[string]*openDatabase{}}

// openDatabase is a connection and the configuration under which the server's plugin knows it.
type openDatabase struct {
	db   *sql.DB
	seat *config.SQL
}

// connect returns a connection to d, which begins with its first use. A file that is missing is made then.
func (d database) connect() (*sql.DB, error) {
	driver, err := sqliteDriver()
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(cachingConnector{driver: driver, database: d})
	// SQLite has one writer at a time, and what a second connection could read meanwhile is in the server's caches. With
	// one there is nothing to wait for but one another, in order. In memory it is the database.
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	return db, nil
}

// open connects to d, makes it known to the plugin by its name and creates its schema when it has none.
func (d database) open(ctx context.Context, schema func(context.Context, *sql.DB) error) error {
	db, err := d.connect()
	if err != nil {
		return err
	}
	if err := schema(ctx, db); err != nil {
		_ = db.Close()
		return fmt.Errorf("database %s: %w", d.name, err)
	}
	openDatabases.Lock()
	defer openDatabases.Unlock()
	openDatabases.byName[d.name] = &openDatabase{db: db, seat: newSeat()}
	return nil
}

// close ends the connection, which moves the write-ahead log of a file into it and forgets a database in memory. Closing
// what is not open does nothing.
func (d database) close() error {
	openDatabases.Lock()
	opened, isOpen := openDatabases.byName[d.name]
	delete(openDatabases.byName, d.name)
	openDatabases.Unlock()
	if !isOpen {
		return nil
	}
	if err := opened.db.Close(); err != nil {
		return fmt.Errorf("close database %s: %w", d.name, err)
	}
	return nil
}

// findDatabase returns the open database of that name.
func findDatabase(name string) (*openDatabase, error) {
	openDatabases.Lock()
	defer openDatabases.Unlock()
	opened, isOpen := openDatabases.byName[name]
	if !isOpen {
		return nil, fmt.Errorf("database %s is not open", name)
	}
	return opened, nil
}

// sqlConfig refers to an open database. The server insists on the address and protocol, which mean nothing here.
func sqlConfig(d database) *config.SQL {
	return &config.SQL{PluginName: pluginName, DatabaseName: d.name, ConnectAddr: "local", ConnectProtocol: "file"}
}
