# make lists the targets.

GO      ?= go
BUILD   := build
RALPH   := $(BUILD)/ralph
LINT    := $(BUILD)/bin/golangci-lint
LINT_VERSION := v2.5.0

# A sandbox's processes start this binary again in an empty root: it must be static.
export CGO_ENABLED := 0

# git refuses root a checkout of somebody else, and Go then refuses to build.
VCS := $(shell git rev-parse HEAD >/dev/null 2>&1 || echo -buildvcs=false)
BUILD_FLAGS := $(VCS) -ldflags '-s -w'

.DEFAULT_GOAL := help
.PHONY: help build install demo tour test quick bench gatebench loopbench gitbench lint fuzz cross release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ralph into build/ralph
	$(GO) build $(BUILD_FLAGS) -o $(RALPH) .

install: ## install ralph into GOBIN
	$(GO) install $(BUILD_FLAGS) .

demo: build ## a whole run in a few seconds, offline: an agent that tries to get out, then works
	@$(RALPH) demo

tour: build ## a guided tour of ralph exec, with an attack on it at the end
	@scripts/tour.sh $(RALPH)

test: ## set up what is missing, run all tests, list what was skipped and why
	@scripts/test.sh

quick: ## run the tests that need no sandbox
	$(GO) test -short ./...

bench: build ## measure, as ratios in one run; the table goes to build/bench.md
	@scripts/bench.sh $(RALPH) $(BUILD)/bench.md

gatebench: ## measure the gate beside tinyproxy and squid; the table goes to build/gatebench.md
	@scripts/gatebench.sh $(BUILD)/gatebench.md

loopbench: build ## measure what a run costs beside the agent; the table goes to build/loopbench.md
	@$(GO) run ./scripts/loopbench $(abspath $(RALPH)) | tee $(BUILD)/loopbench.md

gitbench: build ## measure clones, imports and checkouts of a large repository; the tables go to build/gitbench.md
	@$(GO) run ./scripts/gitbench -cache $(BUILD)/gitbench $(abspath $(RALPH)) | tee $(BUILD)/gitbench.md

lint: $(LINT) ## run golangci-lint
	$(LINT) run ./...

$(LINT):
	GOBIN=$(abspath $(BUILD)/bin) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

fuzz: ## run every fuzz target for FUZZTIME each
	@scripts/fuzz.sh $(or $(FUZZTIME),20s)

cross: ## compile for the other systems
	@scripts/cross.sh

# Without -trimpath elsewhere: it would double the cache of everyday builds.
release: ## build what is handed out into build/, without paths of this machine
	@for arch in amd64 arm64; do \
		echo "$(BUILD)/ralph-linux-$$arch"; \
		GOOS=linux GOARCH=$$arch $(GO) build -trimpath $(BUILD_FLAGS) -o $(BUILD)/ralph-linux-$$arch . || exit 1; \
	done

clean: ## delete what was built
	rm -rf $(BUILD)
