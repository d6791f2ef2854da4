package eks

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// checkRemote refuses remote access with a key or from security groups that do not exist (SDK
// RemoteAccessConfig).
func (r *requests) checkRemote(n *settings) error {
	if n.remote == nil {
		return nil
	}
	if val(n.remote.Ec2SshKey) == "" {
		if len(n.remote.SourceSecurityGroups) > 0 {
			return invalid("ec2SshKey in remote-access can't be empty")
		}
		return nil
	}
	_, err := call[awsec2.DescribeKeyPairsOutput](r.region, "ec2", "DescribeKeyPairs", &awsec2.DescribeKeyPairsInput{KeyNames: []string{*n.remote.Ec2SshKey}})
	if err != nil {
		return invalid("%v", err)
	}
	if len(n.remote.SourceSecurityGroups) == 0 {
		return nil
	}
	_, err = call[awsec2.DescribeSecurityGroupsOutput](r.region, "ec2", "DescribeSecurityGroups", &awsec2.DescribeSecurityGroupsInput{GroupIds: n.remote.SourceSecurityGroups})
	if err != nil {
		return invalid("%v", err)
	}
	return nil
}

// createRemoteGroup creates the security group that allows SSH (SDK
// RemoteAccessConfig.SourceSecurityGroups). Security groups of the simulated EC2 have no rules, so
// nothing can connect.
func (b *builder) createRemoteGroup(g *group) error {
	if g.remote == nil || val(g.remote.Ec2SshKey) == "" || g.made.remoteGroup != "" {
		return nil
	}
	out, err := call[awsec2.CreateSecurityGroupOutput](b.region, "ec2", "CreateSecurityGroup", &awsec2.CreateSecurityGroupInput{
		GroupName: ptr("eks-remoteAccess-" + g.id), VpcId: ptr(g.cluster.vpc),
		Description:       ptr("Security group for all nodes in the nodeGroup to allow SSH access"),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: ec2Tags(merged(g.ownTags(), map[string]string{"eks": g.name}))}},
	})
	if err != nil {
		return err
	}
	g.made.remoteGroup = val(out.GroupId)
	return nil
}
