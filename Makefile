# Ostinato. `make help` lists the targets. Nothing is needed before them but Go, git and make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# Built tools and binaries live here, outside the tree.
export OSTINATO_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ostinato
# auto: a real node where this machine can have one (Linux, root), else kwok. real, kwok: that one.
NODE ?= auto
# auto: a cluster of its own, or after a question the one of KUBECONFIG. current: that of the current context, without a question.
CLUSTER ?= auto
# embedded: the Temporal server in one process. postgres: a cluster on PostgreSQL, its roles in separate processes (Linux).
TEMPORAL ?= embedded
# What worker and bridge may do in make smoke. administrator: everything; base: what deploy/base gives; namespaced: that in
# the sample's namespace only. The admission policy is in force for both.
RIGHTS ?= administrator
# make conformance judges ostinato, or builtin: kube-controller-manager's own controllers.
CONTROLLER ?= ostinato
# Only the specs whose names match this regular expression; empty: all, and docs/conformance.md is written.
export FOCUS ?=
# Where make vulncheck reads what is known.
VULNDB ?= https://vuln.go.dev
# Where make images writes to, for what platforms, with which tag and under which name of a registry. REVISION is the commit, if the
# programs are to say it; then equal sources of another commit have another digest.
IMAGES ?= images
PLATFORMS ?= linux/amd64,linux/arm64
VERSION ?= dev
REVISION ?=
REGISTRY ?= localhost
# true: make images sends the images there, too.
PUSH ?= false
# More arguments of Helm for install.yaml, such as --set networkPolicy.enabled=true.
INSTALL_ARGS ?=
# The longest a package's tests may take.
TEST_TIMEOUT ?= 30m
# How many whole stacks make test runs at a time. One alone takes a fifth to two thirds of a processor.
STACKS ?= 3
# What make generate writes.
GENERATED := api deploy/crd deploy/base/admission-bounds.yaml deploy/components/prometheus-operator deploy/chart/templates/generated
# How long make fuzz fuzzes each target.
FUZZTIME ?= 5m
# Seeds of make trial-pauses: a run of nine minutes each, or more where the machine is busy.
PAUSE_SEEDS ?= 1 2
# make trial-upstream-job runs upstream's suite so often, the functions whose names match this regular expression (all where it is empty).
SUITE_RUNS ?= 1
SUITE_FUNCTIONS ?=
# Packages to test; `make test PKG=./internal/job/...`.
PKG ?= ./...

DEVSTACK := $(OSTINATO_CACHE)/bin/devstack
# As dev/devstack builds the product's programs and the tools: each package that they share is then compiled once.
BUILD := CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w'
TOOL = $$($(DEVSTACK) tools --path $(1))

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: cli
cli: ## Build the ostinato command into the cache.
	@$(BUILD) -o $(OSTINATO_CACHE)/bin/ostinato ./cmd/ostinato

.PHONY: devstack
devstack: ## Build the program behind make dev, smoke and tools into the cache.
	@if ! test -x $(DEVSTACK); then \
		echo "building the devstack program (the first time fetches Go modules and takes minutes)"; SECONDS=0; \
		$(BUILD) -o $(DEVSTACK) ./dev/cmd/devstack; echo "devstack: built in $${SECONDS}s"; \
	fi
	@$(BUILD) -o $(DEVSTACK) ./dev/cmd/devstack

.PHONY: dev
dev: devstack ## Run everything on this machine and show it live (NODE=auto|real|kwok, CLUSTER=auto|current, TEMPORAL=embedded|guarded|postgres). Ctrl-C stops it.
	@exec $(DEVSTACK) dev --cluster=$(CLUSTER) --node=$(NODE) --temporal=$(TEMPORAL)

.PHONY: smoke
smoke: devstack ## The same without a person: three runs to Complete, then tear down (NODE, TEMPORAL, RIGHTS).
	@exec $(DEVSTACK) smoke --node=$(NODE) --temporal=$(TEMPORAL) --rights=$(RIGHTS)

.PHONY: test
test: tools ## Run every test: unit, workflow, replay, integration on a real control plane (PKG). test/run.sh says how.
	@GO='$(GO)' STACKS='$(STACKS)' TEST_TIMEOUT='$(TEST_TIMEOUT)' test/run.sh $(PKG)

.PHONY: fuzz
fuzz: ## Fuzz what strangers send: every target for FUZZTIME, two at a time.
	@GO='$(GO)' test/fuzz.sh $(FUZZTIME)

.PHONY: trial-histories
trial-histories: ## Play random histories of a CronJob, 300 with a crash after each write and 2,000 with crashes after three, and 2,000 of a Job.
	@play() { echo "$$*"; GOGC=400 $(GO) test -count=1 -timeout 2h "$$@"; }; failed=0; \
	play ./test/histories -run Random -args -rapid.checks=2000 -rapid.seed=0 -fewer & fewer=$$!; \
	play ./test/histories -run Random -args -rapid.checks=300 -rapid.seed=0 || failed=1; \
	play ./test/histories/jobs -run Random -args -rapid.checks=2000 -rapid.seed=0 || failed=1; \
	wait $$fewer || failed=1; exit $$failed

