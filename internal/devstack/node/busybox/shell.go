package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
)

// shell is sh: -c SCRIPT [NAME [ARGUMENT...]], or the script on standard input. With -e it ends at the first command that
// fails.
func shell(arguments []string, s streams) int {
	interpreter := &interpreter{streams: s, variables: map[string]string{}}
	script, fromArguments := "", false
	for len(arguments) > 0 && strings.HasPrefix(arguments[0], "-") && arguments[0] != "-" {
		for _, option := range arguments[0][1:] {
			switch option {
			case 'c':
				fromArguments = true
			case 'e':
				interpreter.endOnFailure = true
			default:
				fmt.Fprintf(s.err, "sh: unsupported option -%c\n", option)
				return 2
			}
		}
		arguments = arguments[1:]
	}
	switch {
	case fromArguments && len(arguments) == 0:
		fmt.Fprintln(s.err, "sh: -c needs an argument")
		return 2
	case fromArguments:
		script = arguments[0]
	case len(arguments) > 0:
		fmt.Fprintln(s.err, "sh: script files are not supported")
		return 2
	default:
		input, err := io.ReadAll(s.in)
		if err != nil {
			fmt.Fprintf(s.err, "sh: %v\n", err)
			return 2
		}
		script = string(input)
	}
	commands, err := parse(script)
	if err != nil {
		fmt.Fprintf(s.err, "sh: %v\n", err)
		return 2
	}
	return interpreter.runAll(commands)
}

// interpreter is the state of a running shell.
type interpreter struct {
	streams
	variables    map[string]string
	endOnFailure bool
	status       int
	exited       bool
}

func (i *interpreter) runAll(commands []command) int {
	for position, c := range commands {
		if (c.after == "&&" && i.status != 0) || (c.after == "||" && i.status == 0) {
			continue
		}
		i.status = i.run(c)
		if i.exited {
			break
		}
		// As in every shell, a command that another one is bound to by && or || may fail.
		bound := position+1 < len(commands) && (commands[position+1].after == "&&" || commands[position+1].after == "||")
		if i.endOnFailure && i.status != 0 && !bound {
			break
		}
	}
	return i.status
}

// run runs one simple command and returns its exit code.
func (i *interpreter) run(c command) int {
	words := make([]string, 0, len(c.words))
	for _, w := range c.words {
		if text, keep := i.expand(w); keep {
			words = append(words, text)
		}
	}
	if len(words) == 0 {
		return 0
	}
	s := i.streams
	for _, r := range c.redirections {
		target, _ := i.expand(r.target)
		flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
		if r.add {
			flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
		}
		file, err := os.OpenFile(target, flags, 0o666)
		if err != nil {
			fmt.Fprintf(s.err, "sh: %v\n", err)
			return 1
		}
		defer file.Close()
		s.out = file
	}
	if name, value, ok := strings.Cut(words[0], "="); ok && len(words) == 1 && isName(name) {
		i.variables[name] = value
		return 0
	}
	switch words[0] {
	case "exit":
		return i.exit(words[1:])
	case ":":
		return 0
	}
	return runCommand(words, s)
}

func (i *interpreter) exit(arguments []string) int {
	i.exited = true
	if len(arguments) == 0 {
		return i.status
	}
	code, err := strconv.Atoi(arguments[0])
	if err != nil {
		fmt.Fprintf(i.err, "sh: exit: illegal number: %s\n", arguments[0])
		return 2
	}
	return code & 0xff
}

// runCommand runs an applet, else a program of the image.
func runCommand(words []string, s streams) int {
	name := words[0]
	if dir := path.Dir(name); dir == "." || dir == "/bin" {
		base := path.Base(name)
		if _, ok := applets[base]; ok || base == "sh" {
			return run(append([]string{base}, words[1:]...), s)
		}
	}
	program := exec.Command(name, words[1:]...)
	program.Stdin, program.Stdout, program.Stderr = s.in, s.out, s.err
	err := program.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended) && ended.ExitCode() >= 0:
		return ended.ExitCode()
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		fmt.Fprintf(s.err, "sh: %s: not found\n", name)
		return 127
	default:
		fmt.Fprintf(s.err, "sh: %s: %v\n", name, err)
		return 126
	}
}

// expand puts in the variables of a word; a word of nothing but empty variables vanishes.
func (i *interpreter) expand(w word) (text string, keep bool) {
	var result strings.Builder
	for _, p := range w {
		keep = keep || p.quoted
		if p.variable == "" {
			result.WriteString(p.text)
			continue
		}
		result.WriteString(i.value(p.variable))
	}
	return result.String(), keep || result.Len() > 0
}

func (i *interpreter) value(name string) string {
	switch name {
	case "?":
		return strconv.Itoa(i.status)
	case "$":
		return strconv.Itoa(os.Getpid())
	}
	if value, ok := i.variables[name]; ok {
		return value
	}
	return os.Getenv(name)
}
