package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// source reads the comments of the code.
type source struct {
	root     string
	packages map[string]*declarations
}

// declarations are what one package declares.
type declarations struct {
	structs   map[string]*ast.StructType
	aliases   map[string]ast.Expr
	constants []constant
}

// constant is a constant and its comment.
type constant struct{ name, doc string }

// field is a field of a struct as JSON has it.
type field struct {
	// name is that of the Go field, json that of JSON.
	name, json string
	// kind is its type, in words.
	kind string
	// doc is the comment without markers, markers are the lines that begin with +.
	doc     string
	markers []string
}

func newSource(root string) *source { return &source{root, map[string]*declarations{}} }

// in reads a package's folder.
func (s *source) in(folder string) (*declarations, error) {
	if known := s.packages[folder]; known != nil {
		return known, nil
	}
	paths, err := filepath.Glob(filepath.Join(s.root, folder, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	found := &declarations{structs: map[string]*ast.StructType{}, aliases: map[string]ast.Expr{}}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", path, err)
		}
		found.add(file)
	}
	s.packages[folder] = found
	return found, nil
}

func (d *declarations) add(file *ast.File) {
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if fields, ok := spec.Type.(*ast.StructType); ok {
					d.structs[spec.Name.Name] = fields
				} else {
					d.aliases[spec.Name.Name] = spec.Type
				}
			case *ast.ValueSpec:
				if general.Tok != token.CONST {
					continue
				}
				doc := spec.Doc
				if doc == nil && len(general.Specs) == 1 {
					doc = general.Doc
				}
				for _, name := range spec.Names {
					d.constants = append(d.constants, constant{name.Name, oneLine(doc.Text())})
				}
			}
		}
	}
}

// fields returns the fields of a struct, given as folder.Type, those of embedded structs among them.
func (s *source) fields(folder, name string) ([]field, error) {
	all, err := s.in(folder)
	if err != nil {
		return nil, err
	}
	if aliased, ok := all.aliases[name]; ok {
		folder, name := target(folder, aliased)
		return s.fields(folder, name)
	}
	declared := all.structs[name]
	if declared == nil {
		return nil, fmt.Errorf("%s has no struct %s", folder, name)
	}
	var fields []field
	for _, one := range declared.Fields.List {
		var tag reflect.StructTag
		if one.Tag != nil {
			tag = reflect.StructTag(strings.Trim(one.Tag.Value, "`"))
		}
		json, _, _ := strings.Cut(tag.Get("json"), ",")
		switch {
		case len(one.Names) == 0 && json == "":
			in, embedded := target(folder, one.Type)
			inherited, err := s.fields(in, embedded)
			if err != nil {
				return nil, err
			}
			fields = append(fields, inherited...)
			continue
		case json == "-":
			continue
		}
		doc, markers := comment(one.Doc.Text())
		fields = append(fields, field{one.Names[0].Name, json, kindOf(one.Type), doc, markers})
	}
	return fields, nil
}

// target returns where a type that is named in a folder is declared.
func target(folder string, named ast.Expr) (in, name string) {
	switch named := named.(type) {
	case *ast.SelectorExpr:
		return "internal/" + named.X.(*ast.Ident).Name, named.Sel.Name
	case *ast.Ident:
		return folder, named.Name
	}
	return folder, ""
}

// kinds are the words for types; those that are not here are objects.
var kinds = map[string]string{
	"string": "string", "bool": "boolean", "int": "integer", "int32": "integer", "int64": "integer", "Time": "time",
	"ConcurrencyPolicy": "string", "CatchUpPolicy": "string", "TriggerRuns": "string", "Outcome": "string",
}

func kindOf(named ast.Expr) string {
	switch named := named.(type) {
	case *ast.StarExpr:
		return kindOf(named.X)
	case *ast.ArrayType:
		return "list of " + kindOf(named.Elt) + "s"
	case *ast.SelectorExpr:
		return kindOf(named.Sel)
	case *ast.Ident:
		if kind := kinds[named.Name]; kind != "" {
			return kind
		}
	}
	return "object"
}

// alternative begins a line that says what one value means.
var alternative = regexp.MustCompile(`^[A-Za-z]+(, [A-Za-z]+)*: `)

// comment splits a comment into what it says, one line for each value that it explains, and its markers.
func comment(text string) (doc string, markers []string) {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "+"):
			markers = append(markers, line)
		case strings.TrimSpace(line) == "":
		case len(lines) == 0 || alternative.MatchString(line):
			lines = append(lines, line)
		default:
			lines[len(lines)-1] += " " + line
		}
	}
	for index, line := range lines {
		if values := alternative.FindString(line); values != "" && index > 0 {
			names := strings.Split(strings.TrimSuffix(values, ": "), ", ")
			lines[index] = code(names...) + ": " + strings.TrimPrefix(line, values)
		}
	}
	return strings.Join(lines, "<br>"), markers
}

// marker returns the value of a marker that a field has.
func (f field) marker(name string) (value string, found bool) {
	index := slices.IndexFunc(f.markers, func(line string) bool { return line == name || strings.HasPrefix(line, name+"=") })
	if index < 0 {
		return "", false
	}
	_, value, _ = strings.Cut(f.markers[index], "=")
	return value, true
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// being is how a comment goes on that names a thing.
var being = regexp.MustCompile(`^is (the|that|a|one) `)

// saying returns a comment without the name that it begins with, which the table has already.
func saying(name, doc string) string {
	rest, found := strings.CutPrefix(doc, name+" ")
	if !found {
		return doc
	}
	if being.MatchString(rest) {
		return strings.TrimPrefix(rest, "is ")
	}
	return rest
}
