//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/dev/devstack/node/initspec"
)

// step writes "ran" into a file beside its program, which need not be there yet.
func step(program string) initspec.Step {
	folder := filepath.Dir(program)
	return initspec.Step{
		Name: "late", Path: program, Args: []string{filepath.Join(folder, "ran")}, Log: filepath.Join(folder, "log"), Awaits: []string{program},
	}
}

func put(t *testing.T, program string) {
	t.Helper()
	unfinished := program + ".unfinished"
	if err := os.WriteFile(unfinished, []byte("#!/bin/sh\necho ran >\"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(unfinished, program); err != nil {
		t.Fatal(err)
	}
}

func TestAStepBeginsWhenItsProgramIsThere(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	ended := make(chan error, 1)
	s := newSupervisor()
	go func() { ended <- s.run(step(program), nil) }()
	select {
	case err := <-ended:
		t.Fatalf("without its program the step ended: %v", err)
	case <-time.After(2 * programInterval):
	}
	put(t, program)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(program), "ran")); err != nil || string(text) != "ran\n" {
		t.Errorf("the program wrote %q, %v", text, err)
	}
}

// Go's programs take the first variable of a name, others the last.
func TestAStepsVariablesTakeThePlaceOfOthers(t *testing.T) {
	t.Setenv("OSTINATO_TEST", "the node's")
	t.Setenv("OSTINATO_TEST_OTHER", "the node's")
	var got []string
	for _, variable := range environment(initspec.Step{Env: []string{"OSTINATO_TEST=the step's"}}) {
		if strings.HasPrefix(variable, "OSTINATO_TEST") {
			got = append(got, variable)
		}
	}
	if want := []string{"OSTINATO_TEST_OTHER=the node's", "OSTINATO_TEST=the step's"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheWaitForAProgramEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(*supervisor, chan os.Signal)
		want string
	}{
		"with a request to stop":     {func(_ *supervisor, stop chan os.Signal) { stop <- os.Interrupt }, "stopped"},
		"with the end of the others": {func(s *supervisor, _ chan os.Signal) { s.daemonEnded <- "the kubelet" }, "the kubelet ended"},
	} {
		t.Run(name, func(t *testing.T) {
			stop := make(chan os.Signal, 1)
			s := newSupervisor()
			test.end(s, stop)
			err := s.run(step(filepath.Join(t.TempDir(), "program")), stop)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
