# Lint, the checks of the template, and deployment. Included by the Makefile.

GOLANGCI_LINT_VERSION := v2.15.0

SAM_VENV     := .local/sam-venv
CHECKOV_VENV := .local/checkov-venv
SAM      := SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 $(SAM_VENV)/bin/sam
# sam expands Fn::ForEach only on request.
export SAM_CLI_ENABLE_LANGUAGE_EXTENSIONS := 1
# What `sam build` hands to the compiler: small static binaries that are the same
# for the same source, without the RPC mode of older runtimes. With cgo they would
# need the C library of the machine that built them.
SAM_GOFLAGS := CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false -tags=lambda.norpc "-ldflags=-s -w"'

.PHONY: lint fmt
lint: bin/golangci-lint ## check the code by .golangci.yml
	@bin/golangci-lint run ./... || { echo "lint: mend what is listed above; 'make fmt' does the formatting" >&2; exit 1; }
fmt: bin/golangci-lint ## format the code
	@bin/golangci-lint fmt ./...

bin/golangci-lint: localstack/tools/template.mk
	@echo "installing golangci-lint $(GOLANGCI_LINT_VERSION), which takes some minutes once"
	@GOBIN='$(CURDIR)/bin' go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION) \
		|| { echo "golangci-lint could not be installed: see above; it needs Go and the module proxy" >&2; exit 1; }
	@touch $@

.PHONY: check-template sam-build
check-template: $(SAM_VENV)/installed $(CHECKOV_VENV)/installed ## validate, lint and build template.yaml
	@$(SAM) validate --lint >.local/sam.log 2>&1 \
		|| { cat .local/sam.log >&2; echo "template.yaml is not valid: mend what sam validate says above" >&2; exit 1; }
	@$(SAM_VENV)/bin/cfn-lint --include-checks I -- template.yaml \
		|| { echo "template.yaml: mend what cfn-lint lists above" >&2; exit 1; }
	@go run ./localstack/template/print >.local/template.expanded.yaml
	@$(CHECKOV_VENV)/bin/checkov --config-file .checkov.yaml -f .local/template.expanded.yaml \
		|| { echo "template.yaml: fix what checkov lists above, or skip the check in .checkov.yaml with a reason" >&2; exit 1; }
	@$(SAM_VENV)/bin/python localstack/tools/samlocal_test.py >.local/sam.log 2>&1 \
		|| { cat .local/sam.log >&2; echo "template.yaml: SAM reads other routes or variables from it than it should, see above" >&2; exit 1; }
	@$(MAKE) --no-print-directory sam-build
	@echo "template.yaml is valid, lints clean and builds"
sam-build: $(SAM_VENV)/installed
	@$(SAM_GOFLAGS) $(SAM) build $(if $(ENV),--config-env $(ENV)) >.local/sam.log 2>&1 \
		|| { cat .local/sam.log >&2; echo "the functions do not build: mend what sam build says above" >&2; exit 1; }

.PHONY: preflight
preflight: ## check that the AWS account can hold the stack (ENV=staging or production)
	@case '$(ENV)' in staging|production) ;; \
		*) echo "say which environment to check: make preflight ENV=staging, or ENV=production" >&2; exit 2;; esac
	@$(MAKE) --no-print-directory $(SAM_VENV)/installed
	@$(SAM_VENV)/bin/python localstack/tools/preflight.py '$(ENV)'

.PHONY: deploy
deploy: bin/admin ## check the account, build and deploy (ENV=staging or production); END_TOKENS=1 skips the signing-key check
	@case '$(ENV)' in local|staging|production) ;; \
		*) echo "say where to deploy to: make deploy ENV=staging, or ENV=production" >&2; exit 2;; esac
	@$(MAKE) --no-print-directory $(SAM_VENV)/installed
	@if [ '$(ENV)' != local ]; then $(SAM_VENV)/bin/python localstack/tools/preflight.py '$(ENV)'; \
		elif [ -z "$$AWS_ENDPOINT_URL" ]; then echo "ENV=local is for an emulator of AWS: set AWS_ENDPOINT_URL to its address, or deploy with ENV=staging" >&2; exit 2; fi
	@$(MAKE) --no-print-directory sam-build
	@$(firstword $(SAM)) AWS_DEFAULT_REGION=us-east-1 END_TOKENS='$(END_TOKENS)' $(SAM_VENV)/bin/python localstack/tools/deploy.py $(lastword $(SAM)) '$(ENV)'
	@echo "next: make drift ENV=$(ENV) detects drift from template.yaml; to roll back, deploy the previous commit"

# The file says that the requirements were installed whole; another version of
# them is installed from nothing. --no-deps, because they name everything.
define install
	@python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null \
		|| { echo "checking and deploying the template needs Python 3.10 or newer with venv (Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "installing $1 into $(@D), which takes some minutes once"
	@mkdir -p .local && rm -rf $(@D) && python3 -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $< \
		|| { echo "$1 could not be installed: see above; it needs the Python package index" >&2; exit 1; }
	@touch $@
endef

$(SAM_VENV)/installed: localstack/tools/requirements-sam.txt
	$(call install,aws-sam-cli and cfn-lint)
# Apart from sam, whose versions of the same packages differ.
$(CHECKOV_VENV)/installed: localstack/tools/requirements-checkov.txt
	$(call install,checkov)
