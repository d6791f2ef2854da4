package discovery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
)

// SubnetQuery describes the subnets in which a pool's nodes are launched.
type SubnetQuery struct {
	VPCID string
	// Refs of the pool. If there are any, nothing below counts.
	Refs []infrav1.AWSResourceReference
	// AvailabilityZones of the pool.
	AvailabilityZones []string
	// FailureDomains of the MachinePool, which are zones too; they count if the pool has none of its own.
	FailureDomains []string
	// Type limits the subnets that are taken in zones. Empty means all.
	Type infrav1.AZSubnetType
	// ClusterSubnets are what zones are looked up in.
	ClusterSubnets []cluster.Subnet
}

// Subnet is one that nodes can be launched into.
type Subnet struct {
	ID   string
	Zone string
	// Public is true if instances get public addresses there (MapPublicIpOnLaunch). Like the fields
	// that follow, it is not known for subnets that the cluster's AWS object names.
	Public bool
	// Free is how many addresses were free when EC2 was asked: Seen.
	Free int
	Seen time.Time
}

// SubnetIDs decides on the subnets by CAPA's precedence: the pool's references; else the cluster's
// subnets in the pool's zones, or in the MachinePool's failure domains; else the private subnets of
// the cluster. Each is there once, in the order of the query.
//
// The filters of all references are one question, as with CAPA: a subnet must match all of them.
// Subnets of the pods' network (tagged as a secondary association) are never taken unless named by
// id. Edge zones are taken only if named. A query that finds nothing is a *NotFoundError.
func (d *Discovery) SubnetIDs(ctx context.Context, query SubnetQuery) ([]Subnet, error) {
	if len(query.Refs) > 0 {
		return d.referenced(ctx, query)
	}
	zones := query.AvailabilityZones
	if len(zones) == 0 {
		zones = query.FailureDomains
	}
	if len(zones) > 0 {
		return inZones(zones, query)
	}
	return privateSubnets(query)
}

func (d *Discovery) referenced(ctx context.Context, query SubnetQuery) ([]Subnet, error) {
	var ids []string
	var filters []infrav1.Filter
	for _, ref := range query.Refs {
		if ref.ID != nil {
			ids = append(ids, *ref.ID)
			continue
		}
		filters = append(filters, ref.Filters...)
	}
	if len(ids) == 0 && len(filters) == 0 {
		return nil, &InvalidQueryError{Message: "a reference to subnets needs an id or filters"}
	}
	found, err := d.subnetsByID(ctx, ids, query.ClusterSubnets)
	if err != nil || len(filters) == 0 {
		return found, err
	}
	filters = inVPC(query.VPCID, filters)
	matching, err := d.subnets.get(ctx, key(filters), func(ctx context.Context) ([]Subnet, error) {
		return d.matchingSubnets(ctx, filters)
	})
	if err != nil {
		return nil, err
	}
	return distinct(append(found, matching...)), nil
}

// SubnetsByID finds subnets by their ids, whatever network they are in. If one does not exist the
// error is a *NotFoundError.
func (d *Discovery) SubnetsByID(ctx context.Context, ids []string) ([]Subnet, error) {
	return d.subnetsByID(ctx, ids, nil)
}

// ForgetSubnets has subnets described anew that are known by one of the ids, because the cached
// description is out of date.
func (d *Discovery) ForgetSubnets(ids ...string) {
	d.subnets.forget(func(known []Subnet) bool {
		return slices.ContainsFunc(known, func(subnet Subnet) bool { return slices.Contains(ids, subnet.ID) })
	})
}

// subnetsByID finds the zones of subnets, which the cluster knows for its own.
func (d *Discovery) subnetsByID(ctx context.Context, ids []string, known []cluster.Subnet) ([]Subnet, error) {
	byID := map[string]Subnet{}
	for _, subnet := range known {
		byID[subnet.ID] = Subnet{ID: subnet.ID, Zone: subnet.AvailabilityZone}
	}
	var unknown []string
	for _, id := range ids {
		if byID[id].Zone == "" && !slices.Contains(unknown, id) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		described, err := d.subnets.get(ctx, key(unknown), func(ctx context.Context) ([]Subnet, error) {
			return d.describeSubnetIDs(ctx, unknown)
		})
		if err != nil {
			return nil, err
		}
		for _, subnet := range described {
			byID[subnet.ID] = subnet
		}
	}
	found := make([]Subnet, 0, len(ids))
	for _, id := range ids {
		subnet := byID[id]
		subnet.ID = id
		found = append(found, subnet)
	}
	return distinct(found), nil
}

