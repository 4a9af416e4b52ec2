# make lists the targets.

GO      ?= go
BUILD   := build
RALPH   := $(BUILD)/ralph
LINT    := $(BUILD)/bin/golangci-lint
LINT_VERSION := v2.5.0

# A sandbox's processes start this binary again in an empty root: it must be static.
export CGO_ENABLED := 0

.DEFAULT_GOAL := help
.PHONY: help build install demo test quick bench lint fuzz cross clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ralph into build/ralph
	$(GO) build -ldflags '-s -w' -o $(RALPH) .

install: ## install ralph into GOBIN
	$(GO) install -ldflags '-s -w' .

demo: build ## a guided tour of ralph exec, with an attack on it at the end
	@scripts/demo.sh $(RALPH)

test: ## set up what is missing, run all tests, list what was skipped and why
	@scripts/test.sh

quick: ## run the tests that need no sandbox
	$(GO) test -short ./...

bench: build ## measure, as ratios in one run; the table goes to build/bench.md
	@scripts/bench.sh $(RALPH) $(BUILD)/bench.md

lint: $(LINT) ## run golangci-lint
	$(LINT) run ./...

$(LINT):
	GOBIN=$(abspath $(BUILD)/bin) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

fuzz: ## run every fuzz target for FUZZTIME each
	@scripts/fuzz.sh $(or $(FUZZTIME),20s)

cross: ## compile for the other systems
	@for target in linux/arm64 darwin/arm64 darwin/amd64 windows/amd64; do \
		echo "GOOS=$${target%/*} GOARCH=$${target#*/} go vet ./..."; \
		GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) vet ./... || exit 1; \
	done

clean: ## delete what was built
	rm -rf $(BUILD)
