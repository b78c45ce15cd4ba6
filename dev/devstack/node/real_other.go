//go:build !linux

package node

import (
	"context"
	"errors"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// Real is a real node. It exists on Linux only.
type Real struct{}

// StartReal fails: a real node needs Linux.
func StartReal(context.Context, RealOptions) (*Real, error) {
	return nil, errors.New("a real node needs Linux")
}

// Name returns nothing.
func (*Real) Name() string { return "" }

// Processes returns nothing.
func (*Real) Processes() []*process.Process { return nil }

// Admit does nothing.
func (*Real) Admit(string) (string, error) { return "", errors.New("a real node needs Linux") }

// Stop does nothing.
func (*Real) Stop() error { return nil }

// CanRunReal tells that this machine cannot have a real node.
func CanRunReal() (bool, string) { return false, "a real node needs Linux" }
