# Slipway's one door for developers. `make help` lists what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN := bin

# A filter, a count: make test TEST_FLAGS='-count=3 -run Rollout'.
TEST_FLAGS ?=
# Journeys wait most of the time, so more of them than there are processors run side by side; together they take longer than go's ten minutes allow.
LAB_TEST_FLAGS ?= -parallel 4 -timeout 45m
GOTESTSUM := ARTIFACTS=$(CURDIR)/_artifacts $(CURDIR)/$(BIN)/gotestsum --format pkgname --hide-summary skipped

# The build tags of the image's program, and those of the programs that users run. .ko.yaml says what they are for.
IMAGE_TAGS := $(shell sed -n 's/.*"\(-tags=[^"]*\)".*/\1/p' .ko.yaml)
TAGS := $(shell sed -n 's/.*"\(-tags=[^"]*\),image".*/\1/p' .ko.yaml)

##@ Use

.PHONY: demo
demo: build ## Walk the main job on a real control plane and simulated AWS. KEEP=1 stays afterwards.
	$(BIN)/lab demo $(if $(KEEP),--keep)

.PHONY: build
build: lab ## Build bin/slipway as in the image, bin/kubectl-slipway, bin/awssim and bin/lab.
	GOFLAGS='$(GOFLAGS) $(TAGS)' go run ./hack/buildprogress . -o $(BIN)/ ./cmd/awssim ./cmd/kubectl-slipway
	GOFLAGS='$(GOFLAGS) $(IMAGE_TAGS)' go run ./hack/buildprogress . -o $(BIN)/ ./cmd/slipway

.PHONY: lab
lab: ## Build bin/lab alone. The first time takes some four minutes on two cores: it links all of Kubernetes.
	go run ./hack/buildprogress lab -o ../$(BIN)/ ./cmd/lab

##@ Check

# The packages of the laboratory whose tests are journeys, or take as long. Two run at a time, the longest
# first, so that neither core waits at the end. Together they take less than half an hour.
JOURNEYS := provisioner integration installation scale adversary cmd/lab crashsweep clusterctl managertest charts release underpolicy

.PHONY: test
test: packages $(BIN)/gotestsum ## Run the tests beside the code, SCHEDULES=N of the simulation, and the quick tests of the laboratory. What failed is said once more at the end.
	$(if $(SCHEDULES),SIMULATION_SCHEDULES=$(SCHEDULES)) $(GOTESTSUM) -- $(TEST_FLAGS) ./...
	cd lab && $(GOTESTSUM) -- $(LAB_TEST_FLAGS) $(TEST_FLAGS) $$(go list ./... | grep -vE '/lab/($(subst $() ,|,$(JOURNEYS)))$$')

.PHONY: test-all
test-all: test test-race test-alerts test-browser journeys ## Run all tests: those of `make test`, those with goroutines under the race detector, the alerts, the dashboard, and the journeys.

# Prints the packages outside the laboratory with something for the race detector to find: their code or their tests
# start goroutines, or their code has locks. The others decide, compare and print on the goroutine of the test.
# With them, it would take far longer than the twelve minutes that `make test-all` has for it.
CONCURRENT = { grep -rlE '^\s*go [a-zA-Z]|sync\.WaitGroup|errgroup' --include=*.go api awssim cmd hack internal; \
	grep -rlE '"sync(/atomic)?"' --include=*.go --exclude=*_test.go api awssim cmd hack internal; } | xargs -n1 dirname | sort -u | sed 's|^|./|'

.PHONY: test-race
test-race: packages $(BIN)/gotestsum ## Run the tests of packages with goroutines or locks under the race detector, with SCHEDULES=N of the simulation, 40 if not given. RACE=./... for those of all packages, which takes most of an hour.
	CGO_ENABLED=1 SIMULATION_SCHEDULES=$(or $(SCHEDULES),40) $(GOTESTSUM) -- -race -timeout 30m $(TEST_FLAGS) $(or $(RACE),$$($(CONCURRENT)))

.PHONY: test-alerts
test-alerts: ## Try the alerts of the charts with Prometheus's own rules. It compiles Prometheus: some minutes the first time.
	cd alerts && go test -count=1 ./...

