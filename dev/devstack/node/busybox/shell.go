package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// shell is sh: [-OPTIONS] -c SCRIPT [NAME [ARGUMENT...]], or FILE [ARGUMENT...], or the script on standard input.
func shell(arguments []string, s streams) int {
	var options []string
	inArguments := false
	for len(arguments) > 0 && len(arguments[0]) > 1 && arguments[0][0] == '-' {
		for _, option := range arguments[0][1:] {
			if option == 'c' {
				inArguments = true
			} else {
				options = append(options, "-"+string(option))
			}
		}
		arguments = arguments[1:]
	}
	name, script := "sh", ""
	switch {
	case inArguments && len(arguments) == 0:
		fmt.Fprintln(s.err, "sh: -c needs an argument")
		return 2
	case inArguments:
		script, arguments = arguments[0], arguments[1:]
		if len(arguments) > 0 {
			name, arguments = arguments[0], arguments[1:]
		}
	default:
		input, err := s.in, error(nil)
		if len(arguments) > 0 && arguments[0] != "-" {
			var file *os.File
			if file, err = os.Open(s.path(arguments[0])); err == nil {
				defer file.Close()
				input = file
			}
			name, arguments = arguments[0], arguments[1:]
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(input)
		}
		if err != nil {
			fmt.Fprintf(s.err, "sh: %v\n", err)
			return 2
		}
		script = string(text)
	}
	return interpret(name, script, append(append(options, "--"), arguments...), s)
}

// interpret runs a script with the parameters of the builtin set.
func interpret(name, script string, parameters []string, s streams) int {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), name)
	if err != nil {
		fmt.Fprintln(s.err, err)
		return 2
	}
	runner, err := interp.New(interp.StdIO(s.in, s.out, s.err), interp.Env(expand.ListEnviron(s.environment...)), interp.Dir(s.folder),
		interp.Params(parameters...), interp.ExecHandlers(withApplets))
	if err != nil {
		fmt.Fprintf(s.err, "sh: %v\n", err)
		return 2
	}
	err = runner.Run(context.Background(), file)
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	default:
		fmt.Fprintf(s.err, "sh: %v\n", err)
		return 1
	}
}

// withApplets runs applets, sh among them, inside this process, and everything else as programs of the image.
func withApplets(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, words []string) error {
		h := interp.HandlerCtx(ctx)
		dir, base := path.Split(words[0])
		if _, ok := applets[base]; (ok || base == "sh") && (dir == "" || dir == "/bin/") {
			s := streams{in: h.Stdin, out: h.Stdout, err: h.Stderr, folder: h.Dir, environment: exported(h.Env)}
			if code := run(append([]string{base}, words[1:]...), s); code != 0 {
				return interp.ExitStatus(code)
			}
			return nil
		}
		if _, err := interp.LookPathDir(h.Dir, h.Env, words[0]); err != nil {
			fmt.Fprintf(h.Stderr, "sh: %s: not found\n", words[0])
			return interp.ExitStatus(127)
		}
		return next(ctx, words)
	}
}

// exported lists the variables that a program inherits.
func exported(variables expand.Environ) []string {
	var list []string
	variables.Each(func(name string, v expand.Variable) bool {
		if v.Exported && v.IsSet() {
			list = append(list, name+"="+v.String())
		}
		return true
	})
	return list
}
