package ec2

import (
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// taggable is one kind of resource that can be tagged.
type taggable struct {
	kind     idKind
	resource types.ResourceType
	get      func(s *state, id string) ([]types.Tag, bool)
	set      func(s *state, id string, tags []types.Tag)
	visible  func(s *state) []tagged
}

// tagged is a resource with its tags.
type tagged struct {
	id       string
	resource types.ResourceType
	tags     []types.Tag
}

// tagsIn makes a kind taggable whose resources are in a table by id.
func tagsIn[V any](kind idKind, resource types.ResourceType, table func(*state) *sim.Table[V], id func(V) string, tags func(*V) *[]types.Tag) taggable {
	return taggable{
		kind: kind, resource: resource,
		get: func(s *state, id string) ([]types.Tag, bool) {
			v, ok := table(s).Get(id)
			return *tags(&v), ok
		},
		set: func(s *state, id string, list []types.Tag) {
			v, _ := table(s).Get(id)
			*tags(&v) = list
			table(s).Put(id, v)
		},
		visible: func(s *state) []tagged {
			var all []tagged
			for _, v := range table(s).VisibleAll() {
				all = append(all, tagged{id(v), resource, *tags(&v)})
			}
			return all
		},
	}
}

var taggables = []taggable{
	tagsIn(launchTemplateID, types.ResourceTypeLaunchTemplate, func(s *state) *sim.Table[template] { return s.templates.Table },
		func(t template) string { return t.id }, func(t *template) *[]types.Tag { return &t.tags }),
	tagsIn(instanceID, types.ResourceTypeInstance, func(s *state) *sim.Table[instance] { return s.instances.Table },
		instance.id, func(i *instance) *[]types.Tag { return &i.api.Tags }),
	tagsIn(volumeID, types.ResourceTypeVolume, func(s *state) *sim.Table[types.Volume] { return s.volumes },
		func(v types.Volume) string { return *v.VolumeId }, func(v *types.Volume) *[]types.Tag { return &v.Tags }),
	tagsIn(imageID, types.ResourceTypeImage, func(s *state) *sim.Table[types.Image] { return s.images.Table },
		func(i types.Image) string { return *i.ImageId }, func(i *types.Image) *[]types.Tag { return &i.Tags }),
	tagsIn(subnetID, types.ResourceTypeSubnet, func(s *state) *sim.Table[types.Subnet] { return s.subnets.Table },
		func(v types.Subnet) string { return *v.SubnetId }, func(v *types.Subnet) *[]types.Tag { return &v.Tags }),
	tagsIn(securityGroupID, types.ResourceTypeSecurityGroup, func(s *state) *sim.Table[types.SecurityGroup] { return s.groups.Table },
		func(g types.SecurityGroup) string { return *g.GroupId }, func(g *types.SecurityGroup) *[]types.Tag { return &g.Tags }),
	tagsIn(securityGroupRuleID, types.ResourceTypeSecurityGroupRule, func(s *state) *sim.Table[types.SecurityGroupRule] { return s.groups.rules },
		func(r types.SecurityGroupRule) string { return *r.SecurityGroupRuleId }, func(r *types.SecurityGroupRule) *[]types.Tag { return &r.Tags }),
	tagsIn(networkInterfaceID, types.ResourceTypeNetworkInterface, func(s *state) *sim.Table[types.NetworkInterface] { return s.interfaces.Table },
		func(n types.NetworkInterface) string { return *n.NetworkInterfaceId }, func(n *types.NetworkInterface) *[]types.Tag { return &n.TagSet }),
	tagsIn(allocationID, types.ResourceTypeElasticIp, func(s *state) *sim.Table[types.Address] { return s.elastics.Table },
		addressID, func(a *types.Address) *[]types.Tag { return &a.Tags }),
	tagsIn(dhcpOptionsID, types.ResourceTypeDhcpOptions, func(s *state) *sim.Table[types.DhcpOptions] { return s.dhcpOptions.Table },
		func(d types.DhcpOptions) string { return *d.DhcpOptionsId }, func(d *types.DhcpOptions) *[]types.Tag { return &d.Tags }),
	tagsIn(internetGatewayID, types.ResourceTypeInternetGateway, func(s *state) *sim.Table[types.InternetGateway] { return s.internetGateways.Table },
		func(g types.InternetGateway) string { return *g.InternetGatewayId }, func(g *types.InternetGateway) *[]types.Tag { return &g.Tags }),
	tagsIn(natGatewayID, types.ResourceTypeNatgateway, func(s *state) *sim.Table[types.NatGateway] { return s.natGateways.Table },
		func(g types.NatGateway) string { return *g.NatGatewayId }, func(g *types.NatGateway) *[]types.Tag { return &g.Tags }),
	tagsIn(networkACLID, types.ResourceTypeNetworkAcl, func(s *state) *sim.Table[types.NetworkAcl] { return s.acls.Table },
		func(a types.NetworkAcl) string { return *a.NetworkAclId }, func(a *types.NetworkAcl) *[]types.Tag { return &a.Tags }),
	tagsIn(routeTableID, types.ResourceTypeRouteTable, func(s *state) *sim.Table[types.RouteTable] { return s.routeTables.Table },
		func(t types.RouteTable) string { return *t.RouteTableId }, func(t *types.RouteTable) *[]types.Tag { return &t.Tags }),
	tagsIn(vpcID, types.ResourceTypeVpc, func(s *state) *sim.Table[types.Vpc] { return s.vpcs.Table },
		func(v types.Vpc) string { return *v.VpcId }, func(v *types.Vpc) *[]types.Tag { return &v.Tags }),
	tagsIn(keyPairID, types.ResourceTypeKeyPair, func(s *state) *sim.Table[types.KeyPairInfo] { return s.keyPairs.Table },
		func(p types.KeyPairInfo) string { return *p.KeyPairId }, func(p *types.KeyPairInfo) *[]types.Tag { return &p.Tags }),
	tagsIn(placementGroupID, types.ResourceTypePlacementGroup, func(s *state) *sim.Table[types.PlacementGroup] { return s.placements },
		func(p types.PlacementGroup) string { return *p.GroupId }, func(p *types.PlacementGroup) *[]types.Tag { return &p.Tags }),
	tagsIn(rootTaskID, types.ResourceTypeReplaceRootVolumeTask, func(s *state) *sim.Table[rootTask] { return s.rootTasks.Table },
		rootTaskListing.id, func(t *rootTask) *[]types.Tag { return &t.api.Tags }),
	tagsIn(fleetID, types.ResourceTypeFleet, func(s *state) *sim.Table[fleet] { return s.fleets.Table },
		func(f fleet) string { return f.id }, func(f *fleet) *[]types.Tag { return &f.tags }),
}

// findTaggable returns the kind of a resource, by the prefix of its id; the resource must exist.
func findTaggable(s *state, id string) (taggable, []types.Tag, error) {
	prefix, _, _ := strings.Cut(id, "-")
	for _, t := range taggables {
		if t.kind.prefix != prefix {
			continue
		}
		if err := t.kind.check(id); err != nil {
			return taggable{}, nil, err
		}
		tags, ok := t.get(s, id)
		if !ok {
			return taggable{}, nil, t.kind.missing(id)
		}
		return t, tags, nil
	}
	return taggable{}, nil, sim.Errorf("InvalidID", "The ID '%s' is not valid", id)
}

const maxTaggedResources = 1000 // SDK, CreateTagsInput.Resources

// retag gives every resource the tags that change makes of its own, or none of them if one resource
// or change is refused.
func retag(s *state, ids []string, dry *bool, change func(id string, old []types.Tag) ([]types.Tag, error)) error {
	if len(ids) == 0 {
		return missingParameter("resourceIdSet")
	}
	if len(ids) > maxTaggedResources {
		return sim.Errorf("InvalidParameterValue", "At most %d resources may be specified.", maxTaggedResources)
	}
	var apply []func()
	for _, id := range ids {
		t, old, err := findTaggable(s, id)
		if err != nil {
			return err
		}
		list, err := change(id, old)
		if err != nil {
			return err
		}
		apply = append(apply, func() { t.set(s, id, list) })
	}
	if val(dry) {
		return dryRun()
	}
	for _, f := range apply {
		f()
	}
	return nil
}

func createTags(c *sim.Call, in *awsec2.CreateTagsInput) (*awsec2.CreateTagsOutput, error) {
	s := stateOf(c.Region)
	if len(in.Tags) == 0 {
		return nil, missingParameter("tagSet")
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	err := retag(s, in.Resources, in.DryRun, func(id string, old []types.Tag) ([]types.Tag, error) {
		if i, ok := s.instances.Get(id); ok && i.api.MetadataOptions.InstanceMetadataTags == types.InstanceMetadataTagsStateEnabled {
			if err := checkMetadataTagKeys(in.Tags); err != nil {
				return nil, err
			}
		}
		merged := mergeTags(old, in.Tags)
		return merged, checkTagCount(merged)
	})
	if err != nil {
		return nil, err
	}
	return &awsec2.CreateTagsOutput{}, nil
}

// deleteTags removes the tags that are named: with a value only if it is the tag's, and all that
// users set if none is named (SDK, DeleteTagsInput.Tags).
func deleteTags(c *sim.Call, in *awsec2.DeleteTagsInput) (*awsec2.DeleteTagsOutput, error) {
	for _, tag := range in.Tags {
		if strings.HasPrefix(strings.ToLower(val(tag.Key)), reservedTagPrefix) {
			return nil, sim.Errorf("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		}
	}
	err := retag(stateOf(c.Region), in.Resources, in.DryRun, func(_ string, old []types.Tag) ([]types.Tag, error) {
		var left []types.Tag
		for _, tag := range old {
			if strings.HasPrefix(*tag.Key, reservedTagPrefix) || !removesTag(in.Tags, tag) {
				left = append(left, tag)
			}
		}
		return left, nil
	})
	if err != nil {
		return nil, err
	}
	return &awsec2.DeleteTagsOutput{}, nil
}

func removesTag(named []types.Tag, tag types.Tag) bool {
	if len(named) == 0 {
		return true
	}
	for _, n := range named {
		if val(n.Key) == *tag.Key && (n.Value == nil || *n.Value == val(tag.Value)) {
			return true
		}
	}
	return false
}

var tagFilters = filterTable[types.TagDescription]{
	"key":           func(t types.TagDescription) []string { return text(t.Key) },
	"resource-id":   func(t types.TagDescription) []string { return text(t.ResourceId) },
	"resource-type": func(t types.TagDescription) []string { return enum(t.ResourceType) },
	"value":         func(t types.TagDescription) []string { return text(t.Value) },
}

var tagListing = listing[types.TagDescription]{
	filters: tagFilters, pages: commonPages,
	id:   func(t types.TagDescription) string { return *t.ResourceId + "/" + *t.Key },
	tags: func(t types.TagDescription) []types.Tag { return []types.Tag{{Key: t.Key, Value: t.Value}} },
}

func describeTags(c *sim.Call, in *awsec2.DescribeTagsInput) (*awsec2.DescribeTagsOutput, error) {
	s := stateOf(c.Region)
	var all []types.TagDescription
	for _, t := range taggables {
		for _, r := range t.visible(s) {
			for _, tag := range r.tags {
				all = append(all, types.TagDescription{Key: tag.Key, Value: tag.Value, ResourceId: ptr(r.id), ResourceType: r.resource})
			}
		}
	}
	found, next, err := tagListing.read(all, query{nil, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeTagsOutput{Tags: found, NextToken: next}, nil
}
