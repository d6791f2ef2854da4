// Package fleet launches, finds, and terminates the instances of just-in-time nodes. A launch is
// one instant fleet: EC2 chooses among offerings, answers with the instances that it launched and
// with the offerings that it had none of, and treats a repeated call as the same one. The package
// knows neither pods nor Nodes.
package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
)

// EC2 has the calls of EC2 that this package uses.
type EC2 interface {
	ec2.DescribeInstancesAPIClient
	ec2.DescribeInstanceStatusAPIClient
	CreateFleet(context.Context, *ec2.CreateFleetInput, ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error)
	RunInstances(context.Context, *ec2.RunInstancesInput, ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
	TerminateInstances(context.Context, *ec2.TerminateInstancesInput, ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
}

// Tags by which instances are found again. Whose they are is in all of them.
const (
	// TagCluster is the cluster that the node joins.
	TagCluster = "slipway.provisioning.karpenter.sh/cluster"
	// TagProvisioner is the Provisioner that launched the instance.
	TagProvisioner = "slipway.provisioning.karpenter.sh/provisioner"
	// TagLaunch is the name of the launch.
	TagLaunch = "slipway.provisioning.karpenter.sh/launch"
)

// Fleets launches instances in one account and region.
type Fleets struct {
	// Terminating is called with the number of instances of each call that terminates some, unless it is nil.
	Terminating func(instances int)

	ec2          EC2
	terminations terminations
}

// New returns the fleets that a client reaches.
func New(client EC2) *Fleets { return &Fleets{ec2: client} }

// Request is one launch of equal instances.
type Request struct {
	// Name of the launch. EC2 treats calls with the same ClusterUID and Name as one call. They must
	// ask for the same.
	Name string
	// ClusterUID identifies the cluster that launches. The fleet, its instances, and their volumes
	// are marked with it. It is empty for a launch that an earlier release recorded: that release
	// may have sent the call already, without the mark.
	ClusterUID string
	// TemplateID and Version are what is launched from.
	TemplateID string
	Version    int64
	// Spot has the instances bought as Spot, by what is cheap and likely to last; else on demand,
	// by the lowest price.
	Spot bool
	// Offerings among which EC2 chooses.
	Offerings []Offering
	// Nodes is how many instances are wanted. Some are better than none.
	Nodes int32
	// Tags of the fleet and of its instances, and of their volumes if the ClusterUID is set.
	Tags map[string]string
}

// Offering is an instance type in a subnet. SubnetID is empty where the launch template has the subnet.
type Offering struct{ InstanceType, Zone, SubnetID string }

// Launched is the answer to a Request.
type Launched struct {
	// Instances in the order of their ids: the answer to a repeated call is the same.
	Instances []Instance
	// Failures are offerings that EC2 could not use, and why.
	Failures []Failure
}

// Instance as EC2 launched it.
type Instance struct {
	ID, InstanceType, Zone string
	// ImageID is empty in the answer to a launch.
	ImageID string
	// PrivateDNSName is the host name that EC2 gives, empty in the answer to a launch and of an
	// instance that has terminated.
	PrivateDNSName string
	// State as EC2 says it: pending, running, shutting-down, terminated, stopping, stopped.
	State string
	// StateCode and StateMessage are EC2's reason for the state, such as Client.InternalError, empty
	// if EC2 gives none. The message begins with the code.
	StateCode, StateMessage string
	Tags                    map[string]string
}

// Ends reports whether an instance is gone, or on its way out.
func (i Instance) Ends() bool {
	return i.State == string(ec2types.InstanceStateNameShuttingDown) || i.State == string(ec2types.InstanceStateNameTerminated)
}

// Stopped reports whether the instance is stopped, or about to be.
func (i Instance) Stopped() bool {
	return i.State == string(ec2types.InstanceStateNameStopping) || i.State == string(ec2types.InstanceStateNameStopped)
}

// Ended returns the instance as it is once it has terminated.
func (i Instance) Ended() Instance {
	i.State = string(ec2types.InstanceStateNameTerminated)
	return i
}

// Failure holds why EC2 did not launch an instance of an offering.
type Failure struct {
	Offering
	// Blame is what the failure is about.
	Blame Blame
	// Code and Message are EC2's.
	Code, Message string
}

// Launch sends the call.
func (f *Fleets) Launch(ctx context.Context, request Request) (Launched, error) {
	output, err := f.ec2.CreateFleet(ctx, input(request))
	if err != nil {
		return Launched{}, fmt.Errorf("launching %d instances from launch template %q: %w", request.Nodes, request.TemplateID, err)
	}
	return read(request, output), nil
}

// clientToken returns the token by which EC2 recognizes a repeated call. The ClusterUID is part of
// it, so that a launch with a copied name is never answered with the instances of another cluster.
func clientToken(r Request) string {
	if r.ClusterUID == "" {
		return r.Name
	}
	digest := sha256.Sum256([]byte(r.ClusterUID + "\x00" + r.Name))
	return hex.EncodeToString(digest[:])
}

// tagSpecifications returns what the launch tags.
func tagSpecifications(r Request) []ec2types.TagSpecification {
	resources := []ec2types.ResourceType{ec2types.ResourceTypeInstance, ec2types.ResourceTypeFleet}
	if r.ClusterUID != "" {
		resources = append(resources, ec2types.ResourceTypeVolume)
	}
	var specifications []ec2types.TagSpecification
	for _, resource := range resources {
		specifications = append(specifications, ec2types.TagSpecification{ResourceType: resource, Tags: tagList(r.marked())})
	}
	return specifications
}

// marked returns the tags, with the mark of the cluster.
func (r Request) marked() map[string]string {
	if r.ClusterUID == "" {
		return r.Tags
	}
	tags := maps.Clone(r.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[infrav1.TagClusterUID] = r.ClusterUID
	return tags
}

// input returns the CreateFleet request.
func input(r Request) *ec2.CreateFleetInput {
	var overrides []ec2types.FleetLaunchTemplateOverridesRequest
	for _, offering := range r.Offerings {
		override := ec2types.FleetLaunchTemplateOverridesRequest{InstanceType: ec2types.InstanceType(offering.InstanceType)}
		if offering.SubnetID != "" {
			override.SubnetId = awssdk.String(offering.SubnetID)
		}
		overrides = append(overrides, override)
	}
	in := &ec2.CreateFleetInput{
		// Only an instant fleet answers with its instances, and leaves nothing behind that launches more.
		Type:        ec2types.FleetTypeInstant,
		ClientToken: awssdk.String(clientToken(r)),
		LaunchTemplateConfigs: []ec2types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateId: awssdk.String(r.TemplateID), Version: awssdk.String(strconv.FormatInt(r.Version, 10)),
			},
			Overrides: overrides,
		}},
		TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: awssdk.Int32(r.Nodes), DefaultTargetCapacityType: ec2types.DefaultTargetCapacityTypeOnDemand,
		},
		TagSpecifications: tagSpecifications(r),
	}
	if r.Spot {
		in.TargetCapacitySpecification.DefaultTargetCapacityType = ec2types.DefaultTargetCapacityTypeSpot
		in.SpotOptions = &ec2types.SpotOptionsRequest{AllocationStrategy: ec2types.SpotAllocationStrategyPriceCapacityOptimized}
	} else {
		in.OnDemandOptions = &ec2types.OnDemandOptionsRequest{AllocationStrategy: ec2types.FleetOnDemandAllocationStrategyLowestPrice}
	}
	return in
}

