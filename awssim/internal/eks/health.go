package eks

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func issue(code types.NodegroupIssueCode, message string, resources ...string) types.Issue {
	return types.Issue{Code: code, Message: ptr(message), ResourceIds: resources}
}

// launchIssues are the health codes for EC2's errors; any other is AsgInstanceLaunchFailures.
var launchIssues = map[string]types.NodegroupIssueCode{
	"InstanceLimitExceeded":             types.NodegroupIssueCodeInstanceLimitExceeded,
	"VcpuLimitExceeded":                 types.NodegroupIssueCodeInstanceLimitExceeded,
	"InsufficientFreeAddressesInSubnet": types.NodegroupIssueCodeInsufficientFreeAddresses,
	"InvalidAMIID.NotFound":             types.NodegroupIssueCodeAmiIdNotFound,
	"InvalidSubnetID.NotFound":          types.NodegroupIssueCodeEc2SubnetNotFound,
	"MaxTemplateLimitExceeded":          types.NodegroupIssueCodeEc2LaunchTemplateMaxLimitExceeded,
	"MaxTemplateVersionLimitExceeded":   types.NodegroupIssueCodeEc2LaunchTemplateVersionMaxLimitExceeded,
	"LimitExceeded":                     types.NodegroupIssueCodeIamLimitExceeded,
	"NoSuchEntity":                      types.NodegroupIssueCodeIamNodeRoleNotFound,
	// Auto Scaling immediately refuses a template whose launches would fail at any time and place.
	"ValidationError": types.NodegroupIssueCodeEc2LaunchTemplateInvalidConfiguration,
	codeNotMultipart:  types.NodegroupIssueCodeEc2LaunchTemplateInvalidConfiguration,
}

// codeNotMultipart is the code inside the simulation for user data that EKS cannot merge into its
// own. No client sees it.
const codeNotMultipart = "NotMultipart"

// issueOf returns the health issue of a group for an error of another service.
func issueOf(err error, resources ...string) types.Issue {
	e := sim.AsError(err)
	code, known := launchIssues[e.Code]
	if !known {
		code = types.NodegroupIssueCodeAsgInstanceLaunchFailures
	}
	return issue(code, e.Message, slices.DeleteFunc(resources, func(id string) bool { return id == "" })...)
}

// health checks node groups and the resources that they depend on.
type health struct {
	region *sim.Region
	kernel *sim.Kernel
	groups *groups
	roles  *roles
}

// missingNodes returns the issue of a group that has fewer Ready nodes than it should.
func (h *health) missingNodes(g *group, nodes []node) types.Issue {
	if found, ok := autoscaling.LookupGroup(h.region, g.made.asg); ok && found.Failure != nil {
		i := issueOf(found.Failure, g.made.asg)
		i.Message = ptr(found.FailureMessage)
		return i
	}
	var waiting []string
	for _, n := range nodes {
		if !n.ready {
			waiting = append(waiting, n.id)
		}
	}
	// UG troubleshooting, "Instances failed to join the Kubernetes cluster"
	return issue(types.NodegroupIssueCodeNodeCreationFailure, "Instances failed to join the kubernetes cluster", waiting...)
}

// fullSubnets returns the issue of a group whose launches fail because its subnets have no free addresses.
func (h *health) fullSubnets(g *group) (types.Issue, bool) {
	found, ok := autoscaling.LookupGroup(h.region, g.made.asg)
	if !ok || found.Failure == nil {
		return types.Issue{}, false
	}
	i := h.missingNodes(g, nil)
	return i, i.Code == types.NodegroupIssueCodeInsufficientFreeAddresses
}

// check checks the resources of a group, as often as EKS does. The group is DEGRADED while there
// are issues, and ACTIVE again when they are resolved.
func (h *health) check(g *group) {
	if g.status != types.NodegroupStatusActive && g.status != types.NodegroupStatusDegraded || h.kernel.Now().Before(g.checkAt) {
		return
	}
	g.checkAt = h.kernel.Now().Add(healthInterval)
	h.scaleDownBlock(g)
	g.issues = h.findIssues(g)
	wanted := types.NodegroupStatusActive
	if len(g.issues) > 0 {
		wanted = types.NodegroupStatusDegraded
	}
	if wanted != g.status {
		g.status = wanted
		h.groups.emit(g)
	}
}

