package permissions

import (
	"cmp"
	"path"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/noderole"
)

// rule is a statement: what features need on the same resources, under the same condition. One of on and except is given.
type rule struct {
	sid        string
	grants     []grant
	on, except func(Scope) []string
	when       func(Scope) Condition
}

// grant are actions, for features.
type grant struct {
	actions  []string
	features []Feature
}

func needs(features ...Feature) func(actions ...string) grant {
	return func(actions ...string) grant { return grant{actions, features} }
}

// What each kind of pool needs, and what both do.
var (
	machine = needs(MachinePools)
	managed = needs(ManagedPools)
	both    = needs(MachinePools, ManagedPools)
	nodes   = needs(JustInTimeNodes)
	all     = needs(MachinePools, ManagedPools, JustInTimeNodes)
)

func everything(Scope) []string { return []string{"*"} }

func templates(s Scope) []string { return s.regional("ec2", "launch-template/*") }

func instances(s Scope) []string { return s.regional("ec2", "instance/*") }

func groups(s Scope) []string {
	return s.regional("autoscaling", "autoScalingGroup:*:autoScalingGroupName/*")
}

func nodegroups(s Scope) []string { return s.regional("eks", "nodegroup/*") }

// instanceRoles are what instances of machine pools may have: CAPA's default, and those that are named.
func instanceRoles(s Scope) []string {
	return s.roles(append([]string{"nodes" + roleSuffix}, s.NodeRoles...)...)
}

// roleSuffix ends the names of the roles that clusterawsadm makes (CAPA: cloudformation/bootstrap, DefaultNameSuffix).
const roleSuffix = ".cluster-api-provider-aws.sigs.k8s.io"

// ownRoles are those of managed pools that Slipway makes: with names that it and CAPA derive, or that are named. Before a role is there, IAM knows its name
// without a path.
func ownRoles(s Scope) []string {
	names := []string{"*" + infrav1.NodeRoleSuffix, infrav1.HashedNamePrefix + "*"}
	for _, name := range s.NodeRoles {
		if names = append(names, name); strings.Contains(name, "/") {
			names = append(names, path.Base(name))
		}
	}
	return s.roles(names...)
}

// nodegroupRoles are what nodes of managed pools may have: CAPA's default too.
func nodegroupRoles(s Scope) []string {
	return slices.Concat(ownRoles(s), s.roles("eks-nodegroup"+roleSuffix))
}

// nodePolicies are what may be attached to roles that Slipway makes: anything else would give nodes, and so Slipway, more than it has itself.
func nodePolicies(s Scope) []string {
	return slices.Concat(noderole.NodePolicies(cmp.Or(s.Partition, "*")), s.NodePolicies)
}

func requested(tag string) func(Scope) Condition {
	return func(s Scope) Condition { return s.bears("RequestTag", tag) }
}

func owned(tag string) func(Scope) Condition {
	return func(s Scope) Condition { return s.bears("ResourceTag", tag) }
}

// madeByCAPA is met by what CAPA made for nodes, of which Slipway may make nothing but its own.
func madeByCAPA(tag string) func(Scope) Condition {
	return func(s Scope) Condition {
		return s.bears("RequestTag", tag).and("StringEquals", "aws:ResourceTag/"+infrav1.TagRole, infrav1.TagValueRoleNode)
	}
}

// ofProvisioner is met by instances that a provisioner launched: of the scope's cluster, if it has one. The value is the cluster's name.
func ofProvisioner(s Scope) Condition {
	const key = "aws:ResourceTag/" + fleet.TagCluster
	if s.Cluster == "" {
		return Condition{}.and("Null", key, "false")
	}
	return Condition{}.and("StringEquals", key, s.Cluster)
}

func given(key string, values ...string) func(Scope) Condition {
	return func(Scope) Condition { return Condition{}.and("StringEquals", key, values...) }
}

