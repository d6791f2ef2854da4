package nodegroup

import (
	"strings"
	"testing"
)

// TestFixed holds what of a node group that EKS cannot change is found to differ, and that nothing
// is that was not asked for.
func TestFixed(t *testing.T) {
	t.Parallel()
	plain := func(n *Nodegroup) { n.LaunchTemplateID, n.Version = "", 0 }
	access := func(key string, groups ...string) *RemoteAccess {
		return &RemoteAccess{KeyName: key, SecurityGroups: groups, Named: groups}
	}
	for _, row := range []struct {
		reason  string
		desired func(*Desired)
		seen    func(*Nodegroup)
		want    string
	}{
		{reason: "nothing is asked for", seen: func(n *Nodegroup) {
			n.CapacityType, n.InstanceTypes, n.SubnetIDs, n.DiskSize, n.RoleARN = "SPOT", []string{"m5.large"}, []string{"subnet-1"}, 20, "arn:aws:iam::1:role/a"
		}},
		{reason: "another AMI type", desired: func(d *Desired) { d.AMIType = "AL2_x86_64" }, want: "AMI type is AL2023_x86_64_STANDARD, but " +
			"the spec has AL2_x86_64"},
		{reason: "an image of the template's", desired: func(d *Desired) { d.OwnImage = true }, want: "AMI type is AL2023_x86_64_STANDARD, but " +
			"the spec has CUSTOM"},
		{reason: "another capacity type", desired: func(d *Desired) { d.CapacityType = "ON_DEMAND" }, seen: func(n *Nodegroup) { n.CapacityType = "SPOT" },
			want: "capacity type is SPOT, but the spec has ON_DEMAND"},
		{reason: "the role, whatever its path", desired: func(d *Desired) { d.RoleName = "a" }, seen: func(n *Nodegroup) { n.RoleARN = "arn:aws:iam::1:role/nodes/a" }},
		{reason: "another role", desired: func(d *Desired) { d.RoleName = "b" }, seen: func(n *Nodegroup) { n.RoleARN = "arn:aws:iam::1:role/nodes/a" },
			want: "node role is a, but the spec has b"},
		{reason: "instance types in another order", desired: func(d *Desired) { d.InstanceTypes = []string{"b", "a"} }, seen: func(n *Nodegroup) { n.InstanceTypes = []string{"a", "b"} }},
		{reason: "other instance types", desired: func(d *Desired) { d.InstanceTypes = []string{"b"} }, seen: func(n *Nodegroup) { n.InstanceTypes = []string{"a"} },
			want: "list of instance types is [a], but the spec has [b]"},
		{reason: "other subnets", desired: func(d *Desired) { d.SubnetIDs = []string{"subnet-1", "subnet-2"} }, seen: func(n *Nodegroup) { n.SubnetIDs = []string{"subnet-1"} },
			want: "list of subnets is [subnet-1], but the spec has [subnet-1 subnet-2]"},
		{reason: "another disk", desired: func(d *Desired) { d.Template, d.DiskSize = nil, 40 }, seen: func(n *Nodegroup) { plain(n); n.DiskSize = 20 },
			want: "disk size is 20, but the spec has 40"},
		{reason: "no template", seen: plain, want: "launch template is none, but the spec has lt-1"},
		{reason: "remote access that the cluster's groups were added to", desired: func(d *Desired) {
			d.Template, d.RemoteAccess = nil, &RemoteAccess{KeyName: "key", SecurityGroups: []string{"sg-1", "sg-cluster"}, Named: []string{"sg-1"}}
		}, seen: func(n *Nodegroup) { plain(n); n.RemoteAccess = access("key", "sg-1", "sg-bastion") }},
		{reason: "remote access from everywhere", desired: func(d *Desired) { d.Template, d.RemoteAccess = nil, access("key", "sg-1") },
			seen: func(n *Nodegroup) { plain(n); n.RemoteAccess = access("key") },
			want: "remote access is by key key from everywhere, but the spec has by key key from [sg-1]"},
		{reason: "remote access that the spec does not ask for", desired: func(d *Desired) { d.Template = nil }, seen: func(n *Nodegroup) { plain(n); n.RemoteAccess = access("key", "sg-1") },
			want: "remote access is by key key from [sg-1], but the spec has none"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(fixedDiffers(desired(row.desired), seen(row.seen)), "; "); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
