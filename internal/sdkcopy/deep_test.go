package sdkcopy

import (
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestDeep holds that a copy is equal, and that its members are its own.
func TestDeep(t *testing.T) {
	compare := cmpopts.IgnoreUnexported(eks.DescribeNodegroupOutput{}, ekstypes.Nodegroup{}, ekstypes.Taint{}, ekstypes.NodegroupScalingConfig{}, middleware.Metadata{})
	answer := func() *eks.DescribeNodegroupOutput {
		return &eks.DescribeNodegroupOutput{Nodegroup: &ekstypes.Nodegroup{
			CreatedAt: awssdk.Time(time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC)), Labels: map[string]string{"a": "b"},
			Subnets: []string{"subnet-1"}, InstanceTypes: []string{}, Taints: []ekstypes.Taint{{Key: awssdk.String("dedicated")}},
			ScalingConfig: &ekstypes.NodegroupScalingConfig{MinSize: awssdk.Int32(1)},
		}}
	}
	original := answer()
	copied := Deep(original).(*eks.DescribeNodegroupOutput)
	if diff := cmp.Diff(original, copied, compare); diff != "" {
		t.Fatalf("Deep: -want +got:\n%s", diff)
	}
	copied.Nodegroup.Labels["a"], copied.Nodegroup.Subnets[0] = "c", "subnet-2"
	*copied.Nodegroup.Taints[0].Key, *copied.Nodegroup.ScalingConfig.MinSize = "other", 2
	if diff := cmp.Diff(answer(), original, compare); diff != "" {
		t.Errorf("a change of the copy changed the original: -want +got:\n%s", diff)
	}
}