.PHONY: test-browser
test-browser: ## Try the dashboard in a real Chromium, which is installed if it is missing.
	@hack/install-packages.sh browser
	cd browser && go test -count=1 ./...

.PHONY: screenshots
screenshots: ## Take screenshots of the dashboard into bin/screenshots, to look at: light and dark, wide and narrow.
	@hack/install-packages.sh browser
	@mkdir -p $(BIN)/screenshots
	cd browser && go test -count=1 -run TestScreenshots . -args -screenshots ../$(BIN)/screenshots

.PHONY: journeys
journeys: packages $(BIN)/gotestsum ## Run every journey on a real API server, a slice of the crash sweep among them. Takes half an hour on two cores.
	cd lab && $(GOTESTSUM) -- $(LAB_TEST_FLAGS) $(TEST_FLAGS) $(JOURNEYS:%=./%)

.PHONY: coverage
coverage: ## Fail if the tests beside a decide*.go file cover less than 95 % of it.
	@mkdir -p $(BIN)
	go test -coverprofile=$(BIN)/cover.out $$(find internal -name 'decide*.go' ! -name '*_test.go' -printf './%h\n' | sort -u)
	go run ./hack/decidecoverage $(BIN)/cover.out

.PHONY: packages
packages: ## Install the other programs that tests use: the AWS CLI and boto3.
	@hack/install-packages.sh

.PHONY: sweep
sweep: ## Run the whole crash sweep: a crash at every call of every scenario.
	cd lab && SWEEP=all go test -count=1 -timeout 180m -v -run TestCrashSweep ./crashsweep ./provisioner

.PHONY: simulate
simulate: ## Run the controllers through SEEDS=N simulated schedules of AWSMachinePools, and two fifths as many each of AWSManagedMachinePools and of Provisioners, from SEED=N on, and say how many a second.
	go test -count=1 -timeout 0 -v -run 'TestSimulation$$|TestManagedPools$$|TestProvisioners$$' ./internal/simulation -seeds $(or $(SEEDS),10000) -first $(or $(SEED),1)

.PHONY: mutants
mutants: ## Break the product on purpose, in each way that the simulation must notice within SCHEDULES=N, and write the table in docs/simulation.md. Takes some half an hour.
	go test -count=1 -timeout 0 -v -run 'TestMutants$$|TestFlaws$$' ./internal/simulation -mutants $(or $(SCHEDULES),2000) -flaws $(or $(SCHEDULES),2000) -table $(CURDIR)/docs/simulation.md

.PHONY: adversary
adversary: ## Have two tenants attack each other for ten minutes; `make test-all` does it for 30 s. ADVERSARY_FOR=30m ADVERSARY_SEED=7 for others.
	cd lab && go test -count=1 -timeout 180m -v -run 'TestAdversary|TestScriptedAttacks' ./adversary -args -for $(or $(ADVERSARY_FOR),10m) -seed $(or $(ADVERSARY_SEED),0)

.PHONY: scale
scale: ## Hold what a thousand pools cost, and show what was counted; `make test-all` does it for 300. POOLS=N for others.
	cd lab && go test -count=1 -timeout 60m -v -run TestManyPools ./scale -args -pools $(or $(POOLS),1000)

.PHONY: chaos
chaos: ## Edit pools for a simulated day while AWS fails; `make test-all` does it for eight hours. CHAOS_FOR=72h for others.
	cd lab && go test -count=1 -timeout 180m -v -run TestChaos ./scale -args -chaos $(or $(CHAOS_FOR),24h)

.PHONY: lint-text
lint-text: ## Fail if comments or guides read less like those of other projects than before (hack/linttext/limits.yaml).
	go run ./hack/linttext

.PHONY: lint-workflows
lint-workflows: $(BIN)/actionlint ## Lint the workflows of GitHub Actions.
	$(BIN)/actionlint

.PHONY: lint
lint: lint-text lint-workflows $(BIN)/golangci-lint ## Run the linter over all modules but bench/karpenter, for which it would build Karpenter and another Kubernetes first.
	$(BIN)/golangci-lint run ./...
	cd lab && ../$(BIN)/golangci-lint run ./...
	cd image && ../$(BIN)/golangci-lint run ./...
	cd alerts && ../$(BIN)/golangci-lint run ./...
	cd browser && ../$(BIN)/golangci-lint run ./...
	cd certmanager && ../$(BIN)/golangci-lint run ./...

