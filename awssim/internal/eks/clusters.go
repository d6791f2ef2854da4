package eks

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

const (
	platformVersion    = "eks.1"
	everywhere         = "0.0.0.0/0"
	defaultServiceCIDR = "172.20.0.0/16" // UG network-reqs: one of 10.100.0.0/16 and 172.20.0.0/16 by default
)

// SetCluster creates an ACTIVE cluster, or changes the cluster of that name. It fails if the
// subnets do not exist or are in different VPCs, or if the version is not a Kubernetes version such
// as 1.30. Only code that holds the kernel's lock may call it.
func SetCluster(r *sim.Region, c world.Cluster) error { return regional(r).clusters.set(c) }

// clusters holds the clusters of one account and Region, and what Describe actions show of them.
type clusters struct {
	region *sim.Region
	kernel *sim.Kernel

	byName map[string]*cluster
	views  *sim.Table[*types.Cluster]
}

func newClusters(r *sim.Region) *clusters {
	k := r.Kernel()
	return &clusters{region: r, kernel: k, byName: map[string]*cluster{}, views: sim.NewTable[*types.Cluster](k)}
}

// set creates an ACTIVE cluster, or changes the cluster of that name, as SetCluster describes.
func (cs *clusters) set(c world.Cluster) error {
	if c.Name == "" || minor(c.Version) < 0 {
		return fmt.Errorf("cluster %q of version %q: it needs a name, and a version such as 1.30", c.Name, c.Version)
	}
	vpc := ""
	for _, id := range c.Subnets {
		subnet, ok := ec2.LookupSubnet(cs.region, id)
		if !ok || vpc != "" && vpc != val(subnet.VpcId) {
			return fmt.Errorf("cluster %q: subnet %q does not exist, or is not in the VPC of the others", c.Name, id)
		}
		vpc = val(subnet.VpcId)
	}
	if vpc == "" {
		return fmt.Errorf("cluster %q: it has no subnets", c.Name)
	}
	made := cs.byName[c.Name]
	if made == nil {
		made = cs.add(c.Name)
		made.vpc, made.securityGroup = vpc, c.SecurityGroup
		made.access.AuthenticationMode = types.AuthenticationModeApiAndConfigMap
		made.role = "arn:aws:iam::" + cs.region.Account.ID + ":role/eks-controlplane.cluster-api-provider-aws.sigs.k8s.io"
	}
	if made.securityGroup == "" {
		group, err := cs.createSecurityGroup(c.Name, vpc)
		if err != nil {
			return fmt.Errorf("cluster %q: making its security group: %w", c.Name, err)
		}
		made.securityGroup = group
	}
	made.became(c.Version, cs.kernel.Now())
	made.Cluster = c
	if made.status == types.ClusterStatusCreating {
		cs.setStatus(made, types.ClusterStatusActive)
		return nil
	}
	cs.publish(made)
	return nil
}

// add adds an ACTIVE cluster with default settings. Only CreateCluster creates clusters that are
// CREATING.
func (cs *clusters) add(name string) *cluster {
	c := &cluster{
		arn: arnOf(cs.region, "cluster/"+name), created: cs.kernel.Now(), status: types.ClusterStatusActive,
		id:              strings.ToUpper(world.HashID("", cs.region.Account.ID, name)[1:]),
		clusterSettings: clusterSettings{publicAccess: true, publicCIDRs: []string{everywhere}, support: types.SupportTypeExtended},
		addons:          map[string]*addon{}, entries: map[string]*accessEntry{},
	}
	cs.byName[name] = c
	return c
}

// find returns the current state of a cluster, or the error that AWS returns.
func (cs *clusters) find(name *string) (*cluster, error) {
	c, ok := cs.byName[val(name)]
	if !ok {
		return nil, clusterNotFound(val(name))
	}
	return c, nil
}

// became sets the version of a cluster, and notes the time of an upgrade: a cluster can return to
// its previous version for some days.
func (c *cluster) became(version string, now time.Time) {
	switch had := c.Version; {
	case had == "" || minor(version) < minor(had):
		c.upgraded = time.Time{}
	case minor(version) > minor(had):
		c.upgraded = now
	}
	c.Version = version
}

// publish updates what Describe actions show of a cluster.
func (cs *clusters) publish(c *cluster) { cs.views.Put(c.Name, cs.describe(c)) }

// setStatus sets the status of a cluster and notifies the simulator's subscribers.
func (cs *clusters) setStatus(c *cluster, status types.ClusterStatus) {
	c.status = status
	cs.publish(c)
	cs.emit(c, string(status))
}