// rules are the table. Which actions there are, and the resource types and condition keys that they know: AWS, Service Authorization Reference.
var rules = []rule{
	{
		sid: "Look", on: everything, // these know no resources
		grants: []grant{
			all("ec2:DescribeImages", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances", "ec2:DescribeLaunchTemplateVersions", "ec2:DescribeLaunchTemplates",
				"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets"),
			both("autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeLifecycleHooks"),
			nodes("ec2:DescribeInstanceTypeOfferings", "ec2:DescribeSpotPriceHistory"),
			managed("ec2:DescribeCapacityReservations"),
			machine("autoscaling:DescribeInstanceRefreshes", "autoscaling:DescribeScalingActivities", "autoscaling:DescribeWarmPool"),
			needs(SSMBootstrapData)("ssm:DescribeParameters"),
		},
	},
	{sid: "MakeTemplates", on: templates, when: requested(infrav1.TagLaunchConfig), grants: []grant{all("ec2:CreateLaunchTemplate")}},
	{
		sid: "TagWhatIsMade", on: everything, grants: []grant{all("ec2:CreateTags")},
		when: given("ec2:CreateAction", "CreateFleet", "CreateLaunchTemplate", "RunInstances"), // else whatever is tagged would be Slipway's from then on
	},
	{
		// Auto Scaling and EKS ask for ec2:RunInstances of whoever has them launch from a template.
		sid: "KeepTemplates", on: templates, when: owned(infrav1.TagLaunchConfig),
		grants: []grant{
			all("ec2:CreateLaunchTemplateVersion", "ec2:CreateTags", "ec2:DeleteLaunchTemplate", "ec2:DeleteLaunchTemplateVersions", "ec2:ModifyLaunchTemplate"),
			both("ec2:DeleteTags", "ec2:RunInstances"),
		},
	},
	{sid: "LaunchFromOtherTemplates", on: templates, grants: []grant{needs(ExistingTemplates, JustInTimeNodes)("ec2:RunInstances")}},
	{sid: "AdoptTemplates", on: templates, when: madeByCAPA(infrav1.TagLaunchConfig), grants: []grant{needs(Adoption)("ec2:CreateTags")}},
	{
		// The keys ec2:LaunchTemplate and ec2:IsLaunchTemplateResource, which would say that there is a template, are not there when another service asks.
		sid: "LaunchWith", except: templates, grants: []grant{all("ec2:RunInstances")},
	},
	{sid: "LaunchFleets", on: everything, grants: []grant{nodes("ec2:CreateFleet")}}, // of images, subnets and groups, which bear no tag of Slipway's
	{sid: "EndNodes", on: instances, when: ofProvisioner, grants: []grant{nodes("ec2:TerminateInstances")}},
	{sid: "MakeGroups", on: groups, when: requested(infrav1.TagMachinePool), grants: []grant{machine("autoscaling:CreateAutoScalingGroup")}},
	{
		sid: "KeepGroups", on: groups, when: owned(infrav1.TagMachinePool),
		grants: []grant{machine("autoscaling:AttachLoadBalancerTargetGroups", "autoscaling:CancelInstanceRefresh", "autoscaling:CompleteLifecycleAction",
			"autoscaling:CreateOrUpdateTags", "autoscaling:DeleteAutoScalingGroup", "autoscaling:DeleteLifecycleHook", "autoscaling:DeleteTags", "autoscaling:DeleteWarmPool",
			"autoscaling:DetachLoadBalancerTargetGroups", "autoscaling:PutLifecycleHook", "autoscaling:PutWarmPool", "autoscaling:RecordLifecycleActionHeartbeat",
			"autoscaling:ResumeProcesses", "autoscaling:SetInstanceProtection", "autoscaling:StartInstanceRefresh", "autoscaling:SuspendProcesses",
			"autoscaling:TerminateInstanceInAutoScalingGroup", "autoscaling:UpdateAutoScalingGroup")},
	},
	{sid: "AdoptGroups", on: groups, when: madeByCAPA(infrav1.TagMachinePool), grants: []grant{needs(Adoption)("autoscaling:CreateOrUpdateTags")}},
	{
		// EKS makes the group, and says so in a tag that nobody else can set.
		sid: "KeepGroupsOfEKS", on: groups, when: func(Scope) Condition { return Condition{}.and("Null", "aws:ResourceTag/eks:nodegroup-name", "false") },
		grants: []grant{managed("autoscaling:CreateOrUpdateTags", "autoscaling:DeleteLifecycleHook", "autoscaling:DeleteTags", "autoscaling:PutLifecycleHook")},
	},
	{
		sid: "PassRolesToInstances", on: instanceRoles, grants: []grant{needs(MachinePools, JustInTimeNodes)("iam:PassRole")},
		when: given("iam:PassedToService", "ec2.amazonaws.com", "ec2.amazonaws.com.cn"),
	},
	{
		sid: "PassRolesToHooks", on: func(s Scope) []string { return s.roles("*") }, grants: []grant{needs(HookNotifications)("iam:PassRole")},
		when: given("iam:PassedToService", "autoscaling.amazonaws.com"),
	},
	{
		sid: "FirstGroup", grants: []grant{machine("iam:CreateServiceLinkedRole")},
		on: func(s Scope) []string {
			return s.roles("aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling")
		},
	},
	{
		sid: "FirstNodegroup", grants: []grant{managed("iam:CreateServiceLinkedRole")},
		on: func(s Scope) []string {
			return s.roles("aws-service-role/eks-nodegroup.amazonaws.com/AWSServiceRoleForAmazonEKSNodegroup")
		},
	},
	{
		sid: "LookAtNodegroups", on: func(s Scope) []string { return s.regional("eks", "cluster/*", "nodegroup/*") },
		grants: []grant{managed("eks:DescribeCluster", "eks:DescribeNodegroup", "eks:DescribeUpdate", "eks:ListUpdates")},
	},
	{
		sid: "LookAtClusters", on: func(s Scope) []string { return s.regional("eks", "cluster/*") }, grants: []grant{needs(ClusterEndpoints)("eks:DescribeCluster")},
	},
	{
		// EKS has no key that tells tags of a new node group from those of one that is there: CAPA's are taken over by this permission too.
		sid: "MakeNodegroups", on: func(s Scope) []string { return s.regional("eks", "cluster/*", "nodegroup/*") }, when: requested(infrav1.TagManagedMachinePool),
		grants: []grant{managed("eks:CreateNodegroup", "eks:TagResource")},
	},
	{
		sid: "KeepNodegroups", on: nodegroups, when: owned(infrav1.TagManagedMachinePool),
		grants: []grant{managed("eks:DeleteNodegroup", "eks:TagResource", "eks:UntagResource", "eks:UpdateNodegroupConfig", "eks:UpdateNodegroupVersion")},
	},
	{sid: "LookAtRoles", on: nodegroupRoles, grants: []grant{managed("iam:GetRole", "iam:ListAttachedRolePolicies")}},
	{sid: "PassRolesToEKS", on: nodegroupRoles, when: given("iam:PassedToService", "eks.amazonaws.com"), grants: []grant{managed("iam:PassRole")}},
	{sid: "MakeRoles", on: ownRoles, when: requested(infrav1.TagManagedMachinePool), grants: []grant{needs(NodeRoles)("iam:CreateRole", "iam:TagRole")}},
	{
		sid: "KeepRoles", on: ownRoles, when: owned(infrav1.TagManagedMachinePool),
		grants: []grant{needs(NodeRoles)("iam:DeleteRole", "iam:DeleteRolePermissionsBoundary", "iam:DetachRolePolicy", "iam:PutRolePermissionsBoundary", "iam:TagRole", "iam:UntagRole")},
	},
	{
		sid: "AttachToRoles", on: ownRoles, grants: []grant{needs(NodeRoles)("iam:AttachRolePolicy")},
		when: func(s Scope) Condition {
			return owned(infrav1.TagManagedMachinePool)(s).and("ArnLike", "iam:PolicyARN", nodePolicies(s)...)
		},
	},
	{
		// EC2 asks for ssm:GetParameters of whoever launches from a template that names a parameter.
		sid: "FindImages", grants: []grant{needs(ImageParameters, JustInTimeNodes)("ssm:GetParameter"), nodes("ssm:GetParameters")},
		on: func(s Scope) []string {
			public := Scope{Partition: s.Partition, Region: s.Region} // AWS's own belong to no account
			arns := public.regional("ssm", "parameter/aws/service/*")
			for _, name := range s.ImageParameters {
				arns = append(arns, s.regional("ssm", "parameter/"+strings.TrimPrefix(name, "/"))...)
			}
			return arns
		},
	},
	{
		sid: "KeepParameters", on: func(s Scope) []string { return s.regional("ssm", "parameter/slipway/*") },
		grants: []grant{needs(SSMBootstrapData)("ssm:AddTagsToResource", "ssm:DeleteParameters", "ssm:PutParameter")},
	},
	{
		sid: "KeepObjects", on: func(s Scope) []string { return []string{s.arn("s3", "", "", cmp.Or(s.Bucket, "*")+"/node/slipway/*")} },
		grants: []grant{needs(S3BootstrapData)("s3:DeleteObject", "s3:GetObject", "s3:PutObject")},
	},
	{
		sid: "FindObjects", on: func(s Scope) []string { return []string{s.arn("s3", "", "", cmp.Or(s.Bucket, "*"))} },
		grants: []grant{needs(S3BootstrapData)("s3:ListBucket")},
	},
	{
		sid: "HearEvents", on: func(s Scope) []string { return s.regional("sqs", cmp.Or(s.Queue, "*")) },
		grants: []grant{needs(Events)("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage")},
	},
	{
		sid: "BecomeIdentities", grants: []grant{needs(RoleIdentities)("sts:AssumeRole")},
		on: func(s Scope) []string {
			if len(s.IdentityRoles) > 0 {
				return s.IdentityRoles
			}
			return []string{s.arn("iam", "", "*", "role/*")} // of whatever account
		},
	},
}
