package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
)

const (
	// A server has a pool of connections for each database.
	executionConnections, visibilityConnections = 20, 8
	connectionLife                              = time.Hour
	visibilitySuffix                            = "_visibility"
)

// address is a database, and the way to it.
type address struct{ url *url.URL }

// parse reads the URL of a database. No error has the URL in it, which may hold a password.
func parse(text string) (address, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		// url.Error's own text has the URL.
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return address{}, fmt.Errorf("it is no URL: %w", err)
	}
	password, _ := parsed.User.Password()
	name := strings.TrimPrefix(parsed.Path, "/")
	switch {
	case parsed.Scheme != "postgres" && parsed.Scheme != "postgresql":
		return address{}, errors.New("it does not begin with postgres://")
	case parsed.User.Username() == "":
		return address{}, errors.New("it names no user")
	case name == "" || strings.Contains(name, "/"):
		return address{}, errors.New("it names no database after the host")
	case strings.Contains(password, " "):
		return address{}, errors.New("its password has a space, which the Temporal server can't send")
	}
	values := parsed.Query()
	for key, given := range values {
		if len(given) > 1 {
			return address{}, fmt.Errorf("it has %s twice", key)
		}
	}
	// What PostgreSQL's own programs do; the Temporal server would not try TLS.
	if !values.Has("sslmode") {
		values.Set("sslmode", "prefer")
		parsed.RawQuery = values.Encode()
	}
	return address{parsed}, nil
}

func (a address) database() string { return strings.TrimPrefix(a.url.Path, "/") }

// at is another database of the same server.
func (a address) at(database string) address {
	other := *a.url
	other.Path, other.RawPath = "/"+database, ""
	return address{&other}
}

func (a address) visibility() address { return a.at(a.database() + visibilitySuffix) }

// config is how the Temporal server reaches the database.
func (a address) config(connections int) *config.SQL {
	password, _ := a.url.User.Password()
	attributes := map[string]string{}
	for key, given := range a.url.Query() {
		attributes[key] = given[0]
	}
	return &config.SQL{
		PluginName: postgresql.PluginNamePGX, DatabaseName: a.database(), ConnectAddr: a.url.Host, ConnectProtocol: "tcp",
		// The server puts the user into a URL as it is, and escapes the password.
		User: url.User(a.url.User.Username()).String(), Password: password, ConnectAttributes: attributes,
		MaxConns: connections, MaxIdleConns: connections, MaxConnLifetime: connectionLife,
	}
}
