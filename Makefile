# Ostinato. `make help` lists the targets. Nothing is needed before them but Go, git and make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# Built tools and binaries live here, outside the tree.
export OSTINATO_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ostinato
# auto: a real node where this machine can have one (Linux, root), else kwok. real, kwok: that one.
NODE ?= auto
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
# The longest a package's tests may take.
TEST_TIMEOUT ?= 30m
# make check runs all of vet, of which go test would run a part again.
NO_VET := -vet=off
# The race detector needs a C compiler; Go says 0 where there is none.
RACE := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
# These link the Temporal server: to build it once more for the race detector would take minutes.
SERVER := /(internal/devstack/temporal|internal/devstack/temporalcluster/host|cmd/devserver|cmd/temporalhost)$$
# These decide and do nothing at the same time as anything else, or read bombs: the race detector would find nothing and take
# minutes. What the latter do at a time, tests named so, it sees by itself.
PURE := (/internal/(job|packed|protocol|schedule|times)|/test/histories)$$
AT_A_TIME := /internal/(packed|protocol)$$
# These run whole stacks, whose programs Go's test cache does not know: always anew. They wait more than they compute. The
# programs are built as they are shipped, so that the race detector would see the tests alone. The first ones take longest and
# start first.
LONG := failure hostile deploy/takeover/cronjobs failure/chaos bench/small tenant
STACK := /test/(bench/small|deploy|deploy/admission|deploy/namespaced|deploy/takeover|deploy/takeover/cronjobs|dev|documents|doors|encryption|failure|failure/chaos|fairness|hostile|integration|page|parity|scaleout|tenant)$$
# Of the tests of failures these wait for outages and full minutes: they run beside the others, on a stack of their own.
OUTAGES := ServerDown|TemporalDown|TimerLost|StoodStill
# How many of them run at a time. One alone takes a fifth to two thirds of a processor.
STACKS ?= 3
# These run by themselves: they see states that pass within seconds, or an order, which a neighbour on two cores hides.
ALONE := fairness parity
# What make generate writes.
GENERATED := api deploy/crd deploy/base/admission-bounds.yaml deploy/components/prometheus-operator
# Modules of tools that are code with tests of their own. (test/parity/cronjobs runs that of tools/kubernetes.)
TOOL_MODULES := tools/kwok tools/plot
# How long make fuzz fuzzes each target.
FUZZTIME ?= 5m
# How long make test does.
FUZZTIME_OF_TEST := 4s
# Seeds of make trial-pauses: a run of nine minutes each, or more where the machine is busy.
PAUSE_SEEDS ?= 1 2
# make trial-upstream-job runs upstream's suite so often, the functions whose names match this regular expression (all where it is empty).
SUITE_RUNS ?= 1
SUITE_FUNCTIONS ?=
# Packages to test; `make test PKG=./internal/job/...`.
PKG ?= ./...

DEVSTACK := $(OSTINATO_CACHE)/bin/devstack
TOOL = $$($(DEVSTACK) tools --path $(1))

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: cli
cli: ## Build the ostinato command into the cache.
	@$(GO) build -o $(OSTINATO_CACHE)/bin/ostinato ./cmd/ostinato

.PHONY: devstack
devstack: ## Build the program behind make dev, smoke and tools into the cache.
	@if ! test -x $(DEVSTACK); then \
		echo "building the devstack program (the first time fetches Go modules and takes minutes)"; SECONDS=0; \
		$(GO) build -o $(DEVSTACK) ./cmd/devstack; echo "devstack: built in $${SECONDS}s"; \
	fi
	@$(GO) build -o $(DEVSTACK) ./cmd/devstack

.PHONY: dev
dev: devstack ## Run everything on this machine and show it live (NODE=auto|real|kwok, TEMPORAL=embedded|postgres). Ctrl-C stops it.
	@exec $(DEVSTACK) dev --node=$(NODE) --temporal=$(TEMPORAL)

.PHONY: smoke
smoke: devstack ## The same without a person: three runs to Complete, then tear down (NODE, TEMPORAL, RIGHTS).
	@exec $(DEVSTACK) smoke --node=$(NODE) --temporal=$(TEMPORAL) --rights=$(RIGHTS)