// read converts EC2's answer.
func read(r Request, output *ec2.CreateFleetOutput) Launched {
	zones := map[string]string{}
	for _, offering := range r.Offerings {
		zones[offering.SubnetID] = offering.Zone
	}
	var launched Launched
	for i := range output.Instances {
		some := &output.Instances[i]
		zone := awssdk.ToString(some.AvailabilityZone)
		if offering := offeringOf(some.LaunchTemplateAndOverrides); zone == "" {
			zone = zones[offering.SubnetID]
		}
		for _, id := range some.InstanceIds {
			launched.Instances = append(launched.Instances, Instance{
				ID: id, InstanceType: string(some.InstanceType), Zone: zone, State: string(ec2types.InstanceStateNamePending), Tags: r.marked(),
			})
		}
	}
	slices.SortFunc(launched.Instances, func(a, b Instance) int { return strings.Compare(a.ID, b.ID) })
	for i := range output.Errors {
		failed := &output.Errors[i]
		failure := Failure{
			Offering: offeringOf(failed.LaunchTemplateAndOverrides), Code: awssdk.ToString(failed.ErrorCode), Message: awssdk.ToString(failed.ErrorMessage),
		}
		failure.Zone = zones[failure.SubnetID]
		if failure.Blame = r.blameFor(failure.Code, failure.Message); failure.Blame == BlameSubnet && failure.SubnetID == "" {
			failure.Blame = BlameTemplate // the subnet is the launch template's own
		}
		launched.Failures = append(launched.Failures, failure)
	}
	return launched
}

func offeringOf(answer *ec2types.LaunchTemplateAndOverridesResponse) Offering {
	if answer == nil || answer.Overrides == nil {
		return Offering{}
	}
	return Offering{
		InstanceType: string(answer.Overrides.InstanceType), SubnetID: awssdk.ToString(answer.Overrides.SubnetId),
		Zone: awssdk.ToString(answer.Overrides.AvailabilityZone),
	}
}