.PHONY: trial-tenant
trial-tenant: tools ## Attack as a tenant at ten times the size that make test has.
	@for test in $$($(GO) test -list . ./test/stack/tenant | grep ^Test); do OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 30m -v ./test/stack/tenant -run "^$$test\$$"; done # each with an etcd of its own, whose 2 GiB it may fill

.PHONY: trial-hostile
trial-hostile: tools ## Attack as a writer of Temporal at ten times the size that make test has, and see what each attack leaves in etcd.
	OSTINATO_TRIAL=1 $(GO) test -tags trial -count=1 -timeout 60m -v ./test/stack/hostile -skip 'TestNeighboursStartOnTimeDuringAttacks$$|TestMadeUpTimesHoldUpNoStart$$'

.PHONY: trial-neighbours
trial-neighbours: tools ## Compare when runs of other namespaces start, quietly and beside attacks or a herd (twenty-five minutes).
	OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 30m -v ./test/serial/fairness -run 'TestAHerd'
	$(GO) test -tags trial -count=1 -timeout 30m -v ./test/stack/hostile -run 'TestNeighboursStartOnTimeDuringAttacks$$|TestMadeUpTimesHoldUpNoStart$$'

.PHONY: trial-kills
trial-kills: tools ## Kill everything at random moments while 1,000 runs start, and a worker fifty times during one Job (ten minutes).
	OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 30m -v ./test/stack/failure/chaos -run 'TestChaos$$'
	OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 30m -v ./test/stack/failure -run 'TestWorkerKilledAgainAndAgain$$'

.PHONY: trial-slow
trial-slow: tools ## Measure what a webhook that hangs and a node that does not answer cost other namespaces, suspend a Job of 10,000 Pods, and run Jobs while lists take eight seconds (fifteen minutes).
	$(GO) test -tags trial -count=1 -timeout 40m -v -p=1 ./test/trial/slow ./test/trial/slowlists
	$(GO) test -tags trial -count=1 -v -run AtTheBulkRate ./test/histories/jobs

.PHONY: trial-helm3
trial-helm3: tools ## Install, upgrade, roll back and uninstall the chart by Helm 3, as make test does it by Helm 4 (two minutes).
	OSTINATO_HELM=helm3 $(GO) test -count=1 -timeout 20m -v ./test/stack/deploy/chart

.PHONY: trial-move
trial-move: tools ## Move 200 minutely CronJobs from kube-controller-manager to Ostinato, back and there again, and look for a minute that is missed (fifteen minutes).
	$(GO) test -tags trial -count=1 -timeout 40m -v ./test/trial/move

.PHONY: trial-pauses
trial-pauses: tools ## Stop every kind of process again and again (SIGSTOP) while 1,000 runs start and 100 Jobs run (twenty minutes).
	@for seed in $(PAUSE_SEEDS); do OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 40m -v ./test/stack/failure/chaos -run 'TestPauses$$' -args -chaos.seed=$$seed; done

.PHONY: trial-restores
trial-restores: tools ## Put Temporal's data back by 1, 5 and 20 minutes and etcd's by 5 while 200 minutely CronJobs run, and look for a time that runs twice or has no row, or two (fifty minutes).
	$(GO) test -tags trial -count=1 -timeout 90m -v ./test/trial/restores

.PHONY: trial-limit
trial-limit: tools ## Measure how many runs a minute the embedded Temporal carries, on shares of a core (fifteen minutes).
	$(GO) test -tags trial -count=1 -timeout 60m -v ./test/trial/limit

.PHONY: trial-installed
trial-installed: tools ## Install the chart, and kill its Pods, renew its authority, delete and restore its database, lose its node and change its build while 100 minutely CronJobs run (forty minutes).
	$(GO) test -tags trial -count=1 -timeout 60m -v ./test/stack/installed -run TestNothingIsMissedOrDoubledByALoss

.PHONY: trial-upstream-job
trial-upstream-job: ## Run upstream's integration suite of Jobs against worker and bridge, stopped by SIGTERM and then by SIGKILL (SUITE_RUNS, SUITE_FUNCTIONS).
	@for kill in false true; do OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 4h -v ./test/upstream -run 'TestUpstreamsSuite$$' -args -upstream.kill=$$kill -upstream.runs=$(SUITE_RUNS) -upstream.run='$(SUITE_FUNCTIONS)'; done

.PHONY: trial-first-light
trial-first-light: ## Measure make dev from empty caches to the first Complete run, with the simulated node and then the real one (forty minutes).
	@for node in kwok real; do test/first-light.sh $$node; done

.PHONY: tokens
tokens: ## Count the engine's tokens of code, by folder: what a change adds, and what it saves.
	@$(GO) run ./test/architecture/tokens

