# `make help` lists the commands. localstack/ has the programs that they run.

# Ports of the stack that `make run` and `make up` start.
PORT      ?= 3000
AWS_PORT  ?= 4566
RCS_PORT  ?= 3001
SINK_PORT ?= 3002
# Name or address of this machine in a container of `sam local`.
SAM_HOST  ?= host.docker.internal
# Ports of the stacks that `make test`, `make bench` and `make prove` start.
TEST_PORT      ?= 13000
TEST_AWS_PORT  ?= 14566
TEST_RCS_PORT  ?= 13001
TEST_SINK_PORT ?= 13002

CAMPAIGN ?= events/demo-campaign.csv
# Packages and flags of `make test`. The race detector needs a C compiler.
PACKAGES  ?= ./...
TESTFLAGS ?=
RACE      ?= $(if $(shell command -v gcc || command -v clang),-race)
# All Go commands compile alike, so that tests, functions and tools share the compiled packages:
# without paths, so that a clone in another folder finds them too, and as the functions are, without
# cgo and the RPC mode of older runtimes. Only the race detector needs cgo.
export GOFLAGS     := $(strip $(shell go env GOFLAGS 2>/dev/null) -trimpath -tags=lambda.norpc)
export CGO_ENABLED := 0
# Without symbols, test binaries are smaller. `make lint` runs vet.
TESTBUILD := -ldflags='-s -w' -vet=off
# What is raced: packages whose code or tests start a goroutine. The others start nothing concurrent
# besides parallel tests and test servers, and are up to thirty times faster without it.
CONCURRENT := (^|[{;])[[:space:]]*go [a-zA-Z_(]|\.Go\(|errgroup

# These tests wait most, and run beside all others: first the end-to-end tests, which kill functions
# that the other tests of the running service need. They are not raced: what they call runs in other
# processes, and the packages that they call themselves are raced by their own tests.
BESIDE := /localstack/e2e
LAST   := /localstack/(browser|demo)
# Simulations of hours and of crashes at any call are not raced here: that takes minutes. The tests of
# send race what its simulation runs, and `make prove PROVE=race` races the others.
SIMULATIONS := /internal/(send/simulation|sweep|intake)

# Prints the packages of GO_TEST that are raced.
define RACED
go list -f '{{.ImportPath}} {{.Dir}}' $(PACKAGES) | grep -vE '($(BESIDE)|$(LAST)|$(SIMULATIONS)) ' | while read -r package folder; do
	! grep -qE '$(CONCURRENT)' "$$folder"/*.go || echo "$$package"
done
endef
export RACED

# Runs a half of the tests: those that run beside the others, or the others. More tests run at a
# time than there are processors, because most wait for the emulator.
define HALF
run() { [ -z "$$1" ] || go test $(TESTBUILD) -json -timeout 45m $$2 $(TESTFLAGS) $$1 || status=1; }
status=0
if [ "$$1" = beside ]; then
	run "$$beside" "-parallel 6"
	run "$$last" "-parallel 4"
else
	run "$$unraced"
	export CGO_ENABLED=$(if $(RACE),1,0)
	run "$$raced" "$(RACE) -p 3 -parallel 4"
fi
exit $$status
endef
export HALF

# Both halves write one stream of events, so that gotestsum counts all tests in one line: the others
# at once, and those beside at the end.
define GO_TEST
packages=$$(go list $(PACKAGES)) || exit
raced=$$(sh -c "$$RACED")
unraced=$$(echo "$$packages" | grep -vxF "$$raced")
beside=$$(echo "$$unraced" | grep -E '$(BESIDE)$$')
last=$$(echo "$$unraced" | grep -E '$(LAST)$$')
unraced=$$(echo "$$unraced" | grep -vE '($(BESIDE)|$(LAST))$$')
export beside last raced unraced
[ -z "$$beside$$last" ] || localstack/browser/tools.sh >&2 || exit
[ -n "$$raced$$unraced" ] || exec sh -c "$$HALF" sh beside
printf 'beside\nothers\n' | xargs -P 2 -n 1 sh -c '[ "$$0" = others ] || exec >"$(TEST_JSON).beside"; sh -c "$$HALF" sh "$$0"'
status=$$?
cat '$(TEST_JSON).beside'
exit $$status
endef
export GO_TEST

# Events of the last `make test`.
TEST_JSON ?= .local/test.json

define AFTER_TEST
sh -c '$(GOTESTSUM) tool slowest --jsonfile "$$GOTESTSUM_JSONFILE" --num 20
[ "$$TESTS_SKIPPED" = 0 ] || { echo "make test: $$TESTS_SKIPPED skipped, which counts as failed; the reasons are above" >&2; exit 1; }'
endef
export AFTER_TEST

GOTESTSUM_VERSION := v1.13.0
GOTESTSUM         := bin/gotestsum-$(GOTESTSUM_VERSION)

# $(call quoted,VARIABLE) is its value as one word of the shell.
quoted = '$(subst ','\'',$(value $1))'

# Tests, benchmarks and proofs exceed the default rate limits of a tenant. The service
# counts their calls all the same.
NO_TENANT_LIMIT = --parameter TenantDispatchRate=10000 --parameter TenantDispatchBurst=100000 --parameter TenantReadRate=0

STACK      = bin/localstack --port $(call quoted,PORT) --aws-port $(call quoted,AWS_PORT) \
	--rcs-port $(call quoted,RCS_PORT) --sink-port $(call quoted,SINK_PORT)
# $(call SEPARATE,name) is a stack of its own, with its data in .local/name.
SEPARATE    = bin/localstack --brief --dir .local/$1 --name campaign-dispatch-$1 $(NO_TENANT_LIMIT) \
	--port $(TEST_PORT) --aws-port $(TEST_AWS_PORT) --rcs-port $(TEST_RCS_PORT) --sink-port $(TEST_SINK_PORT)
SOON        = --parameter MinLeadSeconds=2 --parameter SweepAfterSeconds=2
TEST_STACK  = $(call SEPARATE,test) $(SOON)
PROVE_STACK = $(call SEPARATE,prove) $(SOON)
BENCH_STACK = $(call SEPARATE,bench)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  Ports on 127.0.0.1. To change one: make run NAME=number"
	@echo "    PORT=$(PORT) the service, AWS_PORT=$(AWS_PORT) the AWS emulator, RCS_PORT=$(RCS_PORT) the provider simulator, SINK_PORT=$(SINK_PORT) the webhook sink"
	@echo "    make test, make bench, make prove: TEST_PORT=$(TEST_PORT) TEST_AWS_PORT=$(TEST_AWS_PORT) TEST_RCS_PORT=$(TEST_RCS_PORT) TEST_SINK_PORT=$(TEST_SINK_PORT)"

.PHONY: run up logs down status sam-env
run: bin/localstack ## start the stack and send a demo campaign (CAMPAIGN=file.csv, .xlsx or .json)
	@$(STACK) --campaign $(call quoted,CAMPAIGN) run
up: bin/localstack ## start the stack without the demo, or deploy changes to it
	@$(STACK) up
logs: bin/localstack ## follow the logs of all functions
	@$(STACK) logs
down: bin/localstack ## stop the stack and delete its data
	@$(STACK) down
status: bin/localstack ## show the addresses of the stack
	@$(STACK) status
sam-env: bin/localstack ## write .local/sam-env.json for sam local --env-vars (SAM_HOST=host.docker.internal)
	@$(STACK) --sam-host $(call quoted,SAM_HOST) sam-env

# Phony, because go build detects changes itself.
.PHONY: bin/localstack bin/admin
bin/localstack: folder := localstack
bin/admin: folder := internal/operator/command
bin/localstack bin/admin:
	@command -v go >/dev/null || { echo "Go is not on the PATH: install it from https://go.dev/dl" >&2; exit 1; }
	@test -x $@ || echo "building $@, which takes up to two minutes the first time"
	@go build -o $@ ./$(folder)

.PHONY: test
test: bin/localstack $(GOTESTSUM) ## run all tests on a separate stack; a skipped test fails the run (PACKAGES=./internal/phone for some, TESTFLAGS='-run ^TestX$$' for one)
	@trap 'exit 130' INT TERM; trap '$(TEST_STACK) down >/dev/null' EXIT; \
	$(TEST_STACK) down >/dev/null && $(TEST_STACK) up && \
	mkdir -p $(dir $(TEST_JSON)) && STACK_ENV='$(CURDIR)/.local/test/stack.env' \
	$(GOTESTSUM) --format pkgname --jsonfile $(TEST_JSON) --post-run-command "$$AFTER_TEST" --raw-command -- sh -c "$$GO_TEST"

.PHONY: screenshot
screenshot: ## take the screenshot in the README again
	@SCREENSHOTS=1 $(MAKE) --no-print-directory test PACKAGES=./localstack/browser TESTFLAGS='-run ^TestReadme_Screenshot$$$$'
	@cp .local/screenshots/readme.png docs/images/dashboard.png
	@echo "written: docs/images/dashboard.png"

$(GOTESTSUM):
	@echo "installing gotestsum $(GOTESTSUM_VERSION)"
	@GOBIN='$(CURDIR)/bin' go install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	@mv bin/gotestsum $@

# Operator commands, on the local stack, or on AWS with ENV=staging or ENV=production. The
# help text of each lists its variables.
ADMIN = BY_MAKE='make$(if $(ENV), ENV=$(ENV))' bin/admin
ON_STACK = $(if $(filter production,$(ENV)),--stack campaign-dispatch,$(if $(ENV),--stack campaign-dispatch-$(ENV)))
# $(call flag,--name,VARIABLE) is empty if the variable is not set.
flag = $(if $(value $2),$1 $(call quoted,$2))
need = $(if $(value $1),,$(error make $@ needs $1=…, see make help))
# What a command acts on is typed: .local/stack.env and the first call of the API have some of the same names, and some
# shells set NAME.
$(foreach name,NAME TENANT CLIENT_ID PHONE AGENT ENDPOINT EMAIL ROLE TEMPLATE ALL CONFIRM UNLIMITED,\
	$(if $(filter command,$(origin $(name))),,$(eval $(name) :=)))

.PHONY: tenant prices bill agent remove-agent template credential rotate revoke user endpoint rotate-endpoint enable-endpoint disable-endpoint resend failures pause resume redrive replay-webhooks drift restore hold reopen rotate-signing-keys list export-number erase-number
tenant: bin/admin ## create or change a tenant: TENANT=id NAME= AGENT=id, for a new agent KEY=file.json RATE=messages-a-second or UNLIMITED=1
	@$(call need,TENANT)$(ADMIN) tenant $(ON_STACK) $(call flag,--id,TENANT) $(call flag,--name,NAME) $(call flag,--agent-id,AGENT) $(call flag,--key-file,KEY) $(call flag,--rate,RATE) $(if $(UNLIMITED),--unlimited)
prices: bin/admin ## set a tenant's prices and budget in BRL: TENANT=id BASIC=0.05 SINGLE=0.10 DAY=500 MONTH=10000; 0 removes one
	@$(call need,TENANT)$(ADMIN) prices $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--basic,BASIC) $(call flag,--single,SINGLE) $(call flag,--day,DAY) $(call flag,--month,MONTH)
bill: bin/admin ## show a tenant's messages by day and an estimate of their cost at AWS: TENANT=id MONTH=2026-11
	@$(call need,TENANT)$(ADMIN) bill $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--month,MONTH)
agent: bin/admin ## create or change an agent of the provider: AGENT=id KEY=file.json RATE=messages-a-second or UNLIMITED=1 TOKEN=
	@$(call need,AGENT)$(ADMIN) agent $(ON_STACK) $(call flag,--id,AGENT) $(call flag,--key-file,KEY) $(call flag,--rate,RATE) $(if $(UNLIMITED),--unlimited) $(call flag,--webhook-token,TOKEN)
remove-agent: bin/admin ## answer and drop the events of an agent that no tenant uses: AGENT=id
	@$(call need,AGENT)$(ADMIN) remove-agent $(ON_STACK) $(call flag,--id,AGENT)
template: bin/admin ## create a template: TENANT=id TEXT='Olá {{nome}}!' CARD=file.json or CONTENT=file.json, NAME= TRAFFIC=; TEMPLATE=uuid for a new version
	@$(call need,TENANT)$(ADMIN) template $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--text,TEXT) $(call flag,--card,CARD) $(call flag,--content,CONTENT) $(call flag,--traffic,TRAFFIC) $(call flag,--name,NAME) $(call flag,--id,TEMPLATE)
credential: bin/admin ## create an API credential: TENANT=id NAME= SCOPES='campaigns:dispatch templates'; default campaigns:dispatch
	@$(call need,TENANT)$(ADMIN) credential $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--name,NAME) $(call flag,--scopes,SCOPES)
rotate: bin/admin ## rotate the secret of a credential: CLIENT_ID=rcs_… KEEP=24h; KEEP=0s revokes the old secret and all refresh tokens immediately
	@$(call need,CLIENT_ID)$(ADMIN) rotate $(ON_STACK) $(call flag,--client-id,CLIENT_ID) $(call flag,--keep,KEEP)
revoke: bin/admin ## revoke a credential: CLIENT_ID=rcs_…
	@$(call need,CLIENT_ID)$(ADMIN) revoke $(ON_STACK) $(call flag,--client-id,CLIENT_ID)
user: bin/admin ## add, change or remove a dashboard user: TENANT=id EMAIL=address ROLE=admin, author, approver, viewer or none
	@$(call need,TENANT)$(call need,EMAIL)$(ADMIN) user $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--email,EMAIL) $(call flag,--role,ROLE)
endpoint: bin/admin ## register a webhook endpoint: TENANT=id URL= KINDS=
	@$(call need,TENANT)$(call need,URL)$(ADMIN) endpoint $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--url,URL) $(call flag,--kinds,KINDS)
rotate-endpoint: bin/admin ## rotate the signing secret of an endpoint: TENANT=id ENDPOINT=id KEEP=24h
	@$(call need,TENANT)$(call need,ENDPOINT)$(ADMIN) rotate-endpoint $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--id,ENDPOINT) $(call flag,--keep,KEEP)
enable-endpoint: bin/admin ## enable an endpoint and post its waiting webhooks: TENANT=id ENDPOINT=id
	@$(call need,TENANT)$(call need,ENDPOINT)$(ADMIN) enable-endpoint $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--id,ENDPOINT)
disable-endpoint: bin/admin ## disable an endpoint: TENANT=id ENDPOINT=id
	@$(call need,TENANT)$(call need,ENDPOINT)$(ADMIN) disable-endpoint $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--id,ENDPOINT)
resend: bin/admin ## resend the dead webhooks of an endpoint: TENANT=id ENDPOINT=id
	@$(call need,TENANT)$(call need,ENDPOINT)$(ADMIN) resend $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--id,ENDPOINT)
failures: bin/admin ## show the last failed webhooks of an endpoint: TENANT=id ENDPOINT=id
	@$(call need,TENANT)$(call need,ENDPOINT)$(ADMIN) failures $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--id,ENDPOINT)
pause: bin/admin ## stop sending: ALL=1, TENANT=id or AGENT=id
	@$(ADMIN) pause $(ON_STACK) $(if $(ALL),--all) $(call flag,--tenant,TENANT) $(call flag,--agent,AGENT)
resume: bin/admin ## resume sending: ALL=1, TENANT=id or AGENT=id
	@$(ADMIN) resume $(ON_STACK) $(if $(ALL),--all) $(call flag,--tenant,TENANT) $(call flag,--agent,AGENT)
redrive: bin/admin ## move dead letters back to their queue: QUEUE=release, send, events, notify, revoke, exports or intake
	@$(ADMIN) redrive $(ON_STACK) $(call flag,--queue,QUEUE)
replay-webhooks: bin/admin ## queue the webhooks of recorded outcomes again: SINCE=2026-11-20T12:00:00-03:00, then CONFIRM=1
	@$(call need,SINCE)$(ADMIN) replay-webhooks $(ON_STACK) $(call flag,--since,SINCE) $(if $(CONFIRM),--confirm)
drift: bin/admin ## detect drift from template.yaml; fails if there is any
	@$(ADMIN) drift $(ON_STACK)
restore: bin/admin ## stop traffic and restore the tables to a point in time: AT=2026-11-20T12:00:00-03:00
	@$(call need,AT)$(ADMIN) restore $(ON_STACK) $(call flag,--at,AT)
hold: bin/admin ## stop all traffic and sending, without a restore (to undo it: make reopen, then make resume ALL=1)
	@$(ADMIN) hold $(ON_STACK)
reopen: bin/admin ## resume the traffic that hold or restore stopped
	@$(ADMIN) reopen $(ON_STACK)
rotate-signing-keys: bin/admin ## print the next step of a rotation of the signing keys; changes nothing
	@$(ADMIN) rotate-signing-keys $(ON_STACK)
list: bin/admin ## list tenants, agents and pauses; with TENANT=id the tenant's templates, credentials and endpoints
	@$(ADMIN) list $(ON_STACK) $(call flag,--tenant,TENANT)
export-number: bin/admin ## export the data of a phone number to a file: TENANT=id PHONE=+55… FILE=out.json
	@$(call need,TENANT)$(call need,PHONE)$(ADMIN) export-number $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--phone,PHONE) $(call flag,--file,FILE)
erase-number: bin/admin ## erase the data of a phone number, except an opt-out: TENANT=id PHONE=+55…
	@$(call need,TENANT)$(call need,PHONE)$(ADMIN) erase-number $(ON_STACK) $(call flag,--tenant,TENANT) $(call flag,--phone,PHONE)

.PHONY: soak
soak: ## test outcomes while functions are killed, with MESSAGES=10000 (about ten minutes)
	@$(MAKE) --no-print-directory test PACKAGES=./localstack/e2e TESTFLAGS="-v -count 1 -timeout 60m -run 'TestOutcomes_KilledFunctions'"
soak: MESSAGES ?= 10000
soak: export SOAK_MESSAGES = $(MESSAGES)

# $(call GO_BENCH,parts) runs the benchmarks whose names match.
GO_BENCH = go test -run '^$$' -bench '(?i)^Benchmark($1)$$' -benchtime 1x -count 1 -timeout 2h ./localstack/lab/bench
# Parts of `make bench` that need no stack and give the same verdict on a busy machine: counts,
# bytes, and ratios of processor time.
STABLE_BENCH := accept|carousel|phones|set|lists|large|send|start

.PHONY: bench bench-stable
bench: bin/localstack ## run the benchmarks, as a table and in .local/bench.json (BENCH=accept for one part)
	@trap 'exit 130' INT TERM; trap '$(BENCH_STACK) down >/dev/null' EXIT; \
	$(BENCH_STACK) down >/dev/null && $(BENCH_STACK) up && \
	STACK_ENV='$(CURDIR)/.local/bench/stack.env' $(call GO_BENCH,$(or $(BENCH),.*))
bench-stable: ## run the benchmarks that need no stack and no idle machine; .ci/run runs them
	@$(call GO_BENCH,$(STABLE_BENCH))

# TestProve runs the parts in PROVE, or all of them, and prints their table.
GO_PROVE = go test -tags prove,lambda.norpc -v -count 1 -timeout 6h -run '^TestProve$$' ./localstack/lab/prove

.PHONY: prove
prove: bin/localstack ## test the promises, as a table and in .local/prove.json (PROVE=linearizability,faults for some parts)
	@trap 'exit 130' INT TERM; trap '$(PROVE_STACK) down >/dev/null' EXIT; \
	$(PROVE_STACK) down >/dev/null && $(PROVE_STACK) up && localstack/browser/tools.sh >&2 && \
	STACK_ENV='$(CURDIR)/.local/prove/stack.env' PROVE='$(PROVE)' $(GO_PROVE)

.PHONY: cost
cost: ## measure the cost of a million messages by function and service, and publish it in the pages (COST_MESSAGES=10000)
	@PROVE=cost $(GO_PROVE) && go run ./localstack/tools/report costs .local/cost.json

.PHONY: scale
scale: ## compute which AWS limit each load reaches first (METER=1 measures the inputs again)
	@$(if $(METER),PROVE=scale SCALE_METER=1 $(GO_PROVE) &&) go run ./localstack/tools/report scale

-include localstack/tools/template.mk
