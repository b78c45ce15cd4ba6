package main

import (
	"fmt"
	"strings"
)

// command is a simple command of a list.
type command struct {
	// after is the operator that precedes it: "" (also for ; and newline), "&&" or "||".
	after        string
	words        []word
	redirections []redirection
}

// redirection sends standard output to a file.
type redirection struct {
	target word
	add    bool
}

// word is made of parts, each a text or a variable.
type word []part

type part struct {
	text     string
	variable string
	quoted   bool
}

// parse splits a script into its commands. What the shell does not know is an error, never something else's meaning.
func parse(script string) ([]command, error) {
	p := parser{rest: script}
	var commands []command
	current := command{}
	var redirect *redirection
	for {
		t, err := p.next()
		if err != nil {
			return nil, err
		}
		if t.operator == "" {
			if redirect != nil {
				redirect.target = t.word
				current.redirections = append(current.redirections, *redirect)
				redirect = nil
			} else {
				current.words = append(current.words, t.word)
			}
			continue
		}
		if redirect != nil {
			return nil, fmt.Errorf("syntax error: a file name is missing before %s", t.operator)
		}
		switch t.operator {
		case ">", ">>":
			redirect = &redirection{add: t.operator == ">>"}
			continue
		}
		if len(current.words) == 0 && len(current.redirections) == 0 {
			if !mayBeEmpty(t.operator, current.after) {
				return nil, fmt.Errorf("syntax error: a command is missing before %s", t.operator)
			}
		} else {
			if err := known(current); err != nil {
				return nil, err
			}
			commands = append(commands, current)
			current = command{}
		}
		if t.operator == "&&" || t.operator == "||" {
			current.after = t.operator
		}
		if t.operator == "end" {
			return commands, nil
		}
	}
}

// mayBeEmpty tells whether nothing may stand before the operator: blank lines, also after && and ||, and the end.
func mayBeEmpty(operator, after string) bool {
	return operator == "newline" || (operator == "end" && after == "")
}

// known refuses the words by which compound commands begin.
func known(c command) error {
	if len(c.words) == 0 || len(c.words[0]) != 1 || c.words[0][0].quoted {
		return nil
	}
	switch first := c.words[0][0].text; first {
	case "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "{", "}", "!":
		return fmt.Errorf("%s is not supported: this shell knows lists of simple commands only", first)
	}
	return nil
}

// token is a word or an operator: ";", "&&", "||", ">", ">>", "newline" or "end".
type token struct {
	operator string
	word     word
}

type parser struct{ rest string }

func (p *parser) next() (token, error) {
	p.rest = strings.TrimLeft(p.rest, " \t\r")
	if strings.HasPrefix(p.rest, "#") {
		_, p.rest, _ = strings.Cut(p.rest, "\n")
		p.rest = "\n" + p.rest
	}
	if p.rest == "" {
		return token{operator: "end"}, nil
	}
	if p.rest[0] == '\n' {
		p.rest = p.rest[1:]
		return token{operator: "newline"}, nil
	}
	for _, operator := range []string{"&&", "||", ">>", ">", ";"} {
		if strings.HasPrefix(p.rest, operator) {
			p.rest = p.rest[len(operator):]
			return token{operator: operator}, nil
		}
	}
	w, err := p.word()
	return token{word: w}, err
}

// word reads one word.
func (p *parser) word() (word, error) {
	var w word
	for p.rest != "" {
		switch c := p.rest[0]; {
		case strings.IndexByte(" \t\r\n;>", c) >= 0, strings.HasPrefix(p.rest, "&&"), strings.HasPrefix(p.rest, "||"):
			return w, nil
		case strings.IndexByte("|&()<`", c) >= 0:
			return nil, fmt.Errorf("%q is not supported: this shell knows lists of simple commands only", c)
		case c == '\'':
			text, rest, ok := strings.Cut(p.rest[1:], "'")
			if !ok {
				return nil, fmt.Errorf("syntax error: unterminated quoted string")
			}
			w, p.rest = append(w, part{text: text, quoted: true}), rest
		case c == '"':
			parts, err := p.doubleQuoted()
			if err != nil {
				return nil, err
			}
			w = append(w, parts...)
		case c == '\\' && len(p.rest) > 1:
			w, p.rest = append(w, part{text: p.rest[1:2], quoted: true}), p.rest[2:]
		case c == '$':
			variable, err := p.variable()
			if err != nil {
				return nil, err
			}
			w = append(w, variable)
		default:
			end := strings.IndexAny(p.rest[1:], " \t\r\n;>|&()<`'\"\\$") + 1
			if end == 0 {
				end = len(p.rest)
			}
			w, p.rest = append(w, part{text: p.rest[:end]}), p.rest[end:]
		}
	}
	return w, nil
}

// doubleQuoted reads what is between double quotes.
func (p *parser) doubleQuoted() (word, error) {
	w := word{{quoted: true}}
	p.rest = p.rest[1:]
	for p.rest != "" {
		switch c := p.rest[0]; {
		case c == '"':
			p.rest = p.rest[1:]
			return w, nil
		case c == '`':
			return nil, fmt.Errorf("%q is not supported: this shell knows lists of simple commands only", c)
		case c == '\\' && len(p.rest) > 1 && strings.IndexByte("$`\"\\", p.rest[1]) >= 0:
			w, p.rest = append(w, part{text: p.rest[1:2], quoted: true}), p.rest[2:]
		case c == '$':
			variable, err := p.variable()
			if err != nil {
				return nil, err
			}
			variable.quoted = true
			w = append(w, variable)
		default:
			end := strings.IndexAny(p.rest[1:], "\"`\\$") + 1
			if end == 0 {
				end = len(p.rest)
			}
			w, p.rest = append(w, part{text: p.rest[:end], quoted: true}), p.rest[end:]
		}
	}
	return nil, fmt.Errorf("syntax error: unterminated quoted string")
}

// variable reads $NAME, ${NAME}, $? or $$; a lone $ is itself.
func (p *parser) variable() (part, error) {
	rest := p.rest[1:]
	switch {
	case strings.HasPrefix(rest, "("):
		return part{}, fmt.Errorf("\"$(\" is not supported: this shell knows lists of simple commands only")
	case strings.HasPrefix(rest, "{"):
		name, after, ok := strings.Cut(rest[1:], "}")
		if !ok || !(isName(name) || name == "?" || name == "$") {
			return part{}, fmt.Errorf("syntax error: bad substitution")
		}
		p.rest = after
		return part{variable: name}, nil
	case strings.HasPrefix(rest, "?"), strings.HasPrefix(rest, "$"):
		p.rest = rest[1:]
		return part{variable: rest[:1]}, nil
	}
	length := 0
	for length < len(rest) && isName(rest[:length+1]) {
		length++
	}
	p.rest = rest[length:]
	if length == 0 {
		return part{text: "$"}, nil
	}
	return part{variable: rest[:length]}, nil
}

// isName tells whether a variable can be called so.
func isName(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}
