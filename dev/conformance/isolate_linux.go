package main

import "syscall"

// isolation gives the suite a PID name space of its own: when its first process ends, killed or not, so do all others.
var isolation = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
