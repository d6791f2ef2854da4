#!/usr/bin/env bash
# Writes everything that is made from Go markers: deep copies, CRDs, the manager's role. What it writes is checked in;
# running it twice changes nothing. It needs bin/controller-gen (make tools).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

controller_gen=${CONTROLLER_GEN:-bin/controller-gen}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$controller_gen" object paths=./api/...
# The kinds of Cluster API's group are for the management cluster, the provisioner's for the cluster that it launches nodes of.
"$controller_gen" crd paths=./api/infrastructure/... output:crd:dir="$scratch/crd"
go run ./hack/crdgen --in "$scratch/crd" --out config/crd/bases
"$controller_gen" crd paths=./api/provisioning/... output:crd:dir="$scratch/provisioner-crd"
go run ./hack/crdgen --in "$scratch/provisioner-crd" --out config/provisioner/crd/bases

# The role is made from the markers of the controllers; a tree without any has no role.
if grep -rqs --include='*.go' '+kubebuilder:rbac:' internal; then
	"$controller_gen" rbac:roleName=slipway-manager-role paths=./internal/... output:rbac:dir="$scratch/rbac"
	mkdir -p config/rbac
	cp "$scratch/rbac/role.yaml" config/rbac/role.yaml
fi

# The webhooks are those of the markers; cert-manager writes its authority's certificate into their configuration.
if grep -rqs --include='*.go' '+kubebuilder:webhook:' internal; then
	"$controller_gen" webhook paths=./internal/webhooks/... output:webhook:dir="$scratch/webhook"
	mkdir -p config/webhook
	sed 's|^metadata:$|metadata:\n  annotations:\n    cert-manager.io/inject-ca-from: slipway-system/slipway-webhook|' \
		"$scratch/webhook/manifests.yaml" >config/webhook/manifests.yaml
fi

# The READMEs of the charts are made from the comments of their values.
go run ./hack/chartdocs charts/slipway charts/slipway-provisioner

# The references are made from the markers, the documentation of reasons, and the cases of tests.
go test ./api/... -run 'TestExamples$' -count=1 -update >/dev/null
go run ./hack/references
go test ./cmd/slipway -run 'TestFlagsPageIsCurrent$' -count=1 -update >/dev/null
