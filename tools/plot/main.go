// Command plot reads panels of curves as JSON from stdin and writes an SVG of them to stdout. It is a program of its own,
// and so a module, for gonum.org/v1/plot to stay out of the product's go.mod.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// figure is what is drawn: panels, one below the other.
type figure struct {
	Panels []panel `json:"panels"`
}

// panel is one diagram.
type panel struct {
	Title  string  `json:"title"`
	X      string  `json:"x"`
	Y      string  `json:"y"`
	Curves []curve `json:"curves"`
}

// curve is a line through points. Curves of the same Colour, which counts from 0, belong together.
type curve struct {
	Name   string       `json:"name"`
	Colour int          `json:"colour"`
	Dashed bool         `json:"dashed"`
	Points [][2]float64 `json:"points"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	var f figure
	if err := decoder.Decode(&f); err != nil {
		return fmt.Errorf("read the curves: %w", err)
	}
	if len(f.Panels) == 0 {
		return errors.New("there is nothing to draw: no panels")
	}
	var svg bytes.Buffer
	if err := f.draw(&svg); err != nil {
		return err
	}
	_, err := out.Write(svg.Bytes())
	return err
}
