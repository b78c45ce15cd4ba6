#!/usr/bin/env bash
# Prints one file that installs Ostinato by kubectl: its namespace, and what the chart makes of its values. The first argument is Helm's
# command; the others go to it, such as --set image.tag=v1.
set -euo pipefail
deploy=$(dirname "$0")/../deploy helm=$1
shift
cat "$deploy/base/namespace.yaml"
"$helm" template ostinato "$deploy/chart" --namespace ostinato-system --skip-tests "$@"