.PHONY: check
check: devstack ## Run every static check: format, vet, staticcheck, workflowcheck, alerting rules, generated files.
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not gofmt-clean: $$unformatted; run gofmt -w"; exit 1; }
	$(GO) mod verify >/dev/null
	$(GO) vet ./...
	$(GO) vet -tags trial ./test/...
	$(call TOOL,staticcheck) ./...
	$(call TOOL,workflowcheck) ./workflows/...
	$(call TOOL,promtool) check rules --lint=all --lint-fatal deploy/monitoring/rules.yaml
	$(call TOOL,promtool) test rules deploy/monitoring/tests/*.yaml
	$(GO) run ./dev/gen/reference --check
	$(MAKE) --no-print-directory generate
	@test -z "$$(git status --porcelain -- $(GENERATED))" || { echo "not committed, in folders of generated files ('make generate' has just run): commit these and check again:"; git status --short -- $(GENERATED); exit 1; }

.PHONY: generate
generate: devstack ## Regenerate deep copies, the CRD, the admission policies of bounds, the PrometheusRule, the chart's templates and the reference's tables.
	$(call TOOL,controller-gen) object paths=./api/v1
	crd=$$($(call TOOL,controller-gen) crd:generateEmbeddedObjectMeta=true paths=./api/v1 output:stdout | $(GO) run ./dev/gen/crd); printf '%s\n' "$$crd" > deploy/crd/batch.ostinato.dev_cronjobs.yaml
	policies=$$($(GO) run ./dev/gen/policies); printf '%s\n' "$$policies" > deploy/base/admission-bounds.yaml
	$(GO) run ./dev/gen/reference
	@{ cat deploy/monitoring/prometheusrule.head; sed -n '/^groups:/,$$ s/^./  &/p' deploy/monitoring/rules.yaml; } > deploy/components/prometheus-operator/prometheusrule.yaml
	$(GO) run ./dev/gen/chart

.PHONY: vulncheck
vulncheck: devstack ## Look for known vulnerabilities in what is built. Asks VULNDB.
	@tool=$(call TOOL,govulncheck); status=0; "$$tool" -db="$(VULNDB)" ./cmd/... || status=$$?; case $$status in \
	0) ;; \
	3) echo "vulncheck: the programs call code with known vulnerabilities, see above: update those modules"; exit 1;; \
	*) echo "vulncheck: nothing was checked. It needs the Go vulnerability database at $(VULNDB), or VULNDB=file://... with a copy of it"; exit 1;; \
	esac

.PHONY: images
images: devstack ## Build the container images for PLATFORMS, tagged VERSION, as an OCI layout and an archive in IMAGES, with SBOMs. Needs no Docker.
	@$(call TOOL,image) --source=. --out='$(IMAGES)' --platforms='$(PLATFORMS)' --version='$(VERSION)' --revision='$(REVISION)' --registry='$(REGISTRY)' --push=$(PUSH)

.PHONY: chart
chart: devstack ## Pack the Helm chart for images of VERSION, such as 1.0.0, into IMAGES, and write install.yaml for those of REGISTRY (INSTALL_ARGS).
	@mkdir -p '$(IMAGES)'
	@$(call TOOL,helm) package deploy/chart --version='$(if $(filter dev,$(VERSION)),0.0.0-dev,$(VERSION:v%=%))' --app-version='$(VERSION)' --destination='$(IMAGES)'
	@file=$$(dev/install.sh $(call TOOL,helm) --set-string image.registry='$(REGISTRY)',image.tag='$(VERSION)' $(INSTALL_ARGS)); printf '%s\n' "$$file" >'$(IMAGES)/install.yaml'

.PHONY: bench
bench: devstack ## Compare with kube-controller-manager on one API server; prints a table (BENCH_ARGS=...).
	$(DEVSTACK) tools >/dev/null
	$(GO) run ./dev/bench $(BENCH_ARGS)

.PHONY: conformance
conformance: ## Judge Jobs by Kubernetes' own end-to-end suite (CONTROLLER=ostinato|builtin, FOCUS=regexp). Linux, root.
	@$(GO) build -o $(OSTINATO_CACHE)/bin/conformance ./dev/conformance
	@exec $(OSTINATO_CACHE)/bin/conformance --controller='$(CONTROLLER)' --focus="$$FOCUS" $(CONFORMANCE_ARGS)

.PHONY: record
record: tools ## Record the histories that replay tests use, from the running code.
	$(GO) test -count=1 -timeout $(TEST_TIMEOUT) ./test/stack/integration -run 'TestHistory$$' -record

.PHONY: upstream-cases
upstream-cases: ## Play CronJobs to upstream's controller and record what it does, and where Ostinato does otherwise.
	$(GO) test -count=1 ./test/parity/cronjobs -run 'TestWhatUpstreamDoesIsUpToDate$$' -update
	$(GO) test -count=1 ./test/parity/cronjobs -run 'TestOstinatoDoesWhatUpstreamDoes$$' -update

.PHONY: tools
tools: devstack ## Build the control plane, node and Temporal binaries into the cache (minutes, once).
	@$(DEVSTACK) tools

.PHONY: clean
clean: ## Remove the cache of built tools and binaries (not the state of `make dev`).
	rm -rf $(OSTINATO_CACHE)
