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
		"pipes are refused":                      {script: "echo a | cat", err: "sh: '|' is not supported", code: 2},
		"loops are refused":                      {script: "while true; do date; done", err: "sh: while is not supported", code: 2},
		"conditions are refused":                 {script: "if true; then date; fi", err: "sh: if is not supported", code: 2},
		"command substitution is refused":        {script: "echo $(date)", err: `sh: "$(" is not supported`, code: 2},
		"background is refused":                  {script: "sleep 1 & date", err: "sh: '&' is not supported", code: 2},
		"quoted keywords are words":              {script: "'echo' if", out: "if\n"},
		"an unterminated quote is an error":      {script: "echo 'a", err: "sh: syntax error: unterminated", code: 2},
		"a missing command is an error":          {script: "true &&", err: "sh: syntax error: a command is missing", code: 2},
		"two semicolons are an error":            {script: "true ;; true", err: "sh: syntax error: a command is missing", code: 2},
		"a missing file name is an error":        {script: "echo a >", err: "sh: syntax error: a file name is missing", code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			var out, err bytes.Buffer
			code := run([]string{"sh", "-c", test.script}, streams{in: strings.NewReader(""), out: &out, err: &err})
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

func TestRedirections(t *testing.T) {
	file := filepath.Join(t.TempDir(), "message")
	t.Setenv("FILE", file)
	var out bytes.Buffer
	s := streams{in: strings.NewReader(""), out: &out, err: &out}
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

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"date; echo Hello", `echo "$A" && exit 1`, "a>b", "'", "$", "${a}", "\\", "\n#x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		commands, err := parse(script)
		if err != nil {
			return
		}
		for _, c := range commands {
			if len(c.words) == 0 && len(c.redirections) == 0 {
				t.Errorf("%q holds an empty command", script)
			}
		}
	})
}
