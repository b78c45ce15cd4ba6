//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// attributes makes the child a group leader. A parent-death signal exists on Linux only: after a kill -9 of the parent
// the children go on elsewhere, and the next start in the same folder finds their ports taken and chooses others.
func attributes(base *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := syscall.SysProcAttr{}
	if base != nil {
		attr = *base
	}
	attr.Setpgid = true
	return &attr
}

func startOnOwnThread(cmd *exec.Cmd) error { return cmd.Start() }
