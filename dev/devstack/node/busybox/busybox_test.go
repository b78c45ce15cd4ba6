package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestShell(t *testing.T) {
	now = func() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC) }
	t.Cleanup(func() { now = time.Now })
	t.Setenv("GREETING", "good day")
	for name, test := range map[string]struct {
		script string
		out    string
		err    string
		code   int
	}{
		"the sample of the Kubernetes documentation": {
			script: "date; echo Hello from the Kubernetes cluster",
			out:    "Tue Feb  3 04:05:06 UTC 2026\nHello from the Kubernetes cluster\n",
		},
		"the sample of the pod failure policy": {
			script: `echo "Hello world!" && sleep 0 && exit 42`, out: "Hello world!\n", code: 42,
		},
		"or runs after a failure":                {script: "false || echo $?", out: "1\n"},
		"or does not run after a success":        {script: "true || echo no"},
		"and does not run after a failure":       {script: "false && echo no", code: 1},
		"the last command's code is the code":    {script: "true; false", code: 1},
		"exit without a code keeps the last one": {script: "false; exit", code: 1},
		"exit ends the list":                     {script: "exit 3; echo no", code: 3},
		"lines are commands":                     {script: "echo a\n\n# a comment\necho b # another\n", out: "a\nb\n"},
		"a line may end with and":                {script: "true &&\n echo a", out: "a\n"},
		"single quotes keep everything":          {script: `echo 'a;  $GREETING'`, out: "a;  $GREETING\n"},
		"double quotes keep all but variables":   {script: `echo "a;  $GREETING ${GREETING}"`, out: "a;  good day good day\n"},
		"a backslash keeps the next character":   {script: `echo \$GREETING a\;b`, out: "$GREETING a;b\n"},
		"variables can be set":                   {script: `NAME=x; echo $NAME$NAME`, out: "xx\n"},
		"an empty variable is no word":           {script: `echo a $NOTHING b "$NOTHING"`, out: "a b \n"},
		"a dollar alone is itself":               {script: `echo 5 $ a$`, out: "5 $ a$\n"},
		"echo without newline":                   {script: `echo -n a; echo b`, out: "ab\n"},
		"applets by their path":                  {script: "/bin/echo a", out: "a\n"},
		"a shell in a shell":                     {script: `sh -c "echo a; exit 4"; echo $?`, out: "a\n4\n"},
		"a program that is not there":            {script: "no-such-program", err: "sh: no-such-program: not found\n", code: 127},
		"date in a format":                       {script: "date -u +%FT%TZ; date +%s%%", out: "2026-02-03T04:05:06Z\n1770091506%\n"},
		"a format it does not know":              {script: "date +%j", err: "date: unsupported conversion %j\n", code: 1},
		"a pipe joins commands":                  {script: "echo a | cat", out: "a\n"},
		"loops repeat":                           {script: "for n in 1 2; do echo $n; done; while false; do echo no; done", out: "1\n2\n"},
		"conditions choose":                      {script: "if test -n \"$GREETING\"; then echo a; else echo b; fi", out: "a\n"},
		"a command's output is a word":           {script: "echo $(date -u +%Y)", out: "2026\n"},
		"the background is waited for":           {script: "sleep 0 & wait; echo a", out: "a\n"},
		"an applet inherits what is exported":    {script: "A=1; export B=2; env | while read l; do case $l in [AB]=*) echo $l;; esac; done", out: "B=2\n"},
		"an applet gets what stands before it":   {script: "A=1; C=3 env | while read l; do case $l in [AC]=*) echo $l;; esac; done", out: "C=3\n"},
		"an applet is where the shell is":        {script: "cd /proc/self && cat comm > /dev/null && echo a", out: "a\n"},
		"quoted keywords are words":              {script: "'echo' if", out: "if\n"},
		"an unterminated quote is an error":      {script: "echo 'a", err: "sh:1:6: reached EOF without closing quote", code: 2},
		"a missing command is an error":          {script: "true &&", err: "sh:1:6: `&&` must be followed by a statement", code: 2},
		"two semicolons are an error":            {script: "true ;; true", err: "sh:1:6: `;;` can only be used in a case clause", code: 2},
		"a missing file name is an error":        {script: "echo a >", err: "sh:1:8: `>` must be followed by a word", code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			var out, err bytes.Buffer
			code := run([]string{"sh", "-c", test.script}, streams{in: strings.NewReader(""), out: &out, err: &err, environment: os.Environ()})
			if code != test.code || out.String() != test.out {
				t.Errorf("got %q and exit code %d, want %q and %d", out.String(), code, test.out, test.code)
			}
			if !strings.HasPrefix(err.String(), test.err) || (test.err == "" && err.Len() > 0) {
				t.Errorf("complained %q, want %q", err.String(), test.err)
			}
		})
	}
}

