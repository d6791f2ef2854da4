package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
)

// vpcFilter limits an answer to one VPC.
const vpcFilter = "vpc-id"

// SecurityGroupIDs returns the ids of the groups that are named by id or described by filters, in
// the order of the references, each once; the groups of one reference are sorted. Ids are taken as
// they are. Filters look in the given VPC, unless they name a VPC themselves: a group of another
// VPC cannot be used. A reference whose filters match nothing is a *NotFoundError (CAPA launches
// the nodes without the group).
func (d *Discovery) SecurityGroupIDs(ctx context.Context, vpcID string, refs []infrav1.AWSResourceReference) ([]string, error) {
	var ids []string
	for _, ref := range refs {
		found, err := d.securityGroupIDs(ctx, vpcID, ref)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

func (d *Discovery) securityGroupIDs(ctx context.Context, vpcID string, ref infrav1.AWSResourceReference) ([]string, error) {
	if ref.ID != nil {
		return []string{*ref.ID}, nil
	}
	filters := inVPC(vpcID, ref.Filters)
	if len(ref.Filters) == 0 {
		return nil, &InvalidQueryError{Message: "a reference to security groups needs an id or filters"}
	}
	return d.securityGroups.get(ctx, key(filters), func(ctx context.Context) ([]string, error) {
		return d.describeSecurityGroups(ctx, filters)
	})
}

// ForgetSecurityGroups has security groups looked up anew: one that was found is said not to exist.
func (d *Discovery) ForgetSecurityGroups() { d.securityGroups.answers.Clear() }

// MissingSecurityGroups returns the IDs that do not exist in any network.
func (d *Discovery) MissingSecurityGroups(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	// a list of ids fails as a whole when one of them does not exist
	filters := []infrav1.Filter{{Name: "group-id", Values: ids}}
	found, err := d.securityGroups.get(ctx, key(filters), func(ctx context.Context) ([]string, error) {
		return d.describeSecurityGroups(ctx, filters)
	})
	var none *NotFoundError
	if err != nil && !errors.As(err, &none) {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(found, id) }), nil
}

func (d *Discovery) describeSecurityGroups(ctx context.Context, filters []infrav1.Filter) ([]string, error) {
	pages := ec2.NewDescribeSecurityGroupsPaginator(d.clients.EC2, &ec2.DescribeSecurityGroupsInput{
		Filters: sdkFilters(filters), MaxResults: awssdk.Int32(1000),
	})
	var ids []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing security groups with %s: %w", words(filters), err)
		}
		for i := range page.SecurityGroups {
			ids = append(ids, awssdk.ToString(page.SecurityGroups[i].GroupId))
		}
	}
	if len(ids) == 0 {
		return nil, &NotFoundError{Kind: "security group", What: words(filters)}
	}
	slices.Sort(ids)
	return ids, nil
}

// inVPC adds a filter for the VPC, unless there is none to filter for or the filters already have one.
func inVPC(vpcID string, filters []infrav1.Filter) []infrav1.Filter {
	named := slices.ContainsFunc(filters, func(f infrav1.Filter) bool { return f.Name == vpcFilter })
	if vpcID == "" || named {
		return filters
	}
	return append(slices.Clone(filters), infrav1.Filter{Name: vpcFilter, Values: []string{vpcID}})
}

func sdkFilters(filters []infrav1.Filter) []ec2types.Filter {
	converted := make([]ec2types.Filter, 0, len(filters))
	for _, f := range filters {
		converted = append(converted, ec2types.Filter{Name: awssdk.String(f.Name), Values: f.Values})
	}
	return converted
}

// words describes filters to a user.
func words(filters []infrav1.Filter) string {
	parts := make([]string, 0, len(filters))
	for _, f := range filters {
		parts = append(parts, f.Name+"="+strings.Join(f.Values, "|"))
	}
	return "filters " + strings.Join(parts, ", ")
}

// key identifies a question in a cache. Questions are plain data, which always has a JSON form.
func key(question any) string {
	text, err := json.Marshal(question)
	if err != nil {
		panic(fmt.Sprintf("discovery: a question that is not plain data: %v", err))
	}
	return string(text)
}

// missing turns AWS's answer that something does not exist into a *NotFoundError.
func missing(err error, kind, what, advice string) error {
	if aws.IsNotFound(err) {
		return &NotFoundError{Kind: kind, What: what, Advice: advice}
	}
	return fmt.Errorf("describing %s %s: %w", kind, what, err)
}
