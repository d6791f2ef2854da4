package ec2

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// TestNetworkPermissions: what is created is asked for with its tags, and what is named with the
// tags and the VPC that it has.
func TestNetworkPermissions(t *testing.T) {
	t.Parallel()
	c := newCaller(t, sim.Behavior{})
	group := "sg-0c1000000000000ab"
	c.locked(func() {
		s := stateOf(c.region)
		asked := onNew(s, "CreateSubnet", types.ResourceTypeSubnet, creation{
			[]types.TagSpecification{{ResourceType: types.ResourceTypeSubnet, Tags: []types.Tag{{Key: ptr("team"), Value: ptr("blue")}}}},
			[]*string{ptr("vpc-0a10000000000000a")},
		})
		asked = append(asked, onEach(s, "ec2:DeleteSecurityGroup", &group, ptr("sg-00000000000000000"), nil)...)
		rows := []struct{ action, resource, key, value string }{
			{"ec2:CreateSubnet", "arn:aws:ec2:us-east-1:111122223333:subnet/*", "ec2:Vpc", "arn:aws:ec2:us-east-1:111122223333:vpc/vpc-0a10000000000000a"},
			{"ec2:CreateTags", "arn:aws:ec2:us-east-1:111122223333:subnet/*", "ec2:CreateAction", "CreateSubnet"},
			{"ec2:DeleteSecurityGroup", "arn:aws:ec2:us-east-1:111122223333:security-group/" + group, "aws:ResourceTag/Name", "node"},
		}
		if len(asked) != len(rows) {
			t.Fatalf("%d permissions are asked for, want %d: %v", len(asked), len(rows), asked)
		}
		for n, row := range rows {
			if got := asked[n]; got.Action != row.action || got.Resource != row.resource || !slices.Equal(got.Context[row.key], []string{row.value}) {
				t.Errorf("permission %d is %v, want %v", n, got, row)
			}
		}
		if got := asked[0].Context["aws:RequestTag/team"]; !slices.Equal(got, []string{"blue"}) {
			t.Errorf("aws:RequestTag/team is %v", got)
		}
	})
}
