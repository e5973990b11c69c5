# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# What the environment asks of go stays; nothing but `go mod tidy` and `go get`
# may change a go.mod.
export GOFLAGS := $(filter-out -mod=%,$(shell go env GOFLAGS)) -mod=readonly

# Added to every `go test`, for instance GO_TEST_FLAGS='-run TestR7 -v'
GO_TEST_FLAGS ?=
export GO_TEST_FLAGS
BENCHTIME ?= 1s
export BENCHTIME

export ENTENTE_KUBECTL := $(abspath bin/kubectl)
export ENTENTE_KUBE_BIN := $(abspath bin/kube)

# Another release for `make kube`, for instance KUBE_VERSION=v1.36.1; empty for the
# one that Entente is built with.
KUBE_VERSION ?=
export KUBE_VERSION

# Which cluster `make cluster-up` and `make cluster-down` mean
CLUSTER ?=
cluster = $(or $(CLUSTER),$(error which cluster? For instance CLUSTER=east))

##@ Using it

.PHONY: build
build: ## Build bin/entente-apiserver
	@hack/build.sh

.PHONY: demo
demo: build kubectl ## Show on a fresh standalone server who can read what
	@hack/demo.sh

.PHONY: run
run: build kubectl ## Serve in the foreground under .local/ and print what to type next
	@hack/run.sh

.PHONY: kubectl
kubectl: ## Make bin/kubectl: a link to the one on PATH if recent enough, else built
	@hack/kubectl.sh

.PHONY: kube
kube: ## Build a Kubernetes control plane into bin/kube/ (KUBE_VERSION=v1.x.y)
	@hack/kube/build.sh bin/kube etcd kube-apiserver kube-controller-manager kubectl

.PHONY: cluster-up
cluster-up: build kube bin/cluster ## Start a control plane with Entente, in the background (CLUSTER=east)
	@bin/cluster up $(cluster)

.PHONY: cluster-down
cluster-down: bin/cluster ## Stop it and remove its folder (CLUSTER=east)
	@bin/cluster down $(cluster)

##@ Changing it

.PHONY: test
test: test-unit test-integration test-leak test-e2e ## Run every test

.PHONY: test-unit
test-unit: ## Run the tests that need no server
	@hack/test.sh unit

.PHONY: test-integration
test-integration: kubectl ## Run the tests with a whole server in process, and real kubectl
	@hack/test.sh integration

.PHONY: test-leak
test-leak: kubectl ## Search every byte that leaves a server for sensitive values
	@hack/test.sh leak

.PHONY: test-e2e
test-e2e: kube ## Run the tests with real control planes
	@hack/test.sh e2e

.PHONY: bench
bench: kube ## Run the benchmarks (BENCHTIME=1s)
	@hack/test.sh bench

.PHONY: generate
generate: ## Write all generated code again
	@hack/generate.sh

.PHONY: lint
lint: bin/tools/golangci-lint ## Run golangci-lint
	bin/tools/golangci-lint run ./...

.PHONY: verify
verify: ## Check generated code, formatting, go.mod files, licence headers, tests that the docs name, and lint
	@hack/verify.sh

.PHONY: clean
clean: ## Stop all clusters; remove bin/, and the data of `make run`
	@[ ! -x bin/cluster ] || bin/cluster down --all
	rm -rf bin .local

.PHONY: help
help: ## Print this
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: bin/cluster
bin/cluster:
	@go build -o $@ ./hack/cluster

bin/tools/golangci-lint: hack/tools/golangci-lint/go.mod hack/tools/golangci-lint/go.sum
	@echo "Compiling golangci-lint (about 5 minutes cold on 2 cores)"
	@cd $(<D) && go build -o $(abspath $@) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
