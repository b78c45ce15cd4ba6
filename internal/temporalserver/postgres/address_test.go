package postgres

import (
	"strings"
	"testing"
)

func TestAURLIsParsed(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://ada:s%40crt%2F@db.example:5432/temporal":       "",
		"postgresql://ada@db.example/temporal?sslmode=verify-full": "",
		"postgres://ada:secret@db.example/temporal?a=1&a=2":        "it has a twice",
		"postgres://ada:se cret@db.example/temporal":               "it is no URL",
		"postgres://ada:se%20cret@db.example/temporal":             "space",
		"postgres://ada:secret@db.example/":                        "it names no database",
		"postgres://ada:secret@db.example/a/b":                     "it names no database",
		"postgres://db.example/temporal":                           "it names no user",
		"mysql://ada:secret@db.example/temporal":                   "does not begin with postgres://",
		"postgres://ada:secret@db.example:port/temporal":           "it is no URL",
	} {
		_, err := parse(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "se cret")) {
			t.Errorf("the password is in the error: %v", err)
		}
	}
}

func TestTheServerReachesTheDatabaseOfTheURL(t *testing.T) {
	a, err := parse("postgres://ada%40home:s%40crt%2F@db.example:5432/temporal?sslrootcert=/ca.crt")
	if err != nil {
		t.Fatal(err)
	}
	c := a.visibility().config(8)
	if c.DatabaseName != "temporal_visibility" || c.ConnectAddr != "db.example:5432" || c.Password != "s@crt/" || c.MaxConns != 8 {
		t.Errorf("configuration %+v", c)
	}
	// The server makes a URL of them again.
	if c.User != "ada%40home" {
		t.Errorf("user %q", c.User)
	}
	if c.ConnectAttributes["sslmode"] != "prefer" || c.ConnectAttributes["sslrootcert"] != "/ca.crt" {
		t.Errorf("attributes %v", c.ConnectAttributes)
	}
	if other := a.at("postgres").url.String(); !strings.Contains(other, "@db.example:5432/postgres?") {
		t.Errorf("another database is at %s", other)
	}
}
