package fleet

import (
	"context"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Impaired returns the IDs of the running instances in the account and region that fail an EC2
// status check, whatever launched them. An instance whose host fails is among them: its instance
// status check fails together with the system status check (AWS: EC2 user guide, "Status checks for
// Amazon EC2 instances", which names "Failed system status checks" as the first cause of failed
// instance status checks).
func (f *Fleets) Impaired(ctx context.Context) (map[string]bool, error) {
	pages := ec2.NewDescribeInstanceStatusPaginator(f.ec2, &ec2.DescribeInstanceStatusInput{
		Filters: []ec2types.Filter{{
			Name: awssdk.String("instance-status.status"), Values: []string{string(ec2types.SummaryStatusImpaired)},
		}},
		MaxResults: awssdk.Int32(1000),
	})
	impaired := map[string]bool{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing instances that fail a status check: %w", err)
		}
		for i := range page.InstanceStatuses {
			impaired[awssdk.ToString(page.InstanceStatuses[i].InstanceId)] = true
		}
	}
	return impaired, nil
}
