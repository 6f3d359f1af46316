# The commands of this repository. Their logic lives in `cargo xtask`.

# For what is built or fetched once, also across checkouts. Removing it costs time and nothing else.
export POINTSMAN_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pointsman
export CARGO_TARGET_DIR ?= $(POINTSMAN_CACHE)/target

# As `cargo xtask test` builds them, so that the two share all they compile.
BUILD := cargo build --profile=ci --workspace --bins '--test=*'

.DEFAULT_GOAL := help
.PHONY: help demo test sim check counts bench-scrape coverage fuzz generate format

help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Run engines, the picker and Envoy here and show where requests go and why.
	$(BUILD)
	$(CARGO_TARGET_DIR)/ci/pointsman up

test: ## Run every check, then the end-to-end tests: Envoy, the picker and engines.
	cargo xtask test

sim: ## Run every scenario of the simulator and judge its checks.
	$(BUILD)
	$(CARGO_TARGET_DIR)/ci/pointsman lab run all

check: ## Run every check but the end-to-end tests.
	cargo xtask check

counts: ## Count the instructions of the hot functions; needs valgrind.
	cargo xtask counts

bench-scrape: ## Time the reading of metrics pages of 300 KB, beside a full parse by a common crate.
	cargo bench --package=pointsman-counts --bench=scrape

coverage: ## Tell which lines the unit tests of CRATES="request observe ..." do not reach.
	cargo xtask coverage $(CRATES)

fuzz: ## Look for inputs that break: FUZZ_TARGET=<part of a name>, FUZZ_SECONDS=<for each>.
	cargo xtask fuzz $(if $(FUZZ_TARGET),--target='$(FUZZ_TARGET)') $(if $(FUZZ_SECONDS),--seconds=$(FUZZ_SECONDS))

generate: ## Write the generated files.
	cargo xtask generate

format: ## Format all code.
	cargo fmt --all
