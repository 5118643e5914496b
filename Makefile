# SPDX-License-Identifier: MIT
# The front door. Every target installs what it needs, builds, and says what it does.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
GENERATOR := $(shell command -v ninja >/dev/null && echo Ninja || echo "Unix Makefiles")
NVCC := $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
RELEASE := $(if $(NVCC),cuda,release)
GPU := $(if $(NVCC),$(shell nvidia-smi -L 2>/dev/null | head -n 1))
RUN_PRESET := $(if $(GPU),cuda,release)
# AUTO: where packages can't be installed, a build without Google Highway, and a warning as its last word.
HIGHWAY := $(or $(FLASHMOE_HIGHWAY),AUTO)
WARN = if [ -e build/$*/without-highway ]; then cat build/$*/without-highway >&2; fi

.PHONY: help
help:  # what each target is for, by the comments in this file
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Patterns, for the presets of CMakePresets.json.
.SECONDARY:
configure-%: deps
	@echo "== $*"
	@cmake --preset $* -G "$(GENERATOR)" --log-level=WARNING -DFLASHMOE_HIGHWAY=$(HIGHWAY) >/dev/null  # what it warns of is on stderr
build-%: configure-%
	@cmake --build --preset $* -j $(JOBS)
	@$(WARN)
demo-%: configure-%  # only what a first look needs
	@cmake --build --preset $* -j $(JOBS) --target demo
	@$(WARN)

##@ A first look
.PHONY: run
run: deps  ## flashmoe's attention here: checked, then timed next to PyTorch or ONNX Runtime, and next to plain loops
	@scripts/python-env demo & python_env=$$!; $(MAKE) demo-$(RUN_PRESET); wait $$python_env  # one downloads, the other computes
	@scripts/run-demo $(RUN_PRESET)

.PHONY: compare
compare: demo-release  ## Compute exact attention here, check it, and compare it with PyTorch where that is installed
	@scripts/python-env bench
	@scripts/compare-with-pytorch

##@ Work on it
.PHONY: check
check: deps  ## The inner loop, at most two minutes: build what a change reaches, run its fast tests, say what was left out
	@scripts/check $(RUN_PRESET)

.PHONY: build
build: build-$(RELEASE)  ## Build everything this machine can build

.PHONY: test test-flashmoe test-dent verify nightly
test:  ## Build and test what this machine can run (test-flashmoe, test-dent: one of the two products)
	@scripts/run-tests test
test-flashmoe test-dent:
	@scripts/run-tests $@
verify:  ## The rest of what CI proves: all GPU architectures, mutants, sanitizers, clang-tidy, headers, ssh and Slurm
	@scripts/run-tests verify
nightly:  ## What takes longer: every source alone, every case of every mutant, clang-tidy on all of it
	@scripts/run-tests nightly

.PHONY: format
format:  ## Format every C++ and CUDA file
	@scripts/lint fix

.PHONY: lint
lint: build-$(RELEASE)  ## clang-format, ruff, words and clang-tidy alone (`make verify` has them too)
	@scripts/lint format
	@scripts/lint python
	@scripts/lint words
	@scripts/lint tidy build/$(RELEASE)

.PHONY: model-test
ifdef KERNEL
# One kernel and shape: make model-test KERNEL=small_forward SHAPE=1,1,128,64 TRACE=build/trace OPTIONS="--causal --seed 3"
# Every access is checked; PLAIN=1 leaves that out, for speed.
RUN_KERNEL := run_kernel$(if $(PLAIN),,_checked)
model-test: configure-release
	@cmake --build --preset release -j $(JOBS) --target $(RUN_KERNEL)
	@build/release/flashmoe/tests/$(RUN_KERNEL) --kernel $(KERNEL) $(if $(SHAPE),--shape $(SHAPE)) $(if $(TRACE),--trace $(TRACE)) \
	  $(OPTIONS)
else
model-test: build-release  ## Run every GPU kernel on the model of a GPU, on this machine's CPU; KERNEL=x for one
	@ctest --preset release -j $(JOBS) -L model