func (d *Discovery) describeSubnetIDs(ctx context.Context, ids []string) ([]Subnet, error) {
	what := strings.Join(ids, ", ")
	described, err := d.describeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: ids})
	if err != nil {
		return nil, missing(err, "subnet", what, "")
	}
	return d.toSubnets(described), nil
}

func (d *Discovery) matchingSubnets(ctx context.Context, filters []infrav1.Filter) ([]Subnet, error) {
	described, err := d.describeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: sdkFilters(filters), MaxResults: awssdk.Int32(1000)})
	if err != nil {
		return nil, fmt.Errorf("describing subnets with %s: %w", words(filters), err)
	}
	described = slices.DeleteFunc(described, func(s ec2types.Subnet) bool {
		return slices.ContainsFunc(s.Tags, func(tag ec2types.Tag) bool {
			return awssdk.ToString(tag.Key) == infrav1.TagSubnetAssociation && awssdk.ToString(tag.Value) == infrav1.TagValueSecondary
		})
	})
	if len(described) == 0 {
		return nil, &NotFoundError{
			Kind: "subnet", What: words(filters),
			Advice: "a subnet must match the filters of all entries of spec.subnets, and must not belong to the pods' network",
		}
	}
	found := d.toSubnets(described)
	slices.SortFunc(found, func(a, b Subnet) int { return strings.Compare(a.ID, b.ID) })
	return found, nil
}

func (d *Discovery) describeSubnets(ctx context.Context, input *ec2.DescribeSubnetsInput) ([]ec2types.Subnet, error) {
	pages := ec2.NewDescribeSubnetsPaginator(d.clients.EC2, input)
	var found []ec2types.Subnet
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Subnets...)
	}
	return found, nil
}

func (d *Discovery) toSubnets(described []ec2types.Subnet) []Subnet {
	found := make([]Subnet, 0, len(described))
	for i := range described {
		found = append(found, Subnet{
			ID:   awssdk.ToString(described[i].SubnetId),
			Zone: awssdk.ToString(described[i].AvailabilityZone),

			Public: awssdk.ToBool(described[i].MapPublicIpOnLaunch), Free: int(awssdk.ToInt32(described[i].AvailableIpAddressCount)), Seen: d.clock.Now(),
		})
	}
	return found
}

// inZones takes the cluster's subnets of each zone. A zone without any is an error, even if others
// have some: a pool that should be in three zones must not silently be in two.
func inZones(zones []string, query SubnetQuery) ([]Subnet, error) {
	var found []Subnet
	for _, zone := range zones {
		before := len(found)
		for _, subnet := range query.ClusterSubnets {
			if subnet.AvailabilityZone == zone && !subnet.Secondary() && includes(query.Type, subnet) {
				found = append(found, Subnet{ID: subnet.ID, Zone: zone})
			}
		}
		if len(found) == before {
			return nil, &NotFoundError{
				Kind: "subnet", What: fmt.Sprintf("availability zone %s", zone),
				Advice: fmt.Sprintf("the cluster has no %ssubnet there; add one to spec.network.subnets of the "+
					"infrastructure object of the cluster, or change the zones of the pool",
					adjective(query.Type)),
			}
		}
	}
	return distinct(found), nil
}

func privateSubnets(query SubnetQuery) ([]Subnet, error) {
	var found []Subnet
	for _, subnet := range query.ClusterSubnets {
		if !subnet.Public && !subnet.Edge && !subnet.Secondary() {
			found = append(found, Subnet{ID: subnet.ID, Zone: subnet.AvailabilityZone})
		}
	}
	if len(found) == 0 {
		return nil, &NotFoundError{
			Kind: "private subnet", What: "the cluster",
			Advice: "set subnets in spec.subnets of the pool, or zones in spec.availabilityZones",
		}
	}
	return distinct(found), nil
}

func includes(kind infrav1.AZSubnetType, subnet cluster.Subnet) bool {
	switch kind {
	case infrav1.AZSubnetTypePublic:
		return subnet.Public
	case infrav1.AZSubnetTypePrivate:
		return !subnet.Public
	default:
		return true
	}
}

func adjective(kind infrav1.AZSubnetType) string {
	if kind == infrav1.AZSubnetTypePublic || kind == infrav1.AZSubnetTypePrivate {
		return string(kind) + " "
	}
	return ""
}

func distinct(subnets []Subnet) []Subnet {
	seen := map[string]bool{}
	return slices.DeleteFunc(subnets, func(s Subnet) bool {
		again := seen[s.ID]
		seen[s.ID] = true
		return again
	})
}
