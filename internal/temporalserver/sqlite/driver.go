package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	// The server's plugin registers the driver that is wrapped here.
	serversqlite "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
)

// maximumStatements is how many prepared statements a connection keeps. The server has about a hundred in use; listings
// make more, one for each shape of query.
const maximumStatements = 256

// sqliteDriver is the database/sql driver that the server's SQLite plugin uses.
func sqliteDriver() (driver.Driver, error) {
	db, err := sql.Open(serversqlite.PluginName, "")
	if err != nil {
		return nil, fmt.Errorf("find the SQLite driver: %w", err)
	}
	defer func() { _ = db.Close() }()
	return db.Driver(), nil
}

// cachingConnector opens connections that keep their prepared statements. The server prepares nothing itself, and
// parsing its statements anew each time costs half of what SQLite does for it.
type cachingConnector struct {
	driver   driver.Driver
	database database
}

func (c cachingConnector) Driver() driver.Driver { return c.driver }

func (c cachingConnector) Connect(context.Context) (driver.Conn, error) {
	connection, err := c.driver.Open(c.database.dsn())
	if err != nil {
		return nil, inWords(err, c.database.name)
	}
	return &cachingConn{Conn: connection, database: c.database.name, statements: map[string]*cachedStatement{}}, nil
}

// cachingConn is a connection with its statements by their text. database/sql uses it from one goroutine at a time.
//
// A statement once begun is finished even when its context ends: each takes well under a millisecond, whereas watching
// the context takes a goroutine for each.
type cachingConn struct {
	driver.Conn
	// database is its name, for errors.
	database   string
	statements map[string]*cachedStatement
}

// cachedStatement is in use while rows are read from it.
type cachedStatement struct {
	prepared
	inUse bool
}

// prepared is what the driver's statements can do.
type prepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// BeginTx starts a transaction. SQLite has one isolation level.
func (c *cachingConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	beginner, ok := c.Conn.(driver.ConnBeginTx)
	if !ok {
		return nil, errors.New("the SQLite driver does not begin transactions")
	}
	tx, err := beginner.BeginTx(context.WithoutCancel(ctx), options)
	if err != nil {
		return nil, inWords(err, c.database)
	}
	return transaction{tx, c.database}, nil
}

// transaction says in words what went wrong with its end.
type transaction struct {
	driver.Tx
	database string
}

func (t transaction) Commit() error { return inWords(t.Tx.Commit(), t.database) }

// ExecContext executes one statement.
func (c *cachingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	statement, release, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := statement.ExecContext(context.WithoutCancel(ctx), args)
	if releaseErr := release(); err == nil {
		err = releaseErr
	}
	return result, inWords(err, c.database)
}

// QueryContext executes one statement that returns rows.
func (c *cachingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	statement, release, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := statement.QueryContext(context.WithoutCancel(ctx), args)
	if err != nil {
		_ = release()
		return nil, inWords(err, c.database)
	}
	return &cachedRows{Rows: rows, release: release}, nil
}

// statement returns the statement of query, prepared now or before, and what to call when it is no longer used.
func (c *cachingConn) statement(ctx context.Context, query string) (_ prepared, release func() error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	known, found := c.statements[query]
	if found && !known.inUse {
		known.inUse = true
		return known.prepared, known.release, nil
	}
	statement, err := c.prepare(query)
	if err != nil {
		return nil, nil, err
	}
	if found {
		// Rows of the same query are still being read.
		return statement, statement.Close, nil
	}
	if len(c.statements) >= maximumStatements {
		c.forgetOne()
	}
	known = &cachedStatement{prepared: statement, inUse: true}
	c.statements[query] = known
	return statement, known.release, nil
}

func (c *cachingConn) prepare(query string) (prepared, error) {
	statement, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	usable, ok := statement.(prepared)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the SQLite driver's statement %T takes no context", statement), statement.Close())
	}
	return usable, nil
}

// forgetOne closes any statement that is not in use.
func (c *cachingConn) forgetOne() {
	for query, statement := range c.statements {
		if !statement.inUse {
			_ = statement.Close()
			delete(c.statements, query)
			return
		}
	}
}

// Close closes the statements and the connection.
func (c *cachingConn) Close() error {
	var problems []error
	for _, statement := range c.statements {
		problems = append(problems, statement.Close())
	}
	c.statements = nil
	return errors.Join(append(problems, c.Conn.Close())...)
}

func (s *cachedStatement) release() error {
	s.inUse = false
	return nil
}

// cachedRows gives its statement back when closed.
type cachedRows struct {
	driver.Rows
	release func() error
}

func (r *cachedRows) Close() error {
	err := r.Rows.Close()
	if releaseErr := r.release(); err == nil {
		err = releaseErr
	}
	return err
}
