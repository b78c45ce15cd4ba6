//go:build unix && !linux

package process

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// attributes makes the child a group leader. A parent-death signal exists on Linux only: after a kill -9 of the parent
// the children go on elsewhere, until EndLeftover at the next start in the same folder.
func attributes(base *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := syscall.SysProcAttr{}
	if base != nil {
		attr = *base
	}
	attr.Setpgid = true
	return &attr
}

func startOnOwnThread(cmd *exec.Cmd) error { return cmd.Start() }

// commandLine returns the arguments a process was started with, joined by spaces; "" where there is none or it ended.
func commandLine(pid int) string {
	output, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(output))
}
