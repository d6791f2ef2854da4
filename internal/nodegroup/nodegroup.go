// Package nodegroup keeps one EKS managed node group as a pool wants it: desired state → requests
// (pure), human-readable reasons for a change, and the decision what the single next update is,
// because EKS does one at a time. It knows the AWS side of a node group, and nothing of the
// Kubernetes objects that ask for it.
//
// Members that EKS cannot change are compared too, because a node group that CAPA created, or that
// a user created under its name, may differ from the spec in them. Whether EKS takes a node group
// back to an earlier Kubernetes version is asked by the update itself: only EKS knows when the
// cluster was upgraded.
package nodegroup

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
)

// Nodegroup is a node group as it was seen. Two sightings are the same if they are deeply equal.
type Nodegroup struct {
	Cluster, Name, ARN string
	// Status is EKS's, such as ACTIVE.
	Status string
	// LaunchTemplateID and Version are the launch template and version that the node group was
	// given; both are empty for a node group without a template. EKS launches from a copy of its
	// own.
	LaunchTemplateID, LaunchTemplateName string
	Version                              int64
	// KubernetesVersion is a minor one, such as 1.34.
	KubernetesVersion string
	// ReleaseVersion is the version of the EKS image, or the ID of an image that the launch
	// template names.
	ReleaseVersion        string
	AMIType, CapacityType string
	InstanceTypes         []string
	RoleARN               string
	SubnetIDs             []string // sorted
	// DiskSize is in GiB, 0 for a node group with a launch template.
	DiskSize int32
	// RemoteAccess is nil for none, and for a node group with a launch template.
	RemoteAccess *RemoteAccess
	// Sizes are the bounds and the desired size, as EKS knows them.
	Sizes    Sizes
	Settings Settings
	Tags     map[string]string
	// AutoScalingGroup is the name of EKS's, empty until there is one.
	AutoScalingGroup string
	Issues           []Issue
	Created          time.Time
	Modified         time.Time
}

// Sizes holds the sizes of a node group.
type Sizes struct{ Min, Max, Desired int32 }

// Issue is something that EKS says is wrong with a node group.
type Issue struct {
	// Code is EKS's, such as AsgInstanceLaunchFailures.
	Code, Message string
	Resources     []string
}

// Statuses of a node group (AWS: API_Nodegroup, status).
const (
	StatusCreating     = string(ekstypes.NodegroupStatusCreating)
	StatusActive       = string(ekstypes.NodegroupStatusActive)
	StatusUpdating     = string(ekstypes.NodegroupStatusUpdating)
	StatusDeleting     = string(ekstypes.NodegroupStatusDeleting)
	StatusCreateFailed = string(ekstypes.NodegroupStatusCreateFailed)
	StatusDeleteFailed = string(ekstypes.NodegroupStatusDeleteFailed)
	StatusDegraded     = string(ekstypes.NodegroupStatusDegraded)
)

// Busy reports whether EKS is working on the node group, and would refuse everything else.
func (n *Nodegroup) Busy() bool {
	return slices.Contains([]string{StatusCreating, StatusUpdating, StatusDeleting}, n.Status)
}

// Works reports whether a node group has been created: its nodes work, whatever else goes on.
func (n *Nodegroup) Works() bool {
	return slices.Contains([]string{StatusActive, StatusUpdating, StatusDegraded}, n.Status)
}

// OwnImage reports whether the launch template of a node group names its image.
func (n *Nodegroup) OwnImage() bool { return n.AMIType == string(ekstypes.AMITypesCustom) }

// OfCapacityBlock reports whether the instances of a node group run in a Capacity Block.
func (n *Nodegroup) OfCapacityBlock() bool {
	return n.CapacityType == string(ekstypes.CapacityTypesCapacityBlock)
}

// OwnedBy reports whether a node group has the owner's tag.
func (n *Nodegroup) OwnedBy(owner string) bool { return n.Tags[infrav1.TagManagedMachinePool] == owner }

// Has reports whether the node group has a health issue with a code.
func (n *Nodegroup) Has(code string) bool {
	return slices.ContainsFunc(n.Issues, func(issue Issue) bool { return issue.Code == code })
}

// LaunchesFail reports whether, according to EKS, EC2 does not give the node group the instances
// that it asks for.
func (n *Nodegroup) LaunchesFail() bool {
	return slices.ContainsFunc([]ekstypes.NodegroupIssueCode{
		ekstypes.NodegroupIssueCodeAsgInstanceLaunchFailures, ekstypes.NodegroupIssueCodeInstanceLimitExceeded, ekstypes.NodegroupIssueCodeInsufficientFreeAddresses,
	}, func(code ekstypes.NodegroupIssueCode) bool { return n.Has(string(code)) })
}