.PHONY: site
site: ## Build the documentation's site into bin/site, from docs/. It fails if a link leads nowhere. SITE_URL is where it will be.
	@hack/install-packages.sh site
	@mkdir -p $(BIN)/npm
	cp site/package.json $(BIN)/npm/
	npm install --prefix $(BIN)/npm --no-package-lock --no-fund --no-audit --silent
	hugo --config site/hugo.toml --noBuildLock --quiet $(if $(SITE_URL),--baseURL $(SITE_URL))

.PHONY: verify
verify: generate ## Fail if generated files are not as their sources say.
	@git diff --exit-code -- api charts config awssim internal lab docs/reference || { echo "generated files differ: commit what 'make generate' wrote" >&2; exit 1; }

.PHONY: bench
bench: bench-pools bench-managed-pools bench-provisioner bench-packing ## Measure all of the below, into docs/benchmarks.md. Takes more than an hour.

.PHONY: bench-pools
bench-pools: build ## Measure what 1, 100 and 1,000 pools cost. POOLS='1,100' for fewer. Takes some ten minutes.
	$(BIN)/lab bench --pools $(or $(POOLS),1$(comma)100$(comma)1000) --write docs/benchmarks.md

.PHONY: bench-managed-pools
bench-managed-pools: build ## Measure what managed pools cost. POOLS='20' for fewer. Takes some ten minutes.
	$(BIN)/lab bench --kind AWSManagedMachinePool --pools $(or $(POOLS),100) --throttled 0 --write docs/benchmarks.md

.PHONY: bench-provisioner
bench-provisioner: build ## Measure what pods wait for nodes, and what 20,000 of them take. PODS=1000 for fewer. Takes some ten minutes.
	$(BIN)/lab bench --kind Provisioner --pods $(or $(PODS),20000) --write docs/benchmarks.md

.PHONY: bench-packing
bench-packing: ## Measure the choice of nodes beside Karpenter's. CASES='1000 diverse' for some. Takes some forty minutes.
	go build -o $(BIN)/ ./bench/packing
	cd bench/karpenter && go build -o ../../$(BIN)/karpenter-packing .
	$(BIN)/packing -beside "$(BIN)/karpenter-packing -limit 20m" -cases "$(CASES)" -write docs/benchmarks.md

comma := ,

.PHONY: oracles
oracles: ## Compare the simulated AWS with what is known of AWS, and write the counts into docs/awssim.md. Takes some three minutes.
	go run ./hack/oracles -write docs/awssim.md

##@ Release

# A release is named by its version, and has an image of that tag.
VERSION ?= v0.1.0
IMAGE ?= slipway:$(VERSION)

# The programs that have images, and where their OCI layouts go: a path without capitals. KO_DEFAULTBASEIMAGE takes another base.
IMAGES ?= slipway awssim
IMAGE_OUT ?= out/images

.PHONY: image
image: $(BIN)/ko ## Build the images as OCI layouts into out/images/, without Docker. VERSION=v0.1.0 IMAGES=awssim for one.
	@for program in $(IMAGES); do \
		mkdir -p $(IMAGE_OUT)/$$program; \
		VERSION=$(VERSION) COMMIT=$$(git rev-parse HEAD) COMMIT_DATE=$$(git show -s --format=%cI HEAD) KO_DOCKER_REPO=localhost/$$program SOURCE_DATE_EPOCH=0 KO_DATA_DATE_EPOCH=0 GOFLAGS=-buildvcs=false $(BIN)/ko build --push=false --bare --sbom spdx \
			--oci-layout-path $(IMAGE_OUT)/$$program \
			--image-label org.opencontainers.image.title=$$program,org.opencontainers.image.version=$(VERSION),org.opencontainers.image.revision=$$(git rev-parse HEAD) \
			./cmd/$$program || exit 1; \
	done

.PHONY: test-image
test-image: $(BIN)/ko ## Build the images twice on a base made on the spot, compare them, and run what is in them. It compiles for two platforms: ten minutes the first time.
	cd image && go test -count=1 -timeout 60m ./...

