package managedmachinepool

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/pool"
)

// TestRemoteAccessIsNeverOpenByAccident holds that Slipway sets security groups unless the spec
// asks for public access: EKS opens SSH to the internet if none are set.
func TestRemoteAccessIsNeverOpenByAccident(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		facts  cluster.Facts
		access *infrav1.ManagedRemoteAccess
		want   *nodegroup.RemoteAccess
	}{
		{"none is asked for", cluster.Facts{}, nil, nil},
		{
			"public access is asked for", cluster.Facts{ClusterSecurityGroupID: "sg-c", SSHKeyName: ptr.To("key")}, &infrav1.ManagedRemoteAccess{Public: true},
			&nodegroup.RemoteAccess{KeyName: "key"},
		},
		{
			"a key alone, as CAPA does it", cluster.Facts{ClusterSecurityGroupID: "sg-c", BastionSecurityGroupID: "sg-b"},
			&infrav1.ManagedRemoteAccess{SSHKeyName: ptr.To("own")}, &nodegroup.RemoteAccess{KeyName: "own", SecurityGroups: []string{"sg-c", "sg-b"}},
		},
		{
			"groups beside the cluster's", cluster.Facts{ClusterSecurityGroupID: "sg-c"}, &infrav1.ManagedRemoteAccess{SourceSecurityGroups: []string{"sg-a", "sg-c"}},
			&nodegroup.RemoteAccess{SecurityGroups: []string{"sg-a", "sg-c"}, Named: []string{"sg-a", "sg-c"}},
		},
		{
			"the cluster has no group of its own", cluster.Facts{NodeSecurityGroupIDs: []string{"sg-n"}}, &infrav1.ManagedRemoteAccess{},
			&nodegroup.RemoteAccess{SecurityGroups: []string{"sg-n"}},
		},
	} {
		object := &infrav1.AWSManagedMachinePool{}
		object.Spec.RemoteAccess = c.access
		if diff := cmp.Diff(c.want, remoteAccess(input{Object: object, Seen: Observed{Access: pool.Access{Facts: &c.facts}}})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}