.PHONY: test
test: tools ## Run every test: unit, workflow, replay, integration on a real control plane.
	@all=$$($(GO) list $(PKG)); \
	run() { if test -n "$$2"; then echo "go test $$1"; $(GO) test $$1 -timeout $(TEST_TIMEOUT) $$2; fi; }; \
	run "$(NO_VET) $(RACE)" "$$(grep -vE '$(SERVER)|$(PURE)|$(STACK)' <<< "$$all")"; \
	run "$(NO_VET)" "$$(grep -E '$(SERVER)|$(PURE)' <<< "$$all")"; \
	run "$(NO_VET) $(RACE) -run=AtATime" "$$(grep -E '$(AT_A_TIME)' <<< "$$all")"; \
	if test "$(PKG)" = ./...; then for module in $(TOOL_MODULES); do (cd $$module; GOWORK=off GOFLAGS= run "$(RACE)" ./...); done; GO='$(GO)' test/fuzz.sh $(FUZZTIME_OF_TEST); fi; \
	named() { for name in $$1; do grep "/test/$$name\$$" <<< "$$all" || true; done; }; \
	long=$$(named "$(LONG)"); alone=$$(named "$(ALONE)"); first=$$(printf '%s\n%s' "$$long" "$$alone" | grep . || true); \
	run "$(NO_VET) -count=1 -p=1" "$$alone"; \
	rest=$$(echo "$$long"; grep -E '$(STACK)' <<< "$$all" | grep -vxF "$$first" || true); \
	awk 'NF && /\/test\/failure$$/ {print $$0 " -run=$(OUTAGES)"; print $$0 " -skip=$(OUTAGES)"; next} NF' <<< "$$rest" | \
	GO='$(GO)' test/stacks.sh $(STACKS) $(NO_VET) -count=1 -timeout $(TEST_TIMEOUT)

.PHONY: fuzz
fuzz: ## Fuzz what strangers send: every target for FUZZTIME, two at a time.
	@GO='$(GO)' test/fuzz.sh $(FUZZTIME)

.PHONY: trial-histories
trial-histories: ## Play random histories of a CronJob, 300 with a crash after each write and 2,000 with crashes after three, and 1,000 of a Job.
	@play() { echo "$$*"; GOGC=400 $(GO) test -count=1 -timeout 2h "$$@"; }; failed=0; \
	play ./test/histories -run Random -args -rapid.checks=2000 -rapid.seed=0 -fewer & fewer=$$!; \
	play ./test/histories -run Random -args -rapid.checks=300 -rapid.seed=0 || failed=1; \
	play ./test/histories/jobs -run Random -args -rapid.checks=1000 -rapid.seed=0 || failed=1; \
	wait $$fewer || failed=1; exit $$failed

.PHONY: trial-tenant
trial-tenant: tools ## Attack as a tenant at ten times the size that make test has.
	@for test in $$($(GO) test -list . ./test/tenant | grep ^Test); do OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 30m -v ./test/tenant -run "^$$test\$$"; done # each with an etcd of its own, whose 2 GiB it may fill

.PHONY: trial-hostile
trial-hostile: tools ## Attack as a writer of Temporal at ten times the size that make test has, and see what each attack leaves in etcd.
	OSTINATO_TRIAL=1 $(GO) test -tags trial -count=1 -timeout 60m -v ./test/hostile -skip 'TestNeighboursStartOnTimeDuringAttacks$$|TestMadeUpTimesHoldUpNoStart$$'

.PHONY: trial-neighbours
trial-neighbours: tools ## Compare when runs of other namespaces start, quietly and beside attacks or a herd (twenty-five minutes).
	OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 30m -v ./test/fairness -run 'TestAHerd'
	$(GO) test -tags trial -count=1 -timeout 30m -v ./test/hostile -run 'TestNeighboursStartOnTimeDuringAttacks$$|TestMadeUpTimesHoldUpNoStart$$'

.PHONY: trial-kills
trial-kills: tools ## Kill everything at random moments while 1,000 runs start, and a worker fifty times during one Job (ten minutes).
	OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 30m -v ./test/failure/chaos -run 'TestChaos$$'
	OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 30m -v ./test/failure -run 'TestWorkerKilledAgainAndAgain$$'

.PHONY: trial-slow
trial-slow: tools ## Measure what a webhook that hangs and a node that does not answer cost other namespaces, suspend a Job of 10,000 Pods, and run Jobs while lists take eight seconds (fifteen minutes).
	$(GO) test -tags trial -count=1 -timeout 40m -v -p=1 ./test/failure/slow ./test/failure/slowlists
	$(GO) test -tags trial -count=1 -v -run AtTheBulkRate ./test/histories/jobs

.PHONY: trial-move
trial-move: tools ## Move 200 minutely CronJobs from kube-controller-manager to Ostinato, back and there again, and look for a minute that is missed (fifteen minutes).
	$(GO) test -tags trial -count=1 -timeout 40m -v ./test/move