endif

##@ On a machine with a GPU
.PHONY: gpu-test
gpu-test: build-cuda  ## The whole correctness suite on this machine's GPU
	@FLASHMOE_RECORD_OCCUPANCY=build/occupancy.txt build/cuda/flashmoe/tests/gpu_test --gtest_brief=0
	@build/cuda/flashmoe/tests/registers_test --gtest_brief=1
	@build/cuda/dent/tests/diagnose/diagnose_live_test
	@dent/tests/gpu/dent_on_gpu

.PHONY: gpu-sanitize
gpu-sanitize: build-cuda  ## compute-sanitizer over every kernel once
	@compute-sanitizer --tool memcheck --error-exitcode 1 build/cuda/flashmoe/tests/gpu_test --gtest_filter='GpuSmall.*'
	@compute-sanitizer --tool racecheck --error-exitcode 1 build/cuda/flashmoe/tests/gpu_test --gtest_filter='GpuRaces.*'
	@compute-sanitizer --tool synccheck --error-exitcode 1 build/cuda/flashmoe/tests/gpu_test --gtest_filter='GpuRaces.*'

.PHONY: gpu-soak
gpu-soak: build-cuda  ## 100,000 launches of hopper_forward and of gradients, each result compared with the first
	@FLASHMOE_SOAK=100000 build/cuda/flashmoe/tests/gpu_test --gtest_filter='GpuSoak.*'

.PHONY: gpu-bench
gpu-bench: build-cuda  ## Time the GPU kernels against PyTorch's backends; JSON into build/bench/
	@python3 setup.py build_ext --inplace
	@mkdir -p build/bench
	@python3 flashmoe/benches/attention_gpu.py --json build/bench/attention_gpu.json
	@python3 flashmoe/benches/attention_step.py --device cuda --json build/bench/attention_step.json
	@python3 flashmoe/benches/transformers_gpu.py --device cuda --json build/bench/transformers.json
	@scripts/plain-kernels build/bench > build/bench/plain_kernels.json
	@if python3 -c 'import sys, torch; sys.exit(torch.cuda.get_device_capability()[0] != 9)'; then \
	  python3 flashmoe/benches/attention_hopper.py --library build/cuda/flashmoe/benches/libhopper_forms.so --forms -1 --json build/bench/attention_hopper.json && \
	  python3 flashmoe/benches/attention_backward.py --library build/cuda/flashmoe/benches/libbackward_forms.so --json build/bench/attention_backward.json; \
	else echo "attention_hopper.py, attention_backward.py: skipped, since this GPU is not of compute capability 9.0"; fi

##@ Measure
.PHONY: bench
bench: build-release  ## Time the CPU kernels against PyTorch, and dent's verdicts on equal kernels; JSON into build/bench/
	@scripts/python-env bench
	@FLASHMOE_CUDA=OFF .venv/bin/python setup.py build_ext --inplace
	@mkdir -p build/bench
	@.venv/bin/python flashmoe/benches/attention_cpu.py --json build/bench/attention_cpu.json
	@.venv/bin/python flashmoe/benches/gradients_cpu.py --json build/bench/gradients_cpu.json
	@build/release/dent/dent_bench aa --json build/bench/dent_aa.json
	@.venv/bin/python dent/benches/loop_aa.py build/release/dent/dent --json build/bench/loop_aa.json

##@ Documents
.PHONY: docs
docs:  ## Build the site of the documents into build/site, with search; a dead link is an error
	@scripts/python-env docs
	@scripts/build-docs

##@ Package, install, clean
.PHONY: wheel
wheel: deps  ## Build wheels for this Python into dist/, for the CPU and with CUDA where nvcc is; try each in a bare environment
	@scripts/python-env wheel
	@scripts/make-wheel

.PHONY: deps
deps:  ## Install what is missing from the distribution's packages (every target that builds does)
	@scripts/install-deps

.PHONY: clean
clean:  ## Remove what was built
	@rm -rf build
