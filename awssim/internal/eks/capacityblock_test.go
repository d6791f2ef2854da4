package eks_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim"
)

const (
	blockID = "cr-0123456789abcdef0"
	day     = 24 * time.Hour
)

func (f *fixture) reserved(reservation awssim.CapacityReservation) {
	f.t.Helper()
	if err := f.sim.Region(account, region).SetCapacityReservation(reservation); err != nil {
		f.t.Fatal(err)
	}
}

// reserve has a Capacity Block of two instances.
func (f *fixture) reserve(id string, start, end time.Time) {
	f.t.Helper()
	f.reserved(awssim.CapacityReservation{ID: id, InstanceType: "p5.48xlarge", Zone: "us-east-1a", Count: 2, Block: true, Start: start, End: end})
}

// inReservation has a template launch into a Capacity Block.
func inReservation(id string) func(*data) {
	return func(d *data) {
		d.InstanceType = "p5.48xlarge"
		d.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeCapacityBlock}
		d.CapacityReservationSpecification = &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationTarget: &ec2types.CapacityReservationTarget{CapacityReservationId: aws.String(id)},
		}
	}
}

// TestCapacityBlock walks a node group through the life of its block: created before it begins,
// filled when it does, not updated while it has nodes, scaled to 0 before it expires, and given the
// next block.
func TestCapacityBlock(t *testing.T) {
	t.Parallel()
	f := start(t)
	end := beginning.Add(day)
	f.reserve(blockID, beginning.Add(2*time.Hour), end)
	template := f.template(inReservation(blockID))
	in := newGroup(2, onTemplate(template, "1"))
	in.CapacityType, in.AmiType, in.Subnets = types.CapacityTypesCapacityBlock, types.AMITypesAl2023X8664Nvidia, []string{subnetA}
	f.active(in)
	if got := f.autoScalingGroup(); len(got.Instances) != 0 || got.MixedInstancesPolicy != nil {
		t.Errorf("before the block begins there are %d instances, of a policy %v", len(got.Instances), got.MixedInstancesPolicy)
	}
	f.until(5*time.Minute, "health says that launches fail", func() bool { return f.group("nodes").Status == types.NodegroupStatusDegraded })
	if got := f.issues(); len(got) != 1 || got[0] != types.NodegroupIssueCodeAsgInstanceLaunchFailures {
		t.Errorf("issues are %v", got)
	}
	f.untilSize(2, "the block has begun")
	f.awaitStatus(types.NodegroupStatusActive)

	next := "cr-0123456789abcdef1"
	f.reserve(next, end.Add(-time.Hour), end.Add(day))
	toNext := newVersion(toTemplate(template, f.version(template, inReservation(next))))
	fails(f, f.eks.UpdateNodegroupVersion, toNext, "InvalidRequestException", "while its desired size is 0")
	f.untilSize(0, "the block is about to end")
	if left := end.Sub(f.sim.Clock().Now()); left < 30*time.Minute || left > 40*time.Minute {
		t.Errorf("the nodes are gone %s before the end", left)
	}
	call(f, f.eks.UpdateNodegroupVersion, toNext)
	f.awaitStatus(types.NodegroupStatusActive)
	call(f, f.eks.UpdateNodegroupConfig, &eks.UpdateNodegroupConfigInput{
		ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes"), ScalingConfig: &types.NodegroupScalingConfig{DesiredSize: aws.Int32(2)},
	})
	f.untilSize(2, "the group has the next block")
	f.untilSize(0, "the next block is about to end")
}

// untilSize steps by five minutes, for two days at most, until the Auto Scaling group has so many instances.
func (f *fixture) untilSize(size int, what string) {
	f.t.Helper()
	for range 2 * int(day/(5*time.Minute)) {
		if len(f.autoScalingGroup().Instances) == size {
			return
		}
		f.step(5 * time.Minute)
	}
	f.t.Fatalf("%s: the group never has %d instances", what, size)
}