.PHONY: trial-pauses
trial-pauses: tools ## Stop every kind of process again and again (SIGSTOP) while 1,000 runs start and 100 Jobs run (twenty minutes).
	@for seed in $(PAUSE_SEEDS); do OSTINATO_TRIAL=1 $(GO) test -count=1 -timeout 40m -v ./test/failure/chaos -run 'TestPauses$$' -args -chaos.seed=$$seed; done

.PHONY: trial-restores
trial-restores: tools ## Put Temporal's data back by 1, 5 and 20 minutes and etcd's by 5 while 200 minutely CronJobs run, and look for a time that runs twice or has no row, or two (fifty minutes).
	$(GO) test -tags trial -count=1 -timeout 90m -v ./test/failure/restores

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
	$(GO) vet -tags trial ./test/hostile ./test/failure/slow ./test/failure/restores ./test/move
	$(call TOOL,staticcheck) ./...
	$(call TOOL,workflowcheck) ./workflows/...
	$(call TOOL,promtool) check rules --lint=all --lint-fatal deploy/monitoring/rules.yaml
	$(call TOOL,promtool) test rules deploy/monitoring/tests/*.yaml
	$(GO) run ./docs/refgen --check
	$(MAKE) --no-print-directory generate
	@test -z "$$(git status --porcelain -- $(GENERATED))" || { echo "not committed, in folders of generated files ('make generate' has just run): commit these and check again:"; git status --short -- $(GENERATED); exit 1; }

.PHONY: generate
generate: devstack ## Regenerate deep copies, the CRD, the admission policies of bounds, the PrometheusRule and the reference's tables.
	$(call TOOL,controller-gen) object paths=./api/v1
	crd=$$($(call TOOL,controller-gen) crd:generateEmbeddedObjectMeta=true paths=./api/v1 output:stdout | $(GO) run ./internal/crdgen); printf '%s\n' "$$crd" > deploy/crd/batch.ostinato.dev_cronjobs.yaml
	policies=$$($(GO) run ./deploy/policygen); printf '%s\n' "$$policies" > deploy/base/admission-bounds.yaml
	$(GO) run ./docs/refgen
	@{ cat deploy/monitoring/prometheusrule.head; sed -n '/^groups:/,$$ s/^./  &/p' deploy/monitoring/rules.yaml; } > deploy/components/prometheus-operator/prometheusrule.yaml

.PHONY: vulncheck
vulncheck: devstack ## Look for known vulnerabilities in what is built. Asks VULNDB.
	@tool=$(call TOOL,govulncheck); status=0; "$$tool" -db="$(VULNDB)" ./cmd/... || status=$$?; case $$status in \
	0) ;; \
	3) echo "vulncheck: the programs call code with known vulnerabilities, see above: update those modules"; exit 1;; \
	*) echo "vulncheck: nothing was checked. It needs the Go vulnerability database at $(VULNDB), or VULNDB=file://... with a copy of it"; exit 1;; \
	esac

.PHONY: pin-images
pin-images: ## Write the digest of deploy/Dockerfile's build image into it. Asks its registry, by docker or crane.
	@image=$$(sed -n 's/^ARG BUILD_IMAGE=\([^@]*\).*/\1/p' deploy/Dockerfile); \
	digest=$$(docker buildx imagetools inspect "$$image" --format '{{.Manifest.Digest}}' 2>/dev/null || crane digest "$$image" 2>/dev/null || true); \
	[[ "$$digest" =~ ^sha256:[0-9a-f]{64}$$ ]] || { echo "pin-images: no digest of $$image: it needs docker with buildx, or crane, and the image's registry"; exit 1; }; \
	sed -i.old "s|^ARG BUILD_IMAGE=.*|ARG BUILD_IMAGE=$$image@$$digest|" deploy/Dockerfile && rm deploy/Dockerfile.old; \
	grep '^ARG BUILD_IMAGE' deploy/Dockerfile

.PHONY: bench
bench: devstack ## Compare with kube-controller-manager on one API server; prints a table (BENCH_ARGS=...).
	$(DEVSTACK) tools >/dev/null
	$(GO) run ./test/bench $(BENCH_ARGS)

.PHONY: conformance
conformance: ## Judge Jobs by Kubernetes' own end-to-end suite (CONTROLLER=ostinato|builtin, FOCUS=regexp). Linux, root.
	@$(GO) build -o $(OSTINATO_CACHE)/bin/conformance ./test/conformance
	@exec $(OSTINATO_CACHE)/bin/conformance --controller='$(CONTROLLER)' --focus="$$FOCUS" $(CONFORMANCE_ARGS)

.PHONY: record
record: tools ## Record the histories that replay tests use, from the running code.
	$(GO) test -count=1 -timeout $(TEST_TIMEOUT) ./test/integration -run 'TestHistory$$' -record

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
