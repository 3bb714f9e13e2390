# Lint, template checks and deployment. The Makefile includes this file.

GOLANGCI_LINT_VERSION := v2.15.0

# The regions that a stack can be in.
REGIONS := sa-east-1 us-east-1
SAM_VENV     := .local/sam-venv
CHECKOV_VENV := .local/checkov-venv
SAM      := SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 $(SAM_VENV)/bin/sam
# sam expands Fn::ForEach only on request.
export SAM_CLI_ENABLE_LANGUAGE_EXTENSIONS := 1
# Compiler flags of `sam build`: small, static and reproducible binaries, without the RPC
# mode of older runtimes. With cgo they would depend on the C library of the build machine.
SAM_GOFLAGS := CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false -tags=lambda.norpc "-ldflags=-s -w"'

.PHONY: lint fmt
lint: bin/golangci-lint ## check the code with golangci-lint (.golangci.yml)
	@bin/golangci-lint run ./... || { echo "lint: fix the problems above; 'make fmt' fixes the formatting" >&2; exit 1; }
fmt: bin/golangci-lint ## format the code
	@bin/golangci-lint fmt ./...

bin/golangci-lint: localstack/tools/template.mk
	@echo "installing golangci-lint $(GOLANGCI_LINT_VERSION), which takes some minutes the first time"
	@GOBIN='$(CURDIR)/bin' go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION) \
		|| { echo "golangci-lint could not be installed, see above; the installation needs Go and the module proxy" >&2; exit 1; }
	@touch $@

.PHONY: check-template sam-build
check-template: $(SAM_VENV)/installed $(CHECKOV_VENV)/installed ## validate, lint and build template.yaml
	@$(SAM) validate --lint >.local/sam.log 2>&1 \
		|| { cat .local/sam.log >&2; echo "template.yaml is not valid: fix the errors of sam validate above" >&2; exit 1; }
	@$(SAM_VENV)/bin/cfn-lint --include-checks I --regions $(REGIONS) -- template.yaml \
		|| { echo "template.yaml: fix the problems that cfn-lint lists above" >&2; exit 1; }
	@go run ./localstack/tools/report template >.local/template.expanded.yaml
	@$(CHECKOV_VENV)/bin/checkov --config-file .checkov.yaml -f .local/template.expanded.yaml \
		|| { echo "template.yaml: fix the problems that checkov lists above, or skip the check in .checkov.yaml with a reason" >&2; exit 1; }
	@$(SAM_VENV)/bin/python localstack/tools/samlocal_test.py >.local/sam.log 2>&1 \
		|| { cat .local/sam.log >&2; echo "template.yaml: SAM does not read the expected routes or variables, see above" >&2; exit 1; }
	@$(MAKE) --no-print-directory sam-build
	@echo "template.yaml is valid, lints clean and builds"
sam-build: $(SAM_VENV)/installed
	@$(SAM_GOFLAGS) $(SAM) build $(if $(ENV),--config-env $(ENV)) >.local/sam.log 2>&1 \
		|| { cat .local/sam.log >&2; echo "the functions do not build: fix the errors of sam build above" >&2; exit 1; }

.PHONY: preflight
preflight: ## check that the AWS account can hold the stack (ENV=staging or production), and a load (DAY=messages HOUR=in the busiest hour)
	@case '$(ENV)' in staging|production) ;; \
		*) echo "ENV is missing: run make preflight ENV=staging, or ENV=production" >&2; exit 2;; esac
	@$(MAKE) --no-print-directory $(SAM_VENV)/installed
	@$(SAM_VENV)/bin/python localstack/tools/preflight.py '$(ENV)' $(if $(DAY)$(HOUR),'$(DAY)' '$(HOUR)')

.PHONY: deploy
deploy: bin/admin ## check the account, build and deploy (ENV=staging or production); END_TOKENS=1 skips the signing-key check
	@case '$(ENV)' in local|staging|production) ;; \
		*) echo "ENV is missing: run make deploy ENV=staging, or ENV=production" >&2; exit 2;; esac
	@$(MAKE) --no-print-directory $(SAM_VENV)/installed
	@if [ '$(ENV)' != local ]; then $(SAM_VENV)/bin/python localstack/tools/preflight.py '$(ENV)'; \
		elif [ -z "$$AWS_ENDPOINT_URL" ]; then echo "ENV=local is for an AWS emulator: set AWS_ENDPOINT_URL to its address, or deploy with ENV=staging" >&2; exit 2; fi
	@$(MAKE) --no-print-directory sam-build
	@$(firstword $(SAM)) AWS_DEFAULT_REGION=us-east-1 END_TOKENS='$(END_TOKENS)' $(SAM_VENV)/bin/python localstack/tools/deploy.py $(lastword $(SAM)) '$(ENV)'
	@echo "next: make drift ENV=$(ENV) detects drift from template.yaml; to roll back, deploy the previous commit"

# The file "installed" marks a complete installation. Changed requirements replace the whole
# environment. --no-deps, because the requirements list all packages.
define install
	@python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null \
		|| { echo "checking and deploying the template needs Python 3.10 or newer with venv (Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "installing $1 into $(@D), which takes some minutes the first time"
	@mkdir -p .local && rm -rf $(@D) && python3 -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $< \
		|| { echo "$1 could not be installed, see above; the installation needs the Python package index" >&2; exit 1; }
	@touch $@
endef

$(SAM_VENV)/installed: localstack/tools/requirements-sam.txt
	$(call install,aws-sam-cli and cfn-lint)
# checkov has its own environment because sam needs other versions of the same packages.
$(CHECKOV_VENV)/installed: localstack/tools/requirements-checkov.txt
	$(call install,checkov)
