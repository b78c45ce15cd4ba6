//go:build !linux

package main

import "syscall"

// isolation is of no use where there can be no real node.
var isolation *syscall.SysProcAttr