// OfLaunch returns the instances of a launch that EC2 knows, including terminated ones while EC2
// remembers them.
func (f *Fleets) OfLaunch(ctx context.Context, name string) ([]Instance, error) {
	found, err := f.matching(ctx, ec2types.Filter{Name: awssdk.String("tag:" + TagLaunch), Values: aws.FilterValues(name)})
	if err != nil {
		return nil, fmt.Errorf("describing the instances of launch %q: %w", name, err)
	}
	return slices.Collect(maps.Values(found)), nil
}

// OfCluster returns all instances of a cluster's provisioners, by ID, except for terminated ones.
func (f *Fleets) OfCluster(ctx context.Context, cluster string) (map[string]Instance, error) {
	found, err := f.matching(ctx,
		ec2types.Filter{Name: awssdk.String("tag:" + TagCluster), Values: aws.FilterValues(cluster)},
		ec2types.Filter{Name: awssdk.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"}})
	if err != nil {
		return nil, fmt.Errorf("describing the instances of cluster %q: %w", cluster, err)
	}
	return found, nil
}

// MarkedFor returns all instances that were launched with the mark of a cluster, by ID, except for
// terminated ones.
func (f *Fleets) MarkedFor(ctx context.Context, clusterUID string) (map[string]Instance, error) {
	found, err := f.matching(ctx,
		ec2types.Filter{Name: awssdk.String("tag:" + infrav1.TagClusterUID), Values: aws.FilterValues(clusterUID)},
		ec2types.Filter{Name: awssdk.String("tag-key"), Values: []string{TagLaunch}},
		ec2types.Filter{Name: awssdk.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"}})
	if err != nil {
		return nil, fmt.Errorf("describing the instances of this cluster: %w", err)
	}
	return found, nil
}

// DescribeBatch is the number of instances that one call describes by a filter (AWS: EC2
// "Filtering", 200 values).
const DescribeBatch = 200

// Describe returns the instances that EC2 knows, by ID.
func (f *Fleets) Describe(ctx context.Context, ids []string) (map[string]Instance, error) {
	all := map[string]Instance{}
	for batch := range slices.Chunk(ids, DescribeBatch) {
		// A filter, because a list of ids fails as a whole when one of them is not known yet.
		found, err := f.matching(ctx, ec2types.Filter{Name: awssdk.String("instance-id"), Values: aws.FilterValues(batch...)})
		if err != nil {
			return nil, fmt.Errorf("describing instances %q: %w", batch, err)
		}
		maps.Copy(all, found)
	}
	return all, nil
}

func (f *Fleets) matching(ctx context.Context, filters ...ec2types.Filter) (map[string]Instance, error) {
	pages := ec2.NewDescribeInstancesPaginator(f.ec2, &ec2.DescribeInstancesInput{Filters: filters, MaxResults: awssdk.Int32(1000)})
	found := map[string]Instance{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.Reservations {
			for j := range page.Reservations[i].Instances {
				instance := instanceOf(&page.Reservations[i].Instances[j])
				found[instance.ID] = instance
			}
		}
	}
	return found, nil
}

func instanceOf(described *ec2types.Instance) Instance {
	instance := Instance{ID: awssdk.ToString(described.InstanceId), InstanceType: string(described.InstanceType), ImageID: awssdk.ToString(described.ImageId), PrivateDNSName: awssdk.ToString(described.PrivateDnsName), Tags: map[string]string{}}
	if described.State != nil {
		instance.State = string(described.State.Name)
	}
	if reason := described.StateReason; reason != nil {
		instance.StateCode, instance.StateMessage = awssdk.ToString(reason.Code), awssdk.ToString(reason.Message)
	}
	if described.Placement != nil {
		instance.Zone = awssdk.ToString(described.Placement.AvailabilityZone)
	}
	for _, tag := range described.Tags {
		instance.Tags[awssdk.ToString(tag.Key)] = awssdk.ToString(tag.Value)
	}
	return instance
}

func tagList(tags map[string]string) []ec2types.Tag {
	var list []ec2types.Tag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, ec2types.Tag{Key: awssdk.String(key), Value: awssdk.String(tags[key])})
	}
	return list
}

// Probe sends the cheapest call that shows whether EC2 answers.
func (f *Fleets) Probe(ctx context.Context) error {
	_, err := f.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{
		Filters: []ec2types.Filter{{Name: awssdk.String("instance-id"), Values: []string{"i-00000000000000000"}}},
	})
	if err != nil {
		return fmt.Errorf("probing EC2: %w", err)
	}
	return nil
}