func TestShellEndsAtAFailureWhereToldTo(t *testing.T) {
	var out bytes.Buffer
	s := streams{in: strings.NewReader(""), out: &out, err: &out}
	if code := run([]string{"sh", "-ec", "false || echo a; false; echo no"}, s); code != 1 || out.String() != "a\n" {
		t.Errorf("got %q and exit code %d", out.String(), code)
	}
}

func TestShellReadsItsScriptFromStandardInput(t *testing.T) {
	var out bytes.Buffer
	s := streams{in: strings.NewReader("echo a\necho b"), out: &out, err: &out}
	if code := run([]string{"sh"}, s); code != 0 || out.String() != "a\nb\n" {
		t.Errorf("got %q and exit code %d", out.String(), code)
	}
}

func TestShellRunsAFileWithItsParameters(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho $1 $#; exit 4"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string][]string{"a file": {"sh", script, "a", "b"}, "-c": {"sh", "-c", "echo $1 $#; exit 4", script, "a", "b"}} {
		var out bytes.Buffer
		if code := run(arguments, streams{in: strings.NewReader(""), out: &out, err: &out}); code != 4 || out.String() != "a 2\n" {
			t.Errorf("%s: got %q and exit code %d", name, out.String(), code)
		}
	}
}

func TestWhatTheShellCannotBeginWithIsExitCode2(t *testing.T) {
	for want, arguments := range map[string][]string{
		"sh: -c needs an argument": {"sh", "-c"},
		"sh: invalid option":       {"sh", "-Zc", "true"},
		"sh: open /no/such/file":   {"sh", "/no/such/file"},
	} {
		var err bytes.Buffer
		if code := run(arguments, streams{in: strings.NewReader(""), err: &err}); code != 2 || !strings.HasPrefix(err.String(), want) {
			t.Errorf("%q: got %q and exit code %d", arguments, err.String(), code)
		}
	}
}

func TestRedirections(t *testing.T) {
	file := filepath.Join(t.TempDir(), "message")
	t.Setenv("FILE", file)
	var out bytes.Buffer
	s := streams{in: strings.NewReader(""), out: &out, err: &out, environment: os.Environ()}
	if code := run([]string{"sh", "-c", `echo a > "$FILE"; echo b >> $FILE; cat $FILE`}, s); code != 0 || out.String() != "a\nb\n" {
		t.Errorf("got %q and exit code %d", out.String(), code)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "a\nb\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"3": 3 * time.Second, "0.5": 500 * time.Millisecond, "2m": 2 * time.Minute, "1h 1": time.Hour + time.Second,
		"infinity": math.MaxInt64, "1000000d": math.MaxInt64,
	} {
		if got, err := duration(strings.Fields(text)); err != nil || got != want {
			t.Errorf("sleep %s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "1 y", "NaN"} {
		if got, err := duration(strings.Fields(text)); err == nil {
			t.Errorf("sleep %s: got %v, want an error", text, got)
		}
	}
}
