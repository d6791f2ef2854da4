package launchtemplate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// BootstrapSecrets returns the distinct <namespace>/<name> of the Secrets that instances got their
// bootstrap data from, as CAPA's tag on the instances says. Instances without the tag add nothing.
// It reads tags and no user data.
func (t *Templates) BootstrapSecrets(ctx context.Context, instances []string) ([]string, error) {
	var secrets []string
	for batch := range slices.Chunk(instances, DescribeBatch) {
		filter := "instance-id"
		pages := ec2.NewDescribeInstancesPaginator(t.ec2, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{Name: &filter, Values: batch}}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describing %d instances of the group: %w", len(batch), err)
			}
			for _, reservation := range page.Reservations {
				for i := range reservation.Instances {
					if secret := tagMap(reservation.Instances[i].Tags)[infrav1.TagBootstrapDataSecret]; secret != "" {
						secrets = append(secrets, secret)
					}
				}
			}
		}
	}
	slices.Sort(secrets)
	return slices.Compact(secrets), nil
}

// OwnedBy returns the templates with the owner's tag, sorted by name. It is for an owner whose
// templates are not known by name.
func (t *Templates) OwnedBy(ctx context.Context, owner string) ([]Template, error) {
	found, err := t.Tagged(ctx, infrav1.TagLaunchConfig, owner)
	if err != nil {
		return nil, err
	}
	owned := slices.Collect(maps.Values(found))
	owned = slices.DeleteFunc(owned, func(template Template) bool { return !template.OwnedBy(owner) })
	slices.SortFunc(owned, func(a, b Template) int { return cmp.Compare(a.Name, b.Name) })
	return owned, nil
}
