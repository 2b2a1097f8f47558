# Everything a developer does. `make help` lists it.

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -X github.com/apserver/ap/cli.Version=$(VERSION)
# Packages whose tests are worth the race detector's price, and tests in them that aren't: they only drive other
# programs, or ours through many mutations.
NO_RACE := Mutants|Inspector|MCPConformance|Axe|Screenshots
RACE := ./cli/... ./core/run/... ./core/server/... ./db/... ./web/...

# What the generated files hold, to notice a change.
TEMPL_SUM := find . -name '*_templ.go' -not -path './.build/*' | sort | xargs sha256sum
# Where `make vendor` unpacks the pinned browser packages.
VENDOR := .build/vendor

.DEFAULT_GOAL := help
.PHONY: help demo test build install lint generate vendor race fuzz bench bench-lint bench-scale screenshots clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build ## See everything at once: examples, server, agent, inbox
	@bin/ap demo

test: ## Run all tests (browser tests need Chromium, and say when they skip)
	$(GO) test ./...

build: ## Build bin/ap
	@$(GO) build -ldflags '$(LDFLAGS)' -o bin/ap ./cmd/ap

install: ## Install ap where `go install` puts programs
	$(GO) install -ldflags '$(LDFLAGS)' ./cmd/ap

lint: ## Check formatting, vet, staticcheck and that generated files are current
	@bad=$$(git ls-files '*.go' | grep -v '_templ\.go$$' | xargs gofmt -l); \
		test -z "$$bad" || { echo "not formatted; run gofmt -w on:"; echo "$$bad"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@before=$$($(TEMPL_SUM)); $(GO) tool templ generate -log-level error; \
		test "$$before" = "$$($(TEMPL_SUM))" || { echo "generated templates were not current; commit what was just written"; exit 1; }

generate: ## Write the generated files (templates) again
	$(GO) tool templ generate

vendor: ## Copy the browser files pinned in static/vendor/package-lock.json (needs npm)
	@mkdir -p $(VENDOR) && cp static/vendor/package.json static/vendor/package-lock.json $(VENDOR)
	@cd $(VENDOR) && npm ci --ignore-scripts --no-audit --no-fund --silent
	@cp $(VENDOR)/node_modules/htmx.org/dist/htmx.min.js static/vendor/htmx.min.js
	@cp $(VENDOR)/node_modules/htmx.org/LICENSE static/vendor/htmx.LICENSE

race: ## Run the tests that are worth it under the race detector
	$(GO) test -race -skip '$(NO_RACE)' $(RACE)

fuzz: ## Fuzz each parser for FUZZTIME (default 20s)
	@for target in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | sort); do \
		for name in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' $$target); do \
			echo "$$name in $$(dirname $$target)"; \
			$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $${FUZZTIME:-20s} ./$$(dirname $$target) || exit 1; \
		done; \
	done

bench: ## Measure the engine and the MCP endpoint
	$(GO) run ./bench/engine
	$(GO) run ./bench/mcp

bench-lint: ## Measure lint beside a schema check of the same files in Node (needs npm)
	$(GO) run ./bench/lint

bench-scale: ## Measure whether a million runs in the database show (takes minutes)
	$(GO) run ./bench/scale

screenshots: ## Take the pictures in docs/screenshots again (needs Chromium)
	AP_SCREENSHOTS=$(CURDIR)/docs/screenshots $(GO) test ./web -run Screenshots -count=1 -v

clean: ## Remove what was built
	rm -rf bin .build
