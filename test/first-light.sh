#!/usr/bin/env bash
# first-light.sh NODE: how long make dev takes from empty caches (Go modules, Go builds, tools, state) until a run is Complete.
# It prints each build that took longer than three seconds, and what it cost: the processor time tells runs beside others apart.
set -euo pipefail
cd "$(dirname "$0")/.."
node=${1:?which node: kwok or real}
# An hour: two cores need a third of it.
patience=3600
dir=$(mktemp -d)
export GOCACHE=$dir/build GOMODCACHE=$dir/modules OSTINATO_CACHE=$dir/ostinato XDG_STATE_HOME=$dir/state
unset KUBEBUILDER_ASSETS KUBECONFIG TEMPORAL_ADDRESS
echo "first light, $node node: load before it $(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || uptime)"
started=$(date +%s)
# A process group of its own: an interrupt reaches make and what it runs.
setsid make dev NODE="$node" > "$dir/log" 2>&1 &
dev=$!
finish() {
	kill -INT -- "-$dev" 2>/dev/null || true
	wait "$dev" 2>/dev/null || true
	chmod -R u+w "$dir"
	rm -rf "$dir"
}
trap finish EXIT
until grep -q ' Complete' "$dir/log"; do
	if ! kill -0 "$dev" 2>/dev/null || (($(date +%s) - started > patience)); then
		tail -n 40 "$dir/log"
		echo "first light, $node node: no run is Complete after $(($(date +%s) - started)) s"
		exit 1
	fi
	sleep 1
done
ended=$(date +%s)
grep -E ' built in |^programs: built |^up after ' "$dir/log"
kill -INT -- "-$dev" || true
wait "$dev" || true
times > "$dir/times"
read -r user system < <(tail -n 1 "$dir/times")
echo "first light, $node node: the first run is Complete after $((ended - started)) s; processor time of all processes until their end: user $user, system $system"
