package nodegroup

import (
	"testing"

	"github.com/slipway-project/slipway/internal/sdkmembers"
)

// byID explains why launch templates have no name in requests.
const byID = "launch templates are named by id"

// TestEveryMemberIsDecided fails when the SDK has a member that no managed pool can set, until
// there is a field for it, or a reason why there is none.
func TestEveryMemberIsDecided(t *testing.T) {
	t.Parallel()
	settings := sdkmembers.Filled[Settings]()
	settings.WarmPool.Enabled = true
	capacity := int32(1)
	wanted := Desired{
		Cluster: "cluster", RoleARN: "role", SubnetIDs: []string{"subnet-1"}, Template: &Template{ID: "lt-1", Version: 1}, KubernetesVersion: "1.34",
		ReleaseVersion: "1.34.1-20260101", AMIType: "CUSTOM", CapacityType: "SPOT", InstanceTypes: []string{"m5.large"}, DiskSize: 20,
		RemoteAccess: &RemoteAccess{KeyName: "key", SecurityGroups: []string{"sg-1"}}, Capacity: &capacity, Settings: settings, Tags: map[string]string{"a": "b"},
	}
	shared := settings
	shared.Update.MaxUnavailablePercentage = 0
	inNumbers := wanted
	inNumbers.Settings = shared
	seen := Nodegroup{Cluster: "cluster", Name: "pool", Settings: Settings{Labels: map[string]string{"old": ""}, Taints: []Taint{{Key: "old", Value: "x", Effect: "NO_SCHEDULE"}}}}
	for _, row := range []struct {
		request  string
		leftOut  map[string]string
		requests []any
	}{
		{"CreateNodegroup", map[string]string{"LaunchTemplate.Name": byID}, []any{createInput(wanted, "pool", ""), createInput(inNumbers, "pool", "")}},
		{"UpdateNodegroupConfig", nil, []any{
			configInput(ConfigChange{Sizes: &Scaling{Min: 1, Max: 2, Desired: &capacity}, Settings: &settings}, seen),
			configInput(ConfigChange{Settings: &shared}, seen),
		}},
		{"UpdateNodegroupVersion", map[string]string{"LaunchTemplate.Name": byID}, []any{
			versionInput(VersionChange{Force: true, KubernetesVersion: "1.34", ReleaseVersion: "1.34.1-20260101", TemplateID: "lt-1", TemplateVersion: 1}, seen),
		}},
	} {
		for _, complaint := range sdkmembers.Undecided(row.leftOut, row.requests...) {
			t.Errorf("%s: %s", row.request, complaint)
		}
	}
}
