package nodegroup

import (
	"cmp"

	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// advice says what helps against a problem that EKS reports, where EKS does not say it itself (AWS:
// API_Issue).
var advice = map[ekstypes.NodegroupIssueCode]string{
	ekstypes.NodegroupIssueCodeAutoScalingGroupNotFound: "the Auto Scaling group that EKS created " +
		"was deleted outside EKS: delete the pool and create it again",
	ekstypes.NodegroupIssueCodeAutoScalingGroupInvalidConfiguration: "the Auto Scaling group that EKS created " +
		"was changed outside EKS: revert the change",
	ekstypes.NodegroupIssueCodeAutoScalingGroupInstanceRefreshActive: "an instance refresh of the Auto Scaling " +
		"group was started outside EKS: cancel it",
	ekstypes.NodegroupIssueCodeEc2LaunchTemplateNotFound: "the launch template that EKS created was " +
		"deleted outside EKS: create a new pool and migrate to it",
	ekstypes.NodegroupIssueCodeEc2LaunchTemplateVersionMismatch: "a version of the launch template that " +
		"EKS created was added outside EKS: set the Auto Scaling group to the version that EKS created",
	ekstypes.NodegroupIssueCodeSourceEc2LaunchTemplateNotFound: "the launch template or version of the " +
		"node group was deleted",
	ekstypes.NodegroupIssueCodeEc2SecurityGroupNotFound: "create the security group again, or " +
		"remove it from the launch template",
	ekstypes.NodegroupIssueCodeEc2SubnetNotFound: "the subnets of a node group cannot be " +
		"changed: create a new pool and migrate to it",
	ekstypes.NodegroupIssueCodeEc2SubnetInvalidConfiguration: "have the public subnets assign public IP addresses " +
		"automatically, or create a new pool in private subnets and migrate to it",
	ekstypes.NodegroupIssueCodeIamNodeRoleNotFound: "create the role again with the same name",
	ekstypes.NodegroupIssueCodeIamInstanceProfileNotFound: "the instance profile that EKS created " +
		"was deleted: create a new pool and migrate to it",
	ekstypes.NodegroupIssueCodeNodeCreationFailure: "instances run but do not join the " +
		"cluster: check the bootstrap data, the node role, and the network route to the API server",
	ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures: "EC2 rejects the launches: check the " +
		"launch template and the scaling activities of the Auto Scaling group",
	ekstypes.NodegroupIssueCodeInstanceLimitExceeded: "request a higher quota from AWS",
	ekstypes.NodegroupIssueCodeInsufficientFreeAddresses: "free IP addresses in the subnets, which cannot be " +
		"changed, or create a new pool in other subnets and migrate to it",
	ekstypes.NodegroupIssueCodePodEvictionFailure: "pods could not be evicted: check their " +
		"PodDisruptionBudgets, or set updateConfig.force",
	ekstypes.NodegroupIssueCodeClusterUnreachable: "EKS cannot reach the API server of the " +
		"cluster, or lacks permissions to read from it",
}

// Advice returns what helps against a health issue, empty where EKS says it itself.
func Advice(code string) string { return advice[ekstypes.NodegroupIssueCode(code)] }

// updateCodes are the codes of health issues that mean the same as errors of updates (AWS: API_ErrorDetail).
var updateCodes = map[ekstypes.ErrorCode]ekstypes.NodegroupIssueCode{
	ekstypes.ErrorCodeSubnetNotFound:        ekstypes.NodegroupIssueCodeEc2SubnetNotFound,
	ekstypes.ErrorCodeSecurityGroupNotFound: ekstypes.NodegroupIssueCodeEc2SecurityGroupNotFound,
}

// freeAddresses is the advice for updates that lack addresses. By default, EKS launches new nodes before it terminates
// old ones, so an update needs addresses that the node group itself does not.
const freeAddresses = "free IP addresses in the subnets, which cannot be changed, set updateConfig.updateStrategy to Minimal to " +
	"terminate nodes before new ones are launched, or create a new pool in other subnets and migrate to it"

// updatesAdvice is the advice where an error of an update needs another than the health issue of that code. EKS reports
// NodeCreationFailure for new nodes that are not launched, too.
var updatesAdvice = map[ekstypes.ErrorCode]string{
	ekstypes.ErrorCodeNodeCreationFailure: "check the scaling activities of the Auto Scaling group, the bootstrap data, " +
		"the node role, and the route to the API server",
	ekstypes.ErrorCodeInsufficientFreeAddresses: freeAddresses,
	ekstypes.ErrorCodeIpNotAvailable:            freeAddresses,
}

// updateAdvice returns what helps against an error of an update, empty where EKS says it itself.
func updateAdvice(code ekstypes.ErrorCode) string {
	return cmp.Or(updatesAdvice[code], advice[updateCodes[code]], Advice(string(code)))
}
