package capa_test

import (
	"testing"

	"pgregory.net/rapid"
	capaeks "sigs.k8s.io/cluster-api-provider-aws/v2/pkg/eks"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestNamesAreCAPAs holds that node groups and node roles without a name in the spec get CAPA's
// names, however long their pool's name is.
func TestNamesAreCAPAs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		namespace := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`).Draw(t, "namespace")
		name := rapid.StringMatching(`[a-z0-9]([a-z0-9.-]{0,120}[a-z0-9])?`).Draw(t, "name")
		cluster := rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,99}`).Draw(t, "cluster")
		// The limits are the limits of CAPA's webhook for managed pools and of its services for
		// EKS.
		nodegroup, err := capaeks.GenerateEKSName(name, namespace, 64)
		if err != nil {
			t.Fatal(err)
		}
		role, err := capaeks.GenerateEKSName("nodegroup-iam-service-role", cluster+"-"+nodegroup, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := infrav1.DefaultNodegroupName(namespace, name); got != nodegroup {
			t.Errorf("the node group is called %q, and CAPA's %q", got, nodegroup)
		}
		if got := infrav1.DefaultNodeRoleName(cluster, nodegroup); got != role {
			t.Errorf("the role is called %q, and CAPA's %q", got, role)
		}
	})
}
