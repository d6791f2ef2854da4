package permissions

import (
	"cmp"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// rule is a statement: what features need on the same resources, under the same condition. One of
// on and except is given.
type rule struct {
	sid        string
	grants     []grant
	on, except func(Scope) []string
	when       func(Scope) Condition
	// each names the clusters for which there is a statement each; nil for one statement.
	each func(Scope) []string
	// unless leaves the statement out.
	unless func(Scope) bool
}

// grant lists actions, and the features that need them.
type grant struct {
	actions  []string
	features []Feature
}

func needs(features ...Feature) func(actions ...string) grant {
	return func(actions ...string) grant { return grant{actions, features} }
}

// The permissions that each kind of pool needs, and the permissions that several need.
var (
	machine  = needs(MachinePools)
	managed  = needs(ManagedPools)
	both     = needs(MachinePools, ManagedPools)
	nodes    = needs(JustInTimeNodes)
	all      = needs(MachinePools, ManagedPools, JustInTimeNodes)
	roles    = needs(NodeRoles)
	adoption = needs(Adoption)
)

// Keys of tags by which EKS marks the Auto Scaling groups of its node groups.
const (
	tagEKSCluster   = "eks:cluster-name"
	tagEKSNodegroup = "eks:nodegroup-name"
)

func requested(tag string) func(Scope) Condition {
	return func(s Scope) Condition { return s.owner("RequestTag", tag) }
}

func owned(tag string) func(Scope) Condition {
	return func(s Scope) Condition { return s.owner("ResourceTag", tag) }
}

// defaultTemplates returns a condition for the default launch templates of Provisioners, of the
// scope's clusters if it names any.
func defaultTemplates(kind string) func(Scope) Condition {
	return func(s Scope) Condition {
		if len(s.Clusters) == 0 {
			return s.owner(kind, infrav1.TagLaunchConfig)
		}
		var owners []string
		for _, cluster := range s.Clusters {
			owners = append(owners, launchtemplate.ProvisionerOwner+"/"+cluster+"/*")
		}
		return Condition{}.and("StringLike", "aws:"+kind+"/"+infrav1.TagLaunchConfig, owners...)
	}
}

// ownedTags bounds calls that tag what is Slipway's: its owner tag stays as it is.
func ownedTags(tag string) func(Scope) Condition {
	return func(s Scope) Condition { return owned(tag)(s).otherKeys(tag) }
}

// created bounds calls that tag a resource while it is created, in services that do not say whether
// it is: the resource has no owner yet.
func created(tag string) func(Scope) Condition {
	return func(s Scope) Condition { return requested(tag)(s).unowned(tag) }
}

// ownedByCAPA returns a condition for resources without an owner tag that CAPA created in one
// cluster, marked by the key that begins with prefix.
func ownedByCAPA(tag, prefix string) func(Scope) Condition {
	return func(s Scope) Condition {
		return created(tag)(s).and("StringEquals", "aws:ResourceTag/"+prefix+s.cluster, infrav1.TagValueOwned)
	}
}

// ofProvisioner returns a condition for instances that a provisioner launched, in the scope's
// clusters if it names any. The value of the tag is the cluster's name.
func ofProvisioner(s Scope) Condition { return s.provisioned("ResourceTag") }

// forProvisioner returns a condition for fleets and instances that a request marks as a
// provisioner's, in the scope's clusters if it names any.
func forProvisioner(s Scope) Condition { return s.provisioned("RequestTag") }

func (s Scope) provisioned(kind string) Condition {
	key := "aws:" + kind + "/" + fleet.TagCluster
	if len(s.Clusters) == 0 {
		return Condition{}.and("Null", key, "false")
	}
	return Condition{}.and("StringEquals", key, s.Clusters...)
}

// ofNodegroups returns a condition for Auto Scaling groups that EKS created for the scope's node groups.
func ofNodegroups(s Scope) Condition {
	return Condition{}.and("StringEquals", "aws:ResourceTag/"+tagEKSCluster, s.EKSClusters...).
		and("StringLike", "aws:ResourceTag/"+tagEKSNodegroup, s.nodegroups()...)
}

func given(key string, values ...string) func(Scope) Condition {
	return func(Scope) Condition { return Condition{}.and("StringEquals", key, values...) }
}

// withBoundary requires a role to have, or to get, the scope's permissions boundary. IAM has no
// condition key for trust policies: the path, this, and the policies that may be attached are what
// bounds a role, whatever principal may assume it.
func withBoundary(condition func(Scope) Condition) func(Scope) Condition {
	return func(s Scope) Condition {
		if s.PermissionsBoundary == "" {
			return condition(s)
		}
		return condition(s).and("StringEquals", "iam:PermissionsBoundary", s.PermissionsBoundary)
	}
}

// rules are the table. Actions, and the resource types and condition keys that each supports: AWS,
// Service Authorization Reference
// (https://docs.aws.amazon.com/service-authorization/latest/reference/), pages list_amazonec2,
// list_amazonec2autoscaling, list_amazonelastickubernetesservice,
// list_awsidentityandaccessmanagementiam and so on.
var rules = []rule{
	{
		sid: "Look", on: everything, // these do not support resources
		grants: []grant{
			all("ec2:DescribeImages", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances", "ec2:DescribeLaunchTemplateVersions", "ec2:DescribeLaunchTemplates",
				"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets"),
			both("autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeLifecycleHooks"),
			nodes("ec2:DescribeInstanceStatus", "ec2:DescribeInstanceTypeOfferings"),
			needs(JustInTimeNodes, Prices)("ec2:DescribeSpotPriceHistory"),
			needs(Prices)("pricing:GetProducts"),
			managed("ec2:DescribeCapacityReservations"),
			machine("autoscaling:DescribeInstanceRefreshes", "autoscaling:DescribeScalingActivities", "autoscaling:DescribeWarmPool"),
			needs(SSMBootstrapData)("ssm:DescribeParameters"),
			needs(Preflight)("autoscaling:DescribeAccountLimits"),
		},
	},
	{sid: "MakeTemplates", on: templates, when: requested(infrav1.TagLaunchConfig), grants: []grant{both("ec2:CreateLaunchTemplate")}},
	{sid: "MakeNodeTemplates", on: templates, when: defaultTemplates("RequestTag"), grants: []grant{nodes("ec2:CreateLaunchTemplate")}},
	{
		// AWS: EC2 user guide, supported-iam-actions-tagging. Without the key, whatever is tagged
		// would be Slipway's from then on.
		sid: "TagWhatIsMade", on: everything, grants: []grant{all("ec2:CreateTags")},
		when: given("ec2:CreateAction", "CreateFleet", "CreateLaunchTemplate", "RunInstances"),
	},
	{
		// Auto Scaling and EKS require ec2:RunInstances of a caller that has them launch from a
		// template.
		sid: "KeepTemplates", on: templates, when: owned(infrav1.TagLaunchConfig),
		grants: []grant{
			both("ec2:CreateLaunchTemplateVersion", "ec2:DeleteLaunchTemplate", "ec2:DeleteLaunchTemplateVersions", "ec2:ModifyLaunchTemplate"),
			all("ec2:RunInstances"), nodes("ec2:CreateFleet"),
		},
	},
	{
		sid: "KeepNodeTemplates", on: templates, when: defaultTemplates("ResourceTag"),
		grants: []grant{nodes("ec2:CreateFleet", "ec2:CreateLaunchTemplateVersion", "ec2:DeleteLaunchTemplate", "ec2:DeleteLaunchTemplateVersions",
			"ec2:ModifyLaunchTemplate", "ec2:RunInstances")},
	},
	{
		sid: "TagTemplates", on: templates, when: ownedTags(infrav1.TagLaunchConfig),
		grants: []grant{both("ec2:CreateTags", "ec2:DeleteTags")},
	},
	{
		sid: "TagNodeTemplates", on: templates, grants: []grant{nodes("ec2:CreateTags")},
		when: func(s Scope) Condition { return defaultTemplates("ResourceTag")(s).otherKeys(infrav1.TagLaunchConfig) },
	},
	{
		// A template with an owner tag is Slipway's. KeepTemplates and KeepNodeTemplates restrict
		// the clusters that it may be of.
		sid: "LaunchFromOtherTemplates", on: templates,
		when:   func(Scope) Condition { return Condition{}.unowned(infrav1.TagLaunchConfig) },
		grants: []grant{needs(ExistingTemplates, JustInTimeNodes)("ec2:RunInstances"), nodes("ec2:CreateFleet")},
	},
	{
		sid: "AdoptTemplates", on: templates, each: Scope.anyCluster, when: ownedByCAPA(infrav1.TagLaunchConfig, infrav1.TagProviderClusterPrefix),
		grants: []grant{adoption("ec2:CreateTags")},
	},
	{sid: "ReleaseTemplates", on: templates, when: owned(infrav1.TagLaunchConfig), grants: []grant{adoption("ec2:DeleteTags")}},
	{
		// The keys ec2:LaunchTemplate and ec2:IsLaunchTemplateResource, which would say that there
		// is a template, are absent when another service asks.
		sid: "LaunchWith", except: templates, grants: []grant{both("ec2:RunInstances")},
	},
	{
		// EC2 authorizes a fleet on the fleet, on what it launches, and on what it launches with.
		// Instances get the tag that EndNodes requires.
		sid: "LaunchNodes", on: launchedNodes, when: forProvisioner, grants: []grant{nodes("ec2:CreateFleet", "ec2:RunInstances")},
	},
	{
		// Images, subnets, security groups, and whatever else exists before a launch carry no tag
		// of Slipway's.
		sid: "LaunchNodesWith", grants: []grant{nodes("ec2:CreateFleet", "ec2:RunInstances")},
		except: func(s Scope) []string { return slices.Concat(templates(s), launchedNodes(s)) },
	},
	{sid: "EndNodes", on: instances, when: ofProvisioner, grants: []grant{nodes("ec2:TerminateInstances")}},
	{sid: "MakeGroups", on: groups, when: requested(infrav1.TagMachinePool), grants: []grant{machine("autoscaling:CreateAutoScalingGroup")}},
	{
		sid: "KeepGroups", on: groups, when: owned(infrav1.TagMachinePool),
		grants: []grant{machine("autoscaling:AttachLoadBalancerTargetGroups", "autoscaling:AttachTrafficSources", "autoscaling:CancelInstanceRefresh", "autoscaling:CompleteLifecycleAction",
			"autoscaling:DeleteAutoScalingGroup", "autoscaling:DeleteLifecycleHook", "autoscaling:DeleteWarmPool",
			"autoscaling:DetachLoadBalancerTargetGroups", "autoscaling:DetachTrafficSources", "autoscaling:PutLifecycleHook", "autoscaling:PutWarmPool",
			"autoscaling:RecordLifecycleActionHeartbeat",
			"autoscaling:ResumeProcesses", "autoscaling:SetInstanceProtection", "autoscaling:StartInstanceRefresh", "autoscaling:SuspendProcesses",
			"autoscaling:TerminateInstanceInAutoScalingGroup", "autoscaling:UpdateAutoScalingGroup")},
	},
	{
		// AWS: Auto Scaling user guide, tag-permissions.
		sid: "TagGroups", on: groups, when: ownedTags(infrav1.TagMachinePool),
		grants: []grant{machine("autoscaling:CreateOrUpdateTags", "autoscaling:DeleteTags")},
	},
	{
		// Not of EKS's groups, on which TagGroupsOfEKS could put CAPA's mark.
		sid: "AdoptGroups", on: groups, each: Scope.anyCluster,
		when: func(s Scope) Condition {
			condition := ownedByCAPA(infrav1.TagMachinePool, infrav1.TagProviderClusterPrefix)(s)
			return condition.and("Null", "aws:ResourceTag/"+tagEKSNodegroup, "true")
		},
		grants: []grant{adoption("autoscaling:CreateOrUpdateTags")},
	},
	{sid: "ReleaseGroups", on: groups, when: owned(infrav1.TagMachinePool), grants: []grant{adoption("autoscaling:DeleteTags")}},
	{
		// EKS creates the group and tags it. No tag of Slipway's can be set in the same request.
		sid: "KeepGroupsOfEKS", on: groups, when: ofNodegroups,
		grants: []grant{managed("autoscaling:DeleteLifecycleHook", "autoscaling:PutLifecycleHook")},
	},
	{
		sid: "TagGroupsOfEKS", on: groups,
		when: func(s Scope) Condition {
			return ofNodegroups(s).otherKeys(infrav1.TagMachinePool, tagEKSCluster, tagEKSNodegroup)
		},
		grants: []grant{managed("autoscaling:CreateOrUpdateTags", "autoscaling:DeleteTags")},
	},
	{
		sid: "PassRolesToInstances", on: instanceRoles, grants: []grant{needs(MachinePools, JustInTimeNodes)("iam:PassRole")},
		when: given("iam:PassedToService", "ec2.amazonaws.com", "ec2.amazonaws.com.cn"),
	},
	{
		sid: "PassRolesToHooks", on: func(s Scope) []string { return s.roles(s.HookRoles...) }, grants: []grant{needs(HookNotifications)("iam:PassRole")},
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
		grants: []grant{managed("eks:DescribeCluster", "eks:DescribeNodegroup", "eks:DescribeUpdate", "eks:ListNodegroups", "eks:ListUpdates")},
	},
	{
		sid: "LookAtClusters", on: func(s Scope) []string { return s.regional("eks", "cluster/*") }, grants: []grant{needs(ClusterEndpoints)("eks:DescribeCluster")},
	},
	{sid: "MakeNodegroups", on: eksClusters, when: requested(infrav1.TagManagedMachinePool), grants: []grant{managed("eks:CreateNodegroup")}},
	{
		// EKS asks for eks:TagResource when a node group is created, and has no key that
		// distinguishes a new node group from an existing one. So it must have a name that is
		// Slipway's, no owner, and not CAPA's mark (CAPA: pkg/cloud/services/eks, ngTags).
		sid: "TagNewNodegroups", on: namedNodegroups, each: func(s Scope) []string { return s.EKSClusters },
		when: func(s Scope) Condition {
			condition := created(infrav1.TagManagedMachinePool)(s)
			return condition.and("Null", "aws:ResourceTag/"+infrav1.TagKubernetesClusterPrefix+s.cluster, "true")
		},
		grants: []grant{managed("eks:TagResource")},
	},
	{
		sid: "KeepNodegroups", on: nodegroups, when: owned(infrav1.TagManagedMachinePool),
		grants: []grant{managed("eks:DeleteNodegroup", "eks:UpdateNodegroupConfig", "eks:UpdateNodegroupVersion")},
	},
	{sid: "TagNodegroups", on: nodegroups, when: ownedTags(infrav1.TagManagedMachinePool), grants: []grant{managed("eks:TagResource", "eks:UntagResource")}},
	{
		sid: "AdoptNodegroups", each: func(s Scope) []string { return s.EKSClusters }, when: ownedByCAPA(infrav1.TagManagedMachinePool, infrav1.TagKubernetesClusterPrefix),
		on:     func(s Scope) []string { return s.regional("eks", "nodegroup/"+s.cluster+"/*") },
		grants: []grant{adoption("eks:TagResource")},
	},
	{
		sid: "ReleaseNodegroups", on: nodegroups, when: owned(infrav1.TagManagedMachinePool), grants: []grant{adoption("eks:UntagResource")},
		unless: func(s Scope) bool { return len(s.EKSClusters) == 0 },
	},
	{sid: "LookAtRoles", on: visibleRoles, grants: []grant{managed("iam:GetRole", "iam:ListAttachedRolePolicies")}},
	{sid: "PassRolesToEKS", on: nodegroupRoles, when: given("iam:PassedToService", "eks.amazonaws.com"), grants: []grant{managed("iam:PassRole")}},
	{sid: "MakeRoles", on: newRoles, when: withBoundary(requested(infrav1.TagManagedMachinePool)), grants: []grant{roles("iam:CreateRole")}},
	{sid: "TagNewRoles", on: newRoles, when: created(infrav1.TagManagedMachinePool), grants: []grant{roles("iam:TagRole")}},
	{sid: "KeepRoles", on: ownRoles, when: owned(infrav1.TagManagedMachinePool), grants: []grant{roles("iam:DeleteRole", "iam:DetachRolePolicy")}},
	{sid: "BoundRoles", on: ownRoles, when: withBoundary(owned(infrav1.TagManagedMachinePool)), grants: []grant{roles("iam:PutRolePermissionsBoundary")}},
	{
		sid: "UnboundRoles", on: ownRoles, when: owned(infrav1.TagManagedMachinePool), grants: []grant{roles("iam:DeleteRolePermissionsBoundary")},
		unless: func(s Scope) bool { return s.PermissionsBoundary != "" },
	},
	{
		// A role that several pools share is left to another pool of the scope's clusters when its
		// owner is deleted.
		sid: "TagRoles", on: ownRoles, grants: []grant{roles("iam:TagRole")},
		when: func(s Scope) Condition {
			tag := infrav1.TagManagedMachinePool
			condition := owned(tag)(s)
			return condition.and("StringLikeIfExists", "aws:RequestTag/"+tag, s.owners()...)
		},
	},
	{sid: "UntagRoles", on: ownRoles, when: ownedTags(infrav1.TagManagedMachinePool), grants: []grant{roles("iam:UntagRole")}},
	{
		sid: "AttachToRoles", on: ownRoles, grants: []grant{roles("iam:AttachRolePolicy")},
		when: func(s Scope) Condition {
			return withBoundary(owned(infrav1.TagManagedMachinePool))(s).and("ArnLike", "iam:PolicyARN", nodePolicies(s)...)
		},
	},
	{
		// CAPA marks its roles with the cluster's name, or with the name of the EKS cluster.
		sid: "AdoptRoles", on: derivedRoles, each: Scope.anyCluster, when: ownedByCAPA(infrav1.TagManagedMachinePool, infrav1.TagKubernetesClusterPrefix),
		grants: []grant{adoption("iam:TagRole")},
	},
	{
		// EC2 requires ssm:GetParameters of a caller that launches from a template that names a
		// parameter.
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
		sid: "KeepParameters", on: func(s Scope) []string { return s.regional("ssm", s.ownPath("parameter/slipway/")...) },
		grants: []grant{needs(SSMBootstrapData)("ssm:AddTagsToResource", "ssm:DeleteParameters", "ssm:PutParameter")},
	},
	{
		sid: "KeepObjects", grants: []grant{needs(S3BootstrapData)("s3:DeleteObject", "s3:GetObject", "s3:PutObject")},
		on: func(s Scope) []string {
			var arns []string
			for _, path := range s.ownPath(s.Bucket + "/node/slipway/") {
				arns = append(arns, s.arn("s3", "", "", path))
			}
			return arns
		},
	},
	{
		sid: "FindObjects", on: func(s Scope) []string { return []string{s.arn("s3", "", "", s.Bucket)} },
		grants: []grant{needs(S3BootstrapData)("s3:ListBucket")},
	},
	{
		sid: "HearEvents", on: func(s Scope) []string { return s.regional("sqs", s.Queue) },
		grants: []grant{needs(Events)("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage")},
	},
	{
		sid: "BecomeIdentities", grants: []grant{needs(RoleIdentities)("sts:AssumeRole")},
		on: func(s Scope) []string { return s.IdentityRoles },
	},
	{
		// The role of a session is read for its path, which the session's ARN lacks.
		sid: "ReadRolesToSimulate", on: func(s Scope) []string { return s.roles("*") }, grants: []grant{needs(Preflight)("iam:GetRole")},
	},
	{
		// `slipway plan` checks whether the role of an instance profile may be passed to nodes.
		sid: "ReadProfilesToSimulate", grants: []grant{needs(Preflight)("iam:GetInstanceProfile")},
		on: func(s Scope) []string {
			return []string{s.arn("iam", "", cmp.Or(s.Account, "*"), "instance-profile/*")}
		},
	},
	{
		sid: "SimulatePolicies", grants: []grant{needs(Preflight)("iam:SimulatePrincipalPolicy")},
		on: func(s Scope) []string {
			return append(s.roles("*"), s.arn("iam", "", cmp.Or(s.Account, "*"), "user/*"))
		},
	},
}
