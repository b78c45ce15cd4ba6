package process

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// attributes makes the child a group leader that the kernel kills when its parent dies.
func attributes(base *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := syscall.SysProcAttr{}
	if base != nil {
		attr = *base
	}
	attr.Setpgid = true
	attr.Pdeathsig = syscall.SIGKILL
	return &attr
}

var (
	forkerOnce sync.Once
	forker     chan func()
)

// startOnOwnThread starts the command on one thread that lives as long as the program. The parent-death signal is tied
// to the thread that forked, not to the process: a thread of Go's pool may end early and would take the child along.
func startOnOwnThread(cmd *exec.Cmd) error {
	forkerOnce.Do(func() {
		forker = make(chan func())
		go func() {
			runtime.LockOSThread()
			for start := range forker {
				start()
			}
		}()
	})
	result := make(chan error, 1)
	forker <- func() { result <- cmd.Start() }
	return <-result
}

// commandLine returns the arguments a process was started with, joined by spaces; "" where there is none or it ended.
func commandLine(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.TrimRight(string(data), "\x00"), "\x00", " ")
}