// findIssues returns the issues of a group (SDK types.Issue, and the values of NodegroupIssueCode).
func (h *health) findIssues(g *group) []types.Issue {
	var issues []types.Issue
	if g.source != nil {
		spec := ec2.LaunchTemplateSpec{ID: g.source.id, Version: itoa(g.source.version)}
		if _, err := ec2.ResolveLaunchTemplate(h.region, spec); err != nil {
			issues = append(issues, issue(types.NodegroupIssueCodeSourceEc2LaunchTemplateNotFound,
				"The source Amazon EC2 launch template or its version could not be found: "+sim.AsError(err).Message, g.source.id))
		}
	}
	return append(append(issues, h.findMissing(g)...), h.findGroupIssues(g)...)
}

// findMissing returns the issues of a group whose role, instance profile, or subnet no longer exists. No
// node can be launched then, so an update fails with the first of them (inference).
func (h *health) findMissing(g *group) []types.Issue {
	var issues []types.Issue
	add := func(code types.NodegroupIssueCode, message string, resources ...string) {
		issues = append(issues, issue(code, message, resources...))
	}
	if _, ok := h.roles.find(g.nodeRole); !ok {
		add(types.NodegroupIssueCodeIamNodeRoleNotFound, "The node role "+g.nodeRole+" could not be found.", g.nodeRole)
	}
	if p, ok := iam.FindInstanceProfile(h.region.Account, g.made.profile); !ok || p.Role == "" {
		add(types.NodegroupIssueCodeIamInstanceProfileNotFound, "The instance profile "+g.made.profile+" could not be found, or has no role.", g.made.profile)
	}
	for _, id := range g.subnets {
		if _, ok := ec2.LookupSubnet(h.region, id); !ok {
			add(types.NodegroupIssueCodeEc2SubnetNotFound, "The subnet "+id+" could not be found.", id)
		}
	}
	return issues
}

// findGroupIssues returns the issues of EKS's own template and of the Auto Scaling group.
func (h *health) findGroupIssues(g *group) []types.Issue {
	var issues []types.Issue
	if _, err := ec2.ResolveLaunchTemplate(h.region, ec2.LaunchTemplateSpec{ID: g.made.template, Version: itoa(g.made.version)}); err != nil {
		issues = append(issues, issue(types.NodegroupIssueCodeEc2LaunchTemplateNotFound, "The Amazon EC2 launch template "+g.made.templateName+" could not be found.", g.made.template))
	} else if h.templateModified(g) {
		issues = append(issues, issue(types.NodegroupIssueCodeEc2LaunchTemplateVersionMismatch,
			"The Amazon EC2 launch template version for your managed node group does not match the version that Amazon EKS created.", g.made.template))
	}
	found, ok := autoscaling.LookupGroup(h.region, g.made.asg)
	if !ok {
		return append(issues, issue(types.NodegroupIssueCodeAutoScalingGroupNotFound, "The Auto Scaling group "+g.made.asg+" could not be found.", g.made.asg))
	}
	if found.Refreshing {
		issues = append(issues, issue(types.NodegroupIssueCodeAutoScalingGroupInstanceRefreshActive, "An instance refresh is active on the Auto Scaling group "+g.made.asg+".", g.made.asg))
	}
	if found.Failure != nil {
		// A group that cannot scale out stays degraded until it can, even when it no longer wants
		// to (seen in aws/containers-roadmap#2326).
		issues = append(issues, h.missingNodes(g, nil))
	}
	if len(found.SuspendedProcesses) > 0 {
		issues = append(issues, issue(types.NodegroupIssueCodeAutoScalingGroupInvalidConfiguration, "The Auto Scaling group "+g.made.asg+" has suspended processes.", g.made.asg))
	}
	return issues
}

// templateModified reports whether another caller added a version to EKS's own template, changed
// its default, or changed what the Auto Scaling group launches (SDK Issue:
// Ec2LaunchTemplateVersionMismatch).
func (h *health) templateModified(g *group) bool {
	latest, err := ec2.ResolveLaunchTemplate(h.region, ec2.LaunchTemplateSpec{ID: g.made.template, Version: "$Latest"})
	if err != nil || latest.Number > g.made.version && latest.Number > g.made.latest {
		return true
	}
	found, ok := autoscaling.LookupGroup(h.region, g.made.asg)
	if !ok {
		return false
	}
	spec := found.LaunchTemplate
	if found.MixedInstancesPolicy != nil {
		spec = found.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification
	}
	return spec == nil || val(spec.LaunchTemplateId) != g.made.template || val(spec.Version) != itoa(g.made.version)
}