// emit notifies the simulator's subscribers of a new status of a cluster.
func (cs *clusters) emit(c *cluster, status string) {
	cs.kernel.Emit(sim.Event{Account: cs.region.Account.ID, Region: cs.region.Name, Kind: "cluster", ID: c.Name, State: status})
}

// createSecurityGroup creates the security group that a cluster shares with its managed nodes (UG
// sec-group-reqs).
func (cs *clusters) createSecurityGroup(name, vpc string) (id string, err error) {
	out, err := call[awsec2.CreateSecurityGroupOutput](cs.region, "ec2", "CreateSecurityGroup", &awsec2.CreateSecurityGroupInput{
		GroupName: ptr("eks-cluster-sg-" + name + "-" + cs.kernel.NewID("", 9)), VpcId: ptr(vpc),
		Description: ptr("EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, as well as any managed workloads."),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: []ec2types.Tag{
			{Key: ptr("Name"), Value: ptr("eks-cluster-sg-" + name)}, {Key: ptr("kubernetes.io/cluster/" + name), Value: ptr("owned")},
		}}},
	})
	if err != nil {
		return "", err
	}
	return val(out.GroupId), nil
}

// describe returns a cluster as DescribeCluster returns it. A cluster that is CREATING has no
// endpoint, no certificate, and no issuer of tokens (AWS CLI, examples of create-cluster). That it
// has no security group yet is an inference.
func (cs *clusters) describe(c *cluster) *types.Cluster {
	d := &types.Cluster{
		Name: ptr(c.Name), Arn: ptr(c.arn), CreatedAt: ptr(c.created), Version: ptr(c.Version), Status: c.status, RoleArn: ptr(c.role),
		PlatformVersion: ptr(platformVersion), CertificateAuthority: &types.Certificate{},
		ResourcesVpcConfig: &types.VpcConfigResponse{
			VpcId: ptr(c.vpc), SubnetIds: slices.Clone(c.Subnets), SecurityGroupIds: append([]string{}, c.securityGroups...), ClusterSecurityGroupId: optional(c.securityGroup),
			EndpointPublicAccess: c.publicAccess, EndpointPrivateAccess: c.privateAccess, PublicAccessCidrs: append([]string{}, c.publicCIDRs...),
		},
		KubernetesNetworkConfig: &types.KubernetesNetworkConfigResponse{
			ServiceIpv4Cidr: ptr(cmp.Or(c.ServiceCIDR, defaultServiceCIDR)), IpFamily: types.IpFamilyIpv4, ElasticLoadBalancing: &types.ElasticLoadBalancing{Enabled: ptr(false)},
		},
		AccessConfig: &types.AccessConfigResponse{AuthenticationMode: c.access.AuthenticationMode}, UpgradePolicy: &types.UpgradePolicyResponse{SupportType: c.support},
		Logging: c.logging(), EncryptionConfig: shape.Clone(c.encryption), DeletionProtection: ptr(c.protected),
		ZonalShiftConfig: shape.Clone(c.zonalShift), RemoteNetworkConfig: shape.Clone(c.remote),
		ControlPlaneScalingConfig: &types.ControlPlaneScalingConfig{Tier: types.ProvisionedControlPlaneTierStandard},
		Health:                    &types.ClusterHealth{Issues: []types.ClusterIssue{}}, Tags: merged(c.Tags),
	}
	// a cluster has these only if a request had them (terraform-aws-modules/terraform-aws-eks#3273)
	if c.noAutoMode {
		d.ComputeConfig = &types.ComputeConfigResponse{Enabled: ptr(false), NodePools: []string{}}
		d.StorageConfig = &types.StorageConfigResponse{BlockStorage: &types.BlockStorage{Enabled: ptr(false)}}
	}
	if c.status == types.ClusterStatusCreating {
		return d
	}
	host := c.id + ".gr7." + cs.region.Name + ".eks.amazonaws.com"
	d.Endpoint = ptr(cmp.Or(c.Endpoint, "https://"+host))
	d.CertificateAuthority.Data = ptr(cmp.Or(c.CertificateAuthority, base64.StdEncoding.EncodeToString([]byte("the certificate authority of "+c.Name))))
	d.Identity = &types.Identity{Oidc: &types.OIDC{Issuer: ptr("https://oidc.eks." + cs.region.Name + ".amazonaws.com/id/" + c.id)}}
	return d
}
