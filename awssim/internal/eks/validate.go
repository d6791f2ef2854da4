package eks

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

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

// checkScaling refuses sizes that contradict each other, and more nodes than the quota allows (SDK
// NodegroupScalingConfig). The wording is from terraform-aws-eks.
func (r *requests) checkScaling(c types.NodegroupScalingConfig) error {
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
	if quota := r.kernel.World().Quota(world.QuotaNodesPerGroup, defaultNodes); int(high) > quota {
		return invalid("The maximum number of nodes in a managed node group is %d: maxSize %d exceeds the quota.", quota, high)
	}
	return nil
}

// checkUpdating requires exactly one of the two bounds (SDK NodegroupUpdateConfig).
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
	// Message seen in terraform-provider-aws#26535.
	if val(c.MaxUnavailable) > maxSize {
		return invalid("max-unavailable must be within the range 1 and max size of the node group")
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
// other than in Kubernetes. The guide reserves EKS's own prefix (the wording is an inference).
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

// checkRepair refuses a count together with a percentage, and incomplete overrides (SDK
// NodeRepairConfig).
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

// checkTags refuses invalid tags (UG eks-using-tags: up to 50, keys of 1 to 128 and values of up to
// 256 characters, no prefix aws:).
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
