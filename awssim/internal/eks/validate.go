package eks

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/world"
)

// Bounds (UG create-managed-node-group, node-taints-managed-node-groups, service-quotas; AWS's model of EKS).
const (
	maxLabelLength   = 63
	maxTaints        = 50
	maxInstanceTypes = 20
	maxTags          = 50
	defaultGroups    = 30  // managed node groups per cluster
	defaultNodes     = 450 // per managed node group
)

// groupNames matches the names of node groups. UG create-managed-node-group: "can't be longer than
// 63 characters. It must start with letter or digit, but can also include hyphens and underscores
// for the remaining characters."
var groupNames = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,62}$`)

func checkName(name *string) error {
	if !groupNames.MatchString(val(name)) {
		return invalid("The nodegroup name parameter contains invalid characters. It should begin with letter or digit and can have any of the following " +
			"characters: the set of Unicode letters, digits, hyphens and underscores. Maximum length of 63.")
	}
	return nil
}

// checkScaling refuses sizes that contradict each other, and more nodes than the quota (messages
// seen in terraform-aws-eks; SDK NodegroupScalingConfig).
func (s *service) checkScaling(c types.NodegroupScalingConfig) error {
	low, high, desired := val(c.MinSize), val(c.MaxSize), val(c.DesiredSize)
	switch {
	case low < 0 || desired < 0:
		return invalid("minSize and desiredSize must not be negative.")
	case high < 1:
		return invalid("Maximum capacity must be at least 1, not %d.", high)
	case low > desired:
		return invalid("Minimum capacity %d can't be greater than desired size %d", low, desired)
	case desired > high:
		return invalid("desired capacity %d can't be greater than max size %d", desired, high)
	}
	if quota := s.kernel.World().Quota(world.QuotaNodesPerGroup, defaultNodes); int(high) > quota {
		return invalid("The maximum number of nodes in a managed node group is %d: maxSize %d exceeds the quota.", quota, high)
	}
	return nil
}

// checkUpdating wants one of the two bounds (SDK NodegroupUpdateConfig).
func checkUpdating(c *types.NodegroupUpdateConfig, maxSize int32) error {
	if c == nil {
		return nil
	}
	if (c.MaxUnavailable == nil) == (c.MaxUnavailablePercentage == nil) {
		return invalid("You must specify exactly one of maxUnavailable and maxUnavailablePercentage in updateConfig.")
	}
	for _, n := range []*int32{c.MaxUnavailable, c.MaxUnavailablePercentage} {
		if n != nil && (*n < 1 || *n > 100) {
			return invalid("maxUnavailable and maxUnavailablePercentage must be between 1 and 100, not %d.", *n)
		}
	}
	if n := val(c.MaxUnavailable); n > maxSize { // eksctl: "maxUnavailable cannot be higher than maxSize"
		return invalid("maxUnavailable %d can't be greater than max size %d", n, maxSize)
	}
	return checkEnum("updateStrategy", c.UpdateStrategy, c.UpdateStrategy.Values())
}

// checkEnum refuses what the API's model does not have; empty is nothing said.
func checkEnum[E ~string](member string, v E, known []E) error {
	if v != "" && !slices.Contains(known, v) {
		return invalid("%s is not a valid value for %s", v, member)
	}
	return nil
}

// checkLabels holds the bounds of EKS's model: keys and values of 1 to 63 characters (API
// reference, CreateNodegroup, labels; botocore, shapes labelKey and labelValue). A prefix counts,
// other than in Kubernetes. The guide reserves EKS's own prefix (inference for the words).
func checkLabels(labels map[string]string) error {
	for _, key := range sortedKeys(labels) {
		value := labels[key]
		if len(key) < 1 || len(key) > maxLabelLength {
			return invalid("Label key %q must have from 1 to 63 characters.", key)
		}
		if len(value) < 1 || len(value) > maxLabelLength {
			return invalid("The value of label %q must have from 1 to 63 characters.", key)
		}
		prefix, _, _ := strings.Cut(key, "/")
		if prefix == "eks.amazonaws.com" || prefix == "kubernetes.io" || prefix == "k8s.io" || strings.HasSuffix(prefix, ".kubernetes.io") && prefix != "node.kubernetes.io" {
			return invalid("Label cannot contain reserved prefixes [kubernetes.io/, k8s.io/, eks.amazonaws.com/]")
		}
	}
	return nil
}

// checkTaints holds the bounds of EKS's model: keys of 1 to 63 characters, the prefix included, and
// values of up to 63 (API reference, Taint; botocore, shapes taintKey and taintValue).
func checkTaints(taints []types.Taint) error {
	if len(taints) > maxTaints {
		return invalid("A node group can have at most %d taints, not %d.", maxTaints, len(taints))
	}
	seen := map[string]bool{}
	for _, t := range taints {
		if n := len(val(t.Key)); n < 1 || n > maxLabelLength || len(val(t.Value)) > maxLabelLength {
			return invalid("Taint %q: the key must have from 1 to 63 characters, and the value at most 63.", val(t.Key))
		}
		if t.Effect == "" || !slices.Contains(t.Effect.Values(), t.Effect) {
			return invalid("%q is not a valid effect of taint %q", t.Effect, *t.Key)
		}
		id := *t.Key + "\x00" + string(t.Effect)
		if seen[id] {
			return invalid("Taint %q with effect %s is there twice.", *t.Key, t.Effect)
		}
		seen[id] = true
	}
	return nil
}

// checkRepair: counts and percentages exclude each other, and overrides are complete (SDK NodeRepairConfig).
func checkRepair(r *types.NodeRepairConfig) error {
	if r == nil {
		return nil
	}
	if r.MaxUnhealthyNodeThresholdCount != nil && r.MaxUnhealthyNodeThresholdPercentage != nil {
		return invalid("You cannot specify both maxUnhealthyNodeThresholdCount and maxUnhealthyNodeThresholdPercentage.")
	}
	if r.MaxParallelNodesRepairedCount != nil && r.MaxParallelNodesRepairedPercentage != nil {
		return invalid("You cannot specify both maxParallelNodesRepairedCount and maxParallelNodesRepairedPercentage.")
	}
	for _, n := range []*int32{r.MaxUnhealthyNodeThresholdCount, r.MaxParallelNodesRepairedCount} {
		if n != nil && *n < 1 {
			return invalid("Counts of nodeRepairConfig must be at least 1, not %d.", *n)
		}
	}
	for _, n := range []*int32{r.MaxUnhealthyNodeThresholdPercentage, r.MaxParallelNodesRepairedPercentage} {
		if n != nil && (*n < 1 || *n > 100) {
			return invalid("Percentages of nodeRepairConfig must be between 1 and 100, not %d.", *n)
		}
	}
	return checkOverrides(r)
}

func checkOverrides(r *types.NodeRepairConfig) error {
	for _, o := range r.NodeRepairConfigOverrides {
		if val(o.NodeMonitoringCondition) == "" || val(o.NodeUnhealthyReason) == "" || o.MinRepairWaitTimeMins == nil || o.RepairAction == "" {
			return invalid("An override of nodeRepairConfig must specify all of its values.")
		}
		if err := checkEnum("repairAction", o.RepairAction, o.RepairAction.Values()); err != nil {
			return err
		}
	}
	return nil
}

// checkTags (UG eks-using-tags: up to 50, keys of 1 to 128 and values of up to 256 characters, no
// prefix aws:).
func checkTags(tags map[string]string) error {
	if len(tags) > maxTags {
		return badRequest("A resource can have at most %d tags.", maxTags)
	}
	for _, key := range sortedKeys(tags) {
		if key == "" || len(key) > 128 || len(tags[key]) > 256 {
			return invalid("Tag %q: keys have from 1 to 128 characters, values up to 256.", key)
		}
		if strings.HasPrefix(strings.ToLower(key), "aws:") {
			return invalid("aws: prefixed tag key names are not allowed for external use.")
		}
	}
	return nil
}

// checkSubnets wants subnets of the cluster's VPC.
func (s *service) checkSubnets(c *cluster, subnets []string) error {
	if len(subnets) == 0 {
		return invalid("Subnets are required for the nodegroup.")
	}
	for _, id := range subnets {
		subnet, ok := ec2.LookupSubnet(s.region, id)
		if !ok {
			return invalid("The subnet ID '%s' does not exist (Service: AmazonEC2; Status Code: 400; Error Code: InvalidSubnetID.NotFound)", id)
		}
		if val(subnet.VpcId) != c.vpc {
			return invalid("Subnets specified must be in the same VPC as the cluster: %s is not in %s.", id, c.vpc)
		}
	}
	return nil
}

// zones returns in how many zones the group's subnets are.
func (s *service) zones(subnets []string) int {
	zones := map[string]bool{}
	for _, id := range subnets {
		if subnet, ok := ec2.LookupSubnet(s.region, id); ok {
			zones[val(subnet.AvailabilityZone)] = true
		}
	}
	return len(zones)
}

// requiredPolicies are the managed policies that a node role must have (UG create-node-role);
// either of a list will do.
var requiredPolicies = [][]string{
	{"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy", "arn:aws:iam::aws:policy/AmazonEKSWorkerNodeMinimalPolicy"},
	{"arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly", "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
		"arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPowerUser", "arn:aws:iam::aws:policy/AdministratorAccess"},
}

// role returns the role behind an ARN.
func (s *service) role(arn string) (iam.Role, bool) {
	role, ok := iam.FindRole(s.region.Account, arn[strings.LastIndex(arn, "/")+1:])
	return role, ok && role.ARN == arn
}

// checkRole wants a role that EC2 may assume and that has the policies of nodes (messages seen in
// aws-k8s-tester and in eksctl's manual).
func (s *service) checkRole(arn string) error {
	if !strings.HasPrefix(arn, "arn:") {
		return invalid("Invalid Node Role ARN %q.", arn)
	}
	role, ok := s.role(arn)
	if !ok {
		return invalid("The role with name %s cannot be found. (Service: AmazonIdentityManagement; Status Code: 404; Error Code: NoSuchEntity)",
			arn[strings.LastIndex(arn, "/")+1:])
	}
	if !role.TrustsService("ec2.amazonaws.com") {
		return invalid("Following required service principals [ec2.amazonaws.com] were not found in the trust relationships of nodeRole %s", arn)
	}
	var missing []string
	for _, alternatives := range requiredPolicies {
		if !slices.ContainsFunc(alternatives, func(p string) bool { return slices.Contains(role.Policies, p) }) {
			missing = append(missing, alternatives[0])
		}
	}
	if len(missing) > 0 {
		return invalid("The provided role doesn't have the Amazon EKS Managed Policies associated with it. Please ensure the following policies [%s] are attached",
			strings.Join(missing, ", "))
	}
	return nil
}