$(BIN)/ko: image/go.mod image/go.sum
	cd image && go build -o ../$(BIN)/ github.com/google/ko

.PHONY: release-manifests
release-manifests: ## Write what clusterctl needs of a release into out/. VERSION=v0.1.0 IMAGE=REGISTRY/slipway:v0.1.0
	cd lab && go run ./cmd/release --image $(IMAGE) --out ../out/infrastructure-slipway/$(VERSION)

# The programs of a release, for these platforms, and where its files go.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
RELEASE_OUT := out/release/$(VERSION)
# Where the files of the release will be downloaded from: krew's manifest names it.
DOWNLOADS ?= https://github.com/slipway-project/slipway/releases/download/$(VERSION)

# What the linker sets in the programs of a release.
BUILDINFO := github.com/slipway-project/slipway/internal/buildinfo
LINKED = -X $(BUILDINFO).release=$(VERSION) -X $(BUILDINFO).commit=$$(git rev-parse HEAD) -X $(BUILDINFO).date=$$(git show -s --format=%cI HEAD)

.PHONY: release
release: ## Write the files of a release into out/release/: programs, SBOMs, manifests, charts, the plugin of kubectl, manual pages, checksums. VERSION=v0.1.0 IMAGE=REGISTRY/slipway:v0.1.0
	rm -rf $(RELEASE_OUT) && mkdir -p $(RELEASE_OUT)
	@for platform in $(PLATFORMS); do \
		echo "building slipway for $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -trimpath -buildvcs=false $(TAGS) \
			-ldflags "-s -w $(LINKED)" \
			-o $(RELEASE_OUT)/ ./cmd/slipway ./cmd/kubectl-slipway && \
		for program in slipway kubectl-slipway; do mv $(RELEASE_OUT)/$$program $(RELEASE_OUT)/$$program-$${platform%/*}-$${platform#*/}; done || exit 1; \
	done
	cd lab && go run ./cmd/release --image $(IMAGE) --version $(VERSION) --downloads $(DOWNLOADS) --out ../$(RELEASE_OUT)
	SOURCE_DATE_EPOCH=$$(git show -s --format=%ct HEAD) go test ./cmd/slipway -run 'TestManPages$$' -count=1 -ldflags "-X $(BUILDINFO).release=$(VERSION)" -man=$(abspath $(RELEASE_OUT))/man >/dev/null
	tar -C $(RELEASE_OUT) --sort=name --mtime=@0 --mode=u=rwX,go=rX --owner=0 --group=0 --numeric-owner -c man | gzip -n >$(RELEASE_OUT)/slipway-man.tar.gz && rm -r $(RELEASE_OUT)/man
	cd $(RELEASE_OUT) && sha256sum * >SHA256SUMS

##@ Write

.PHONY: generate
generate: $(BIN)/controller-gen ## Write deep copies, CRDs, roles, wire tables, AWS calls, bundled CRDs and docs/reference from their sources.
	hack/generate.sh
	go generate ./...
	cd lab && go generate ./...

.PHONY: format
format: $(BIN)/golangci-lint ## Format all Go code.
	$(BIN)/golangci-lint fmt ./...
	cd lab && ../$(BIN)/golangci-lint fmt ./...

TOOLS := $(BIN)/golangci-lint $(BIN)/controller-gen $(BIN)/gotestsum

$(BIN)/gotestsum: tools/go.mod tools/go.sum
	cd tools && go build -o ../$(BIN)/ gotest.tools/gotestsum
	@touch $@

$(BIN)/golangci-lint $(BIN)/controller-gen: tools/go.mod tools/go.sum
	cd tools && go build -o ../$(BIN)/ tool
	@touch $(TOOLS)

$(BIN)/actionlint: tools/actionlint/go.mod tools/actionlint/go.sum
	cd tools/actionlint && go build -o ../../$(BIN)/ github.com/rhysd/actionlint/cmd/actionlint
	@touch $@

.PHONY: tools
tools: $(TOOLS) ## Build the tools that tools/go.mod pins.

.PHONY: clean
clean: ## Remove what was built.
	rm -rf $(BIN) out

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' Makefile
