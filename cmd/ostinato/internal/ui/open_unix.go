//go:build unix

package ui

import (
	"os/exec"
	"syscall"
)

// detach keeps Ctrl-C in the terminal from the browser.
func detach(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
