package main

import (
	"bytes"
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	width  = 26 * vg.Centimeter
	height = 8 * vg.Centimeter
	margin = 4 * vg.Millimeter
	// beside is room for the legend, with a font that is wider than ours.
	beside = 9 * vg.Centimeter
)

// colours can be told apart by people who see fewer of them (Okabe and Ito).
var colours = []color.RGBA{
	{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
	{R: 0x00, G: 0x72, B: 0xb2, A: 0xff},
	{R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
	{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff},
	{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
}

func init() {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
}

// draw writes the SVG.
func (f figure) draw(out io.Writer) error {
	canvas := vgsvg.New(width, height*vg.Length(len(f.Panels)))
	whole := draw.New(canvas)
	tiles := draw.Tiles{Rows: len(f.Panels), Cols: 1, PadX: margin, PadY: margin, PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: margin}
	for i, p := range f.Panels {
		one, legend, err := p.plot()
		if err != nil {
			return fmt.Errorf("draw %q: %w", p.Title, err)
		}
		tile := tiles.At(whole, 0, i)
		one.Draw(draw.Crop(tile, 0, -beside, 0, 0))
		legend.Draw(draw.Crop(tile, width-2*margin-beside+margin, 0, 0, -2*margin))
	}
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return fmt.Errorf("write SVG: %w", err)
	}
	// Where the font is not installed, one without serifs at least.
	text := bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,sans-serif;"))
	_, err := out.Write(text)
	return err
}

// plot returns the diagram, and its legend, which is to stand where it hides no curve.
func (p panel) plot() (*plot.Plot, plot.Legend, error) {
	one, legend := plot.New(), plot.NewLegend()
	one.Title.Text, one.X.Label.Text, one.Y.Label.Text = p.Title, p.X, p.Y
	one.Title.Padding = margin
	one.X.Min, one.Y.Min = 0, 0
	legend.Top, legend.Left = true, true
	legend.ThumbnailWidth, legend.Padding = vg.Centimeter, vg.Millimeter
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{Y: 0xdd}, color.Gray{Y: 0xdd}
	one.Add(grid)
	for _, c := range p.Curves {
		points := make(plotter.XYs, len(c.Points))
		for i, point := range c.Points {
			points[i].X, points[i].Y = point[0], point[1]
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, legend, fmt.Errorf("curve %q: %w", c.Name, err)
		}
		// What was reached stays until the next point.
		line.StepStyle = plotter.PostStep
		line.Color, line.Width = colours[c.Colour%len(colours)], vg.Points(1.5)
		if c.Dashed {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		one.Add(line)
		legend.Add(c.Name, line)
	}
	return one, legend, nil
}
