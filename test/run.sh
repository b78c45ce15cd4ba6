#!/usr/bin/env bash
# Runs the tests of the packages that match the patterns (./... if there are none). A package's folder says how it is run:
#
#	test/serial/  a whole stack, by itself: its tests see states that pass within seconds, or an order, which a neighbour hides
#	test/stack/   a whole stack, STACKS at a time; a file "parts" has the flags of each part that gets a stack of its own
#	test/trial/   not here, but by make trial-*
#	elsewhere     go test, with the race detector if there is a C compiler
#
# Stacks run anew each time, since Go's cache does not know their programs. The race detector is not in those programs, and would see
# the tests alone. GO is the go command, TEST_TIMEOUT bounds a package's tests.
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go}
STACKS=${STACKS:-3} TEST_TIMEOUT=${TEST_TIMEOUT:-30m}
if [ $# = 0 ]; then set -- ./...; fi

module=$($GO list -m)
# The race detector would find nothing in these, which do nothing at the same time as anything else or read bombs, and take minutes.
# What two of them do at a time they test under names that say so.
pure="internal/job internal/packed internal/protocol internal/schedule internal/times test/histories"
at_a_time="internal/packed internal/protocol"
# These take longest and start first.
longest="failure hostile installed deploy/takeover/cronjobs failure/chaos bench tenant"

race=
if [ "$($GO env CGO_ENABLED)" = 1 ]; then race=-race; fi

run() { # FLAGS PACKAGES
	if [ -n "$2" ]; then
		echo "go test $1"
		$GO test $1 -timeout "$TEST_TIMEOUT" $2
	fi
}

# only and without keep the packages of standard input that have one of the names of $1, or that have none.
named() { printf "$module/%s\n" $1; }
only() { grep -xF -f <(named "$1") || true; }
without() { grep -vxF -f <(named "$1") || true; }
folder() { grep "^$module/test/$1/" || true; }

packages=$($GO list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@")
# To build the Temporal server once more for the race detector would take minutes.
server=$($GO list -f '{{range .Deps}}{{if eq . "go.temporal.io/server/temporal"}}{{$.ImportPath}}{{end}}{{end}}' "$@" | sed "s,^$module/,,")
unit=$(grep -vE "^$module/test/(serial|stack)/" <<<"$packages" || true)

# make check runs all of vet, of which go test would run a part again.
run "-vet=off $race" "$(without "$pure $server" <<<"$unit")"
run "-vet=off" "$(only "$pure $server" <<<"$unit")"
run "-vet=off $race -run=AtATime" "$(only "$at_a_time" <<<"$unit")"
if [ "$*" = ./... ]; then
	# Modules of tools that are code with tests of their own. (test/parity/cronjobs runs that of tools/kubernetes.)
	for tool in tools/image tools/kwok tools/plot; do
		(cd $tool && GOWORK=off GOFLAGS= run "$race" ./...)
	done
	test/fuzz.sh "${FUZZTIME:-4s}"
fi
run "-vet=off -count=1 -p=1" "$(folder serial <<<"$packages")"

stacks=$(folder stack <<<"$packages")
first=$(printf 'test/stack/%s ' $longest)
ordered=$({ named "$first" | grep -xF -f <(echo "$stacks") || true; without "$first" <<<"$stacks"; })
for package in $ordered; do
	parts=${package#"$module/"}/parts
	if [ -f "$parts" ]; then sed "s,^,$package ," "$parts"; else echo "$package"; fi
done | test/stacks.sh "$STACKS" -vet=off -count=1 -timeout "$TEST_TIMEOUT"
