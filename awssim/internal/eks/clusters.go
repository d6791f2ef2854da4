package eks

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// SetCluster makes a cluster as it would be when it is ACTIVE, or changes the one of that name. It fails if its subnets do not exist or are
// of different VPCs, or if its version is not one of Kubernetes such as 1.30. Only for code under the kernel's lock.
func SetCluster(r *sim.Region, c world.Cluster) error { return regional(r).setCluster(c) }

func (s *service) setCluster(c world.Cluster) error {
	if c.Name == "" || minor(c.Version) < 0 {
		return fmt.Errorf("cluster %q of version %q: it needs a name, and a version such as 1.30", c.Name, c.Version)
	}
	vpc := ""
	for _, id := range c.Subnets {
		subnet, ok := ec2.LookupSubnet(s.region, id)
		if !ok || vpc != "" && vpc != val(subnet.VpcId) {
			return fmt.Errorf("cluster %q: subnet %q does not exist, or is not in the VPC of the others", c.Name, id)
		}
		vpc = val(subnet.VpcId)
	}
	if vpc == "" {
		return fmt.Errorf("cluster %q: it has no subnets", c.Name)
	}
	made := s.clusters[c.Name]
	if made == nil {
		made = &cluster{
			arn:     fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", s.region.Name, s.region.Account.ID, c.Name),
			created: s.kernel.Now(), vpc: vpc, securityGroup: c.SecurityGroup,
		}
		if made.securityGroup == "" {
			group, err := s.makeClusterGroup(c.Name, vpc)
			if err != nil {
				return fmt.Errorf("cluster %q: making its security group: %w", c.Name, err)
			}
			made.securityGroup = group
		}
	}
	switch had := made.Version; {
	case had == "" || minor(c.Version) < minor(had):
		made.upgraded = time.Time{}
	case minor(c.Version) > minor(had):
		made.upgraded = s.kernel.Now()
	}
	made.Cluster = c
	s.clusters[c.Name] = made
	s.clusterViews.Put(c.Name, s.describe(made))
	return nil
}

// makeClusterGroup makes the security group that EKS gives a cluster and its managed nodes (UG sec-group-reqs).
func (s *service) makeClusterGroup(name, vpc string) (id string, err error) {
	out, err := call[awsec2.CreateSecurityGroupOutput](s, "ec2", "CreateSecurityGroup", &awsec2.CreateSecurityGroupInput{
		GroupName: ptr("eks-cluster-sg-" + name + "-" + s.kernel.NewID("", 9)), VpcId: ptr(vpc),
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

func (s *service) describe(c *cluster) *types.Cluster {
	endpoint, authority, cidr := c.Endpoint, c.CertificateAuthority, c.ServiceCIDR
	if endpoint == "" {
		endpoint = "https://" + strings.ToUpper(world.HashID("", s.region.Account.ID, c.Name)[1:]) + ".gr7." + s.region.Name + ".eks.amazonaws.com"
	}
	if authority == "" {
		authority = base64.StdEncoding.EncodeToString([]byte("the certificate authority of " + c.Name))
	}
	if cidr == "" {
		cidr = "172.20.0.0/16" // UG network-reqs: one of 10.100.0.0/16 and 172.20.0.0/16 by default
	}
	return &types.Cluster{
		Name: ptr(c.Name), Arn: ptr(c.arn), CreatedAt: ptr(c.created), Version: ptr(c.Version), Status: types.ClusterStatusActive,
		PlatformVersion: ptr("eks.1"), Endpoint: ptr(endpoint), CertificateAuthority: &types.Certificate{Data: ptr(authority)},
		RoleArn: ptr("arn:aws:iam::" + s.region.Account.ID + ":role/eks-controlplane.cluster-api-provider-aws.sigs.k8s.io"),
		ResourcesVpcConfig: &types.VpcConfigResponse{
			VpcId: ptr(c.vpc), SubnetIds: slices.Clone(c.Subnets), SecurityGroupIds: []string{}, ClusterSecurityGroupId: ptr(c.securityGroup),
			EndpointPublicAccess: true, PublicAccessCidrs: []string{"0.0.0.0/0"},
		},
		KubernetesNetworkConfig: &types.KubernetesNetworkConfigResponse{ServiceIpv4Cidr: ptr(cidr), IpFamily: types.IpFamilyIpv4},
		AccessConfig:            &types.AccessConfigResponse{AuthenticationMode: types.AuthenticationModeApiAndConfigMap},
		UpgradePolicy:           &types.UpgradePolicyResponse{SupportType: types.SupportTypeExtended},
		Health:                  &types.ClusterHealth{Issues: []types.ClusterIssue{}},
		Tags:                    merged(c.Tags),
	}
}

func (s *service) describeCluster(_ *sim.Call, in *eks.DescribeClusterInput) (*eks.DescribeClusterOutput, error) {
	c, ok := s.clusterViews.Visible(val(in.Name))
	if !ok {
		return nil, clusterNotFound(val(in.Name))
	}
	return &eks.DescribeClusterOutput{Cluster: c}, nil
}

func (s *service) listClusters(_ *sim.Call, in *eks.ListClustersInput) (*eks.ListClustersOutput, error) {
	names := []string{}
	for _, c := range s.clusterViews.VisibleAll() {
		names = append(names, *c.Name)
	}
	slices.Sort(names)
	page, next, err := paginate(names, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	return &eks.ListClustersOutput{Clusters: page, NextToken: next}, nil
}

// paginate cuts a page of names out of a list (SDK ListNodegroupsInput.MaxResults: up to 100, which is also what comes without it).
func paginate(names []string, token *string, size *int32) (page []string, next *string, err error) {
	n := 100
	if size != nil {
		if n = int(*size); n < 1 || n > 100 {
			return nil, nil, invalid("maxResults must be between 1 and 100, not %d", n)
		}
	}
	page, next, ok := sim.Page(names, token, n, func(s string) string { return s })
	if !ok {
		return nil, nil, invalid("Invalid pagination token.")
	}
	return page, next, nil
}
