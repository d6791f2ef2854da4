package nodegroup

import ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

// advice says what helps against a problem that EKS reports, where EKS does not say it itself (AWS:
// API_Issue).
var advice = map[ekstypes.NodegroupIssueCode]string{
	ekstypes.NodegroupIssueCodeAutoScalingGroupNotFound:              "somebody deleted EKS's Auto Scaling group: delete the pool and make it again",
	ekstypes.NodegroupIssueCodeAutoScalingGroupInvalidConfiguration:  "somebody changed EKS's Auto Scaling group: undo it",
	ekstypes.NodegroupIssueCodeAutoScalingGroupInstanceRefreshActive: "somebody started an instance refresh of EKS's Auto Scaling group: cancel it",
	ekstypes.NodegroupIssueCodeEc2LaunchTemplateNotFound:             "somebody deleted the template that EKS keeps of its own: make a new pool",
	ekstypes.NodegroupIssueCodeEc2LaunchTemplateVersionMismatch:      "somebody made a version of the template that EKS keeps of its own: have the Auto Scaling group name EKS's version again",
	ekstypes.NodegroupIssueCodeSourceEc2LaunchTemplateNotFound:       "the launch template or version that the node group was made from is gone",
	ekstypes.NodegroupIssueCodeEc2SecurityGroupNotFound:              "make the security group again, or take it from the launch template",
	ekstypes.NodegroupIssueCodeEc2SubnetNotFound:                     "the subnets of a node group cannot be changed: make a new pool",
	ekstypes.NodegroupIssueCodeIamNodeRoleNotFound:                   "make the role again under the same name",
	ekstypes.NodegroupIssueCodeIamInstanceProfileNotFound:            "EKS's instance profile is gone: make a new pool",
	ekstypes.NodegroupIssueCodeNodeCreationFailure:                   "instances run and do not join: look at the bootstrap data, the node role and the way to the API server",
	ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures:             "EC2 refuses the launches",
	ekstypes.NodegroupIssueCodeInstanceLimitExceeded:                 "ask AWS for a higher quota",
	ekstypes.NodegroupIssueCodeInsufficientFreeAddresses:             "free addresses in the subnets",
	ekstypes.NodegroupIssueCodePodEvictionFailure:                    "pods could not be evicted: look at their disruption budgets, or set updateConfig.force",
	ekstypes.NodegroupIssueCodeClusterUnreachable:                    "EKS cannot reach the cluster's API server, or may not read it",
}

// Advice returns what helps against a health issue, empty where EKS says it itself.
func Advice(code string) string { return advice[ekstypes.NodegroupIssueCode(code)] }
