# `make help` tells what there is. Everything local is made by localstack/.

# Ports of the stack that `make run` and `make up` start.
PORT      ?= 3000
AWS_PORT  ?= 4566
RCS_PORT  ?= 3001
SINK_PORT ?= 3002
# Ports of the stack that `make test` starts beside it.
TEST_PORT      ?= 13000
TEST_AWS_PORT  ?= 14566
TEST_RCS_PORT  ?= 13001
TEST_SINK_PORT ?= 13002

CAMPAIGN ?= events/demo-campaign.csv
# What `make test` runs, and how.
PACKAGES  ?= ./...
TESTFLAGS ?=

GOTESTSUM_VERSION := v1.13.0

STACK      = bin/localstack --port $(PORT) --aws-port $(AWS_PORT) --rcs-port $(RCS_PORT) --sink-port $(SINK_PORT)
TEST_STACK = bin/localstack --dir .local/test --name campaign-dispatch-test \
	--port $(TEST_PORT) --aws-port $(TEST_AWS_PORT) --rcs-port $(TEST_RCS_PORT) --sink-port $(TEST_SINK_PORT) \
	--parameter MinLeadSeconds=2 --parameter SweepAfterSeconds=2

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  Ports of 127.0.0.1, changed with make run NAME=number:"
	@echo "    PORT=$(PORT) the service, AWS_PORT=$(AWS_PORT) the emulator of AWS, RCS_PORT=$(RCS_PORT) the provider simulator, SINK_PORT=$(SINK_PORT) the webhook sink"
	@echo "    make test: TEST_PORT=$(TEST_PORT) TEST_AWS_PORT=$(TEST_AWS_PORT) TEST_RCS_PORT=$(TEST_RCS_PORT) TEST_SINK_PORT=$(TEST_SINK_PORT)"

.PHONY: run up logs down status
run: bin/localstack ## the whole service on this machine, and a demo campaign through it (CAMPAIGN=file.csv or .json)
	@$(STACK) --campaign $(CAMPAIGN) run
up: bin/localstack ## the same without the demo; again, it deploys what changed
	@$(STACK) up
logs: bin/localstack ## follow what all functions log
	@$(STACK) logs
down: bin/localstack ## stop everything and forget everything
	@$(STACK) down
status: bin/localstack ## where everything is
	@$(STACK) status

# go build looks itself what is up to date.
.PHONY: bin/localstack
bin/localstack:
	@go build -o $@ ./localstack

.PHONY: test
test: bin/localstack bin/gotestsum ## all tests, on a stack of their own (PACKAGES=./internal/phone for some)
	@trap 'exit 130' INT TERM; trap '$(TEST_STACK) down >/dev/null' EXIT; \
	$(TEST_STACK) down >/dev/null && $(TEST_STACK) up && \
	STACK_ENV='$(CURDIR)/.local/test/stack.env' bin/gotestsum --format pkgname -- -timeout 15m $(TESTFLAGS) $(PACKAGES)

bin/gotestsum: Makefile
	@echo "installing gotestsum $(GOTESTSUM_VERSION)"
	@GOBIN='$(CURDIR)/bin' go install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	@touch $@

.PHONY: bench
bench: ## the measured figures, as a table and in .local/bench.json
	@go run ./localstack/bench

-include localstack/tools/template.mk
