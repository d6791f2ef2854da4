package launchtemplate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// BootstrapSecrets returns the distinct <namespace>/<name> of the Secrets that instances got their
// bootstrap data from, as CAPA's tag on the instances says. Instances without the tag add nothing.
// It reads tags and no user data.
func (t *Templates) BootstrapSecrets(ctx context.Context, instances []string) ([]string, error) {
	var secrets []string
	err := t.eachInstance(ctx, instances, func(instance *ec2types.Instance) {
		if secret := tagMap(instance.Tags)[infrav1.TagBootstrapDataSecret]; secret != "" {
			secrets = append(secrets, secret)
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(secrets)
	return slices.Compact(secrets), nil
}

// PrivateDNSNames returns the private DNS names of instances by ID. Instances without one are missing.
func (t *Templates) PrivateDNSNames(ctx context.Context, instances []string) (map[string]string, error) {
	names := map[string]string{}
	err := t.eachInstance(ctx, instances, func(instance *ec2types.Instance) {
		if name := awssdk.ToString(instance.PrivateDnsName); name != "" {
			names[awssdk.ToString(instance.InstanceId)] = name
		}
	})
	return names, err
}

// eachInstance calls a function with the description of each instance that exists.
func (t *Templates) eachInstance(ctx context.Context, instances []string, visit func(*ec2types.Instance)) error {
	for batch := range slices.Chunk(instances, DescribeBatch) {
		filter := "instance-id"
		pages := ec2.NewDescribeInstancesPaginator(t.ec2, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{Name: &filter, Values: batch}}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("describing %d instances of the group: %w", len(batch), err)
			}
			for _, reservation := range page.Reservations {
				for i := range reservation.Instances {
					visit(&reservation.Instances[i])
				}
			}
		}
	}
	return nil
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
