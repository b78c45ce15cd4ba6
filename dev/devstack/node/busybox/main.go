// Command busybox is the program in the images of a development node: the applets that the samples and tests of this
// repository use, under the names and with the output people know from BusyBox, in one static binary. It is not BusyBox:
// the applets are cat, date, echo, env, false, hostname, sh, sleep and true, and the shell takes bash's scripts as
// mvdan.cc/sh does. As pause it is the first container of every Pod.
//
// On SIGTERM it ends at once with exit code 143, whatever a script traps, as most programs do and as BusyBox as the first
// process of a container does not.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	arguments := append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...)
	if arguments[0] == "busybox" && len(arguments) > 1 {
		arguments = arguments[1:]
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	if arguments[0] == "pause" {
		pause(stop)
		return
	}
	go func() {
		number, _ := (<-stop).(syscall.Signal)
		os.Exit(128 + int(number))
	}()
	os.Exit(run(arguments, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, environment: os.Environ()}))
}

// streams are what a command reads, writes and inherits.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// folder is the shell's working directory; empty for that of the process.
	folder      string
	environment []string
}

// path returns where a file of the name is.
func (s streams) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.folder, name)
}

// run runs an applet and returns its exit code.
func run(arguments []string, s streams) int {
	if arguments[0] == "sh" {
		return shell(arguments[1:], s)
	}
	applet, ok := applets[arguments[0]]
	if !ok {
		fmt.Fprintf(s.err, "%s: applet not found\n", arguments[0])
		return 127
	}
	if err := applet(arguments[1:], s); err != nil {
		if code, ok := err.(exitCode); ok {
			return int(code)
		}
		fmt.Fprintf(s.err, "%s: %v\n", arguments[0], err)
		return 1
	}
	return 0
}

// pause keeps a Pod's name spaces open until it is told to stop, and collects the orphans of Pods that share a PID name
// space.
func pause(stop <-chan os.Signal) {
	orphans := make(chan os.Signal, 1)
	signal.Notify(orphans, syscall.SIGCHLD)
	for {
		select {
		case <-stop:
			return
		case <-orphans:
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
					break
				}
			}
		}
	}
}

// now is the clock of date.
var now = time.Now
