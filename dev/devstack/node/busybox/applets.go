package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// exitCode is an end that says nothing.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

var applets = map[string]func(arguments []string, s streams) error{
	"cat":      cat,
	"date":     date,
	"echo":     echo,
	"env":      env,
	"false":    func([]string, streams) error { return exitCode(1) },
	"hostname": hostname,
	"sleep":    sleep,
	"true":     func([]string, streams) error { return nil },
}

func cat(arguments []string, s streams) error {
	if len(arguments) == 0 {
		arguments = []string{"-"}
	}
	for _, name := range arguments {
		input := s.in
		if name != "-" {
			file, err := os.Open(s.path(name))
			if err != nil {
				return err
			}
			defer file.Close()
			input = file
		}
		if _, err := io.Copy(s.out, input); err != nil {
			return err
		}
	}
	return nil
}

func date(arguments []string, s streams) error {
	moment, layout := now(), "%a %b %e %H:%M:%S %Z %Y"
	for _, argument := range arguments {
		switch {
		case argument == "-u":
			moment = moment.UTC()
		case strings.HasPrefix(argument, "+"):
			layout = argument[1:]
		default:
			return fmt.Errorf("unsupported argument %q", argument)
		}
	}
	text, err := format(moment, layout)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, text)
	return err
}

// conversions are those of strftime, as layouts of package time.
var conversions = map[byte]string{
	'a': "Mon", 'b': "Jan", 'd': "02", 'e': "_2", 'F': "2006-01-02", 'H': "15", 'm': "01", 'M': "04", 'S': "05",
	'T': "15:04:05", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}

func format(moment time.Time, layout string) (string, error) {
	var text strings.Builder
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' {
			text.WriteByte(layout[i])
			continue
		}
		i++
		if i == len(layout) {
			return "", errors.New("the format ends with %")
		}
		switch conversion, ok := conversions[layout[i]]; {
		case ok:
			text.WriteString(moment.Format(conversion))
		case layout[i] == 's':
			text.WriteString(strconv.FormatInt(moment.Unix(), 10))
		case layout[i] == '%':
			text.WriteByte('%')
		default:
			return "", fmt.Errorf("unsupported conversion %%%c", layout[i])
		}
	}
	return text.String(), nil
}

func echo(arguments []string, s streams) error {
	end := "\n"
	if len(arguments) > 0 && arguments[0] == "-n" {
		arguments, end = arguments[1:], ""
	}
	_, err := fmt.Fprint(s.out, strings.Join(arguments, " ")+end)
	return err
}

func env(arguments []string, s streams) error {
	if len(arguments) > 0 {
		return errors.New("arguments are not supported")
	}
	_, err := fmt.Fprint(s.out, strings.Join(s.environment, "\n")+"\n")
	return err
}

func hostname(_ []string, s streams) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, name)
	return err
}

func sleep(arguments []string, _ streams) error {
	duration, err := duration(arguments)
	if err != nil {
		return err
	}
	time.Sleep(duration)
	return nil
}

// duration adds up what sleep is given: numbers with an optional s, m, h or d, or infinity.
func duration(arguments []string) (time.Duration, error) {
	if len(arguments) == 0 {
		return 0, errors.New("missing operand")
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	total := 0.0
	for _, argument := range arguments {
		if argument == "infinity" || argument == "inf" {
			return math.MaxInt64, nil
		}
		unit, number := time.Second, argument
		if argument != "" {
			if u, ok := units[argument[len(argument)-1]]; ok {
				unit, number = u, argument[:len(argument)-1]
			}
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || !(value >= 0) {
			return 0, fmt.Errorf("invalid number %q", argument)
		}
		total += value * float64(unit)
	}
	if total >= math.MaxInt64 {
		return math.MaxInt64, nil
	}
	return time.Duration(total), nil
}