// nodegroupOf converts AWS's description of a node group.
func nodegroupOf(group *ekstypes.Nodegroup) Nodegroup {
	seen := Nodegroup{
		Cluster: awssdk.ToString(group.ClusterName), Name: awssdk.ToString(group.NodegroupName), ARN: awssdk.ToString(group.NodegroupArn),
		Status:            string(group.Status),
		KubernetesVersion: awssdk.ToString(group.Version), ReleaseVersion: awssdk.ToString(group.ReleaseVersion),
		AMIType: string(group.AmiType), CapacityType: string(group.CapacityType), InstanceTypes: group.InstanceTypes,
		RoleARN: awssdk.ToString(group.NodeRole), SubnetIDs: slices.Sorted(slices.Values(group.Subnets)), DiskSize: awssdk.ToInt32(group.DiskSize), Tags: maps.Clone(group.Tags), Settings: settingsOf(group),
		Created: awssdk.ToTime(group.CreatedAt), Modified: awssdk.ToTime(group.ModifiedAt),
	}
	if access := group.RemoteAccess; access != nil {
		seen.RemoteAccess = &RemoteAccess{KeyName: awssdk.ToString(access.Ec2SshKey), SecurityGroups: slices.Sorted(slices.Values(access.SourceSecurityGroups))}
	}
	if scaling := group.ScalingConfig; scaling != nil {
		seen.Sizes = Sizes{Min: awssdk.ToInt32(scaling.MinSize), Max: awssdk.ToInt32(scaling.MaxSize), Desired: awssdk.ToInt32(scaling.DesiredSize)}
	}
	if template := group.LaunchTemplate; template != nil {
		seen.LaunchTemplateID, seen.LaunchTemplateName = awssdk.ToString(template.Id), awssdk.ToString(template.Name)
		if number, err := strconv.ParseInt(awssdk.ToString(template.Version), 10, 64); err == nil {
			seen.Version = number
		}
	}
	if resources := group.Resources; resources != nil && len(resources.AutoScalingGroups) > 0 {
		seen.AutoScalingGroup = awssdk.ToString(resources.AutoScalingGroups[0].Name)
	}
	if group.Health != nil {
		for _, issue := range group.Health.Issues {
			seen.Issues = append(seen.Issues, Issue{
				Code: string(issue.Code), Message: awssdk.ToString(issue.Message), Resources: slices.Sorted(slices.Values(issue.ResourceIds)),
			})
		}
		slices.SortFunc(seen.Issues, func(a, b Issue) int { return strings.Compare(a.Code+a.Message, b.Code+b.Message) })
	}
	return seen
}

// Update is an update of a node group as it was seen.
type Update struct {
	ID string
	// Type and Status are EKS's, such as VersionUpdate and InProgress.
	Type, Status string
	// Version is the version of the launch template that nodes get, empty if it stays what it is.
	// KubernetesVersion and ReleaseVersion describe the image that they get, empty if EKS does not
	// show them.
	Version                           string
	KubernetesVersion, ReleaseVersion string
	// Reason is EKS's message about why it failed.
	Reason  string
	Created time.Time
}

// Statuses of an update (AWS: API_Update, status).
const (
	UpdateInProgress = string(ekstypes.UpdateStatusInProgress)
	UpdateFailed     = string(ekstypes.UpdateStatusFailed)
	UpdateCancelled  = string(ekstypes.UpdateStatusCancelled)
	UpdateSuccessful = string(ekstypes.UpdateStatusSuccessful)
)

// Types of an update (AWS: API_Update, type).
const (
	VersionUpdate = string(ekstypes.UpdateTypeVersionUpdate)
	ConfigUpdate  = string(ekstypes.UpdateTypeConfigUpdate)
)

// RefusesRollback reports whether EKS answered that it does not take a node group back: the request
// is wrong, and is not better a moment later.
func RefusesRollback(err error) bool {
	code := aws.Code(err)
	return code == "InvalidParameterException" || code == "InvalidRequestException"
}

func updateOf(update *ekstypes.Update) Update {
	var reasons []string
	for _, failure := range update.Errors {
		reason := string(failure.ErrorCode)
		if message := awssdk.ToString(failure.ErrorMessage); message != "" {
			reason += ": " + message
		}
		if help := updateAdvice(failure.ErrorCode); help != "" {
			reason = strings.TrimSuffix(reason, ".") + " (" + help + ")"
		}
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	kind := update.Type
	// documented for clusters; of a node group it replaces nodes as any update of its version does
	if kind == ekstypes.UpdateTypeVersionRollback {
		kind = ekstypes.UpdateTypeVersionUpdate
	}
	parameters := map[ekstypes.UpdateParamType]string{}
	for _, parameter := range update.Params {
		parameters[parameter.Type] = awssdk.ToString(parameter.Value)
	}
	return Update{
		ID: awssdk.ToString(update.Id), Type: string(kind), Status: string(update.Status), Reason: strings.Join(reasons, "; "), Created: awssdk.ToTime(update.CreatedAt),
		Version:           parameters[ekstypes.UpdateParamTypeLaunchTemplateVersion],
		KubernetesVersion: parameters[ekstypes.UpdateParamTypeVersion], ReleaseVersion: parameters[ekstypes.UpdateParamTypeReleaseVersion],
	}
}
