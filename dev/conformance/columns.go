package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// columns are the runs that the documentation shows; nil is one that never was.
type columns struct {
	builtin, ostinato *Run
}

// columnFile is where a controller's run is kept.
func columnFile(docs string, controller Controller) string {
	return filepath.Join(docs, "conformance", string(controller)+".json")
}

// loadColumns reads the runs that are kept.
func loadColumns(docs string) (columns, error) {
	var c columns
	for controller, column := range map[Controller]**Run{Builtin: &c.builtin, Ostinato: &c.ostinato} {
		path := columnFile(docs, controller)
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return columns{}, fmt.Errorf("read the kept run: %w", err)
		}
		if *column, err = parseRun(data, controller); err != nil {
			return columns{}, fmt.Errorf("read the kept run %s: %w", filepath.Base(path), err)
		}
	}
	return c, nil
}

// parseRun reads a run and refuses one that would make a table of nonsense.
func parseRun(data []byte, controller Controller) (*Run, error) {
	var run Run
	if err := json.Unmarshal(data, &run); err != nil {
		return nil, err
	}
	if run.Controller != controller {
		return nil, fmt.Errorf("it is a run of controller %q, not %q", run.Controller, controller)
	}
	for i, spec := range run.Specs {
		switch spec.Outcome {
		case Passed, Failed, NotApplicable:
		default:
			return nil, fmt.Errorf("spec %d (%s) has the unknown outcome %q", i+1, spec.Name, spec.Outcome)
		}
		if spec.Name == "" {
			return nil, fmt.Errorf("spec %d has no name", i+1)
		}
	}
	return &run, nil
}

// with returns the columns with the run in its controller's place.
func (c columns) with(run Run) columns {
	if run.Controller == Builtin {
		c.builtin = &run
	} else {
		c.ostinato = &run
	}
	return c
}

// keep puts the run in its controller's place and renders the documentation of both. The other run stays.
func keep(docs string, run Run) error {
	kept, err := loadColumns(docs)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the run: %w", err)
	}
	path := columnFile(docs, run.Controller)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("keep the run: %w", err)
	}
	for path, content := range map[string][]byte{
		path:                                  append(data, '\n'),
		filepath.Join(docs, "conformance.md"): []byte(render(kept.with(run))),
	} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("keep the run: %w", err)
		}
	}
	return nil
}
