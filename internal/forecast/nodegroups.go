package forecast

import (
	"fmt"
	"maps"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/sdkcopy"
)

var nodegroupWrites = map[string]writer{
	"eks:CreateNodegroup":        writing(nodegroupsOf, (*nodegroups).create),
	"eks:UpdateNodegroupConfig":  writing(nodegroupsOf, (*nodegroups).updateConfig),
	"eks:UpdateNodegroupVersion": writing(nodegroupsOf, (*nodegroups).updateVersion),
	"eks:TagResource": changing(nodegroupsOf, &eks.TagResourceOutput{}, func(n *nodegroups, input *eks.TagResourceInput) {
		n.tag(input.ResourceArn, func(tags map[string]string) { maps.Copy(tags, input.Tags) })
	}),
	"eks:UntagResource": changing(nodegroupsOf, &eks.UntagResourceOutput{}, func(n *nodegroups, input *eks.UntagResourceInput) {
		n.tag(input.ResourceArn, func(tags map[string]string) {
			maps.DeleteFunc(tags, func(key, _ string) bool { return slices.Contains(input.TagKeys, key) })
		})
	}),
}

var nodegroupReads = map[string]reader{
	"eks:DescribeNodegroup": reading(nodegroupsOf, (*nodegroups).own, (*nodegroups).show),
	"eks:DescribeUpdate":    reading(nodegroupsOf, (*nodegroups).ownUpdate, nil),
	"eks:ListNodegroups": reading(nodegroupsOf, nil,
		func(n *nodegroups, input *eks.ListNodegroupsInput, output *eks.ListNodegroupsOutput) {
			for name, own := range n.byName {
				if own.created != nil && name.cluster == awssdk.ToString(input.ClusterName) && output.NextToken == nil {
					output.Nodegroups = append(output.Nodegroups, name.name)
				}
			}
		}),
}

// nodegroups are the EKS managed node groups of a forecast.
type nodegroups struct {
	clock  clock.PassiveClock
	byName map[nodegroupName]*nodegroup
	// tags are changes of the tags of any of them.
	tags []func(*ekstypes.Nodegroup)
	// last is the node group that was described last.
	last *ekstypes.Nodegroup
}

func nodegroupsOf(a *AWS) *nodegroups { return &a.nodegroups }

// nodegroupName names a node group.
type nodegroupName struct{ cluster, name string }

// nodegroup holds what a forecast knows about an EKS managed node group. Updates complete at once.
type nodegroup struct {
	// created is the node group if it exists in the forecast only.
	created *ekstypes.Nodegroup
	changes []func(*ekstypes.Nodegroup)
	updates []ekstypes.Update
}

// of returns the entry of a node group. It adds an empty one if there is none.
func (n *nodegroups) of(cluster, name *string) *nodegroup {
	key := nodegroupName{awssdk.ToString(cluster), awssdk.ToString(name)}
	if n.byName[key] == nil {
		n.byName[key] = &nodegroup{}
	}
	return n.byName[key]
}

// create answers with a node group that is being created, and stays so: its nodes are EKS's to
// launch.
func (n *nodegroups) create(input *eks.CreateNodegroupInput) (*eks.CreateNodegroupOutput, error) {
	created := &ekstypes.Nodegroup{
		NodegroupArn: awssdk.String(fmt.Sprintf("arn:aws:eks:::nodegroup/%s/%s/0", awssdk.ToString(input.ClusterName), awssdk.ToString(input.NodegroupName))),
		Status:       ekstypes.NodegroupStatusCreating, CreatedAt: awssdk.Time(n.clock.Now()), ModifiedAt: awssdk.Time(n.clock.Now()),
	}
	sdkcopy.Members(created, input)
	n.of(input.ClusterName, input.NodegroupName).created = created
	return &eks.CreateNodegroupOutput{Nodegroup: created}, nil
}

// update adds a change to a node group, and returns the update that makes it.
func (n *nodegroups) update(cluster, name *string, kind ekstypes.UpdateType, change func(*ekstypes.Nodegroup)) *ekstypes.Update {
	changed := n.of(cluster, name)
	changed.changes = append(changed.changes, change)
	update := ekstypes.Update{
		Id: awssdk.String(fmt.Sprintf("00000000-0000-0000-0000-%012d", len(changed.updates)+1)), Type: kind,
		Status: ekstypes.UpdateStatusSuccessful, CreatedAt: awssdk.Time(n.clock.Now()),
	}
	changed.updates = append(changed.updates, update)
	return &update
}

func (n *nodegroups) updateConfig(input *eks.UpdateNodegroupConfigInput) (*eks.UpdateNodegroupConfigOutput, error) {
	update := n.update(input.ClusterName, input.NodegroupName, ekstypes.UpdateTypeConfigUpdate, func(group *ekstypes.Nodegroup) {
		if input.ScalingConfig != nil {
			scaling := ekstypes.NodegroupScalingConfig{}
			if group.ScalingConfig != nil {
				scaling = *group.ScalingConfig
			}
			sdkcopy.Members(&scaling, input.ScalingConfig)
			group.ScalingConfig = &scaling
		}
		if input.UpdateConfig != nil {
			group.UpdateConfig = input.UpdateConfig
		}
		if input.NodeRepairConfig != nil {
			group.NodeRepairConfig = input.NodeRepairConfig
		}
		if input.WarmPoolConfig != nil {
			group.WarmPoolConfig = input.WarmPoolConfig
		}
		if payload := input.Labels; payload != nil {
			labels := maps.Clone(group.Labels)
			if labels == nil {
				labels = map[string]string{}
			}
			maps.DeleteFunc(labels, func(key, _ string) bool { return slices.Contains(payload.RemoveLabels, key) })
			maps.Copy(labels, payload.AddOrUpdateLabels)
			group.Labels = labels
		}
		if payload := input.Taints; payload != nil {
			group.Taints = slices.Concat(withoutTaints(group.Taints, slices.Concat(payload.RemoveTaints, payload.AddOrUpdateTaints)), payload.AddOrUpdateTaints)
		}
	})
	return &eks.UpdateNodegroupConfigOutput{Update: update}, nil
}

// withoutTaints returns taints without the ones that have the same key and effect as one of the
// others.
func withoutTaints(taints, others []ekstypes.Taint) []ekstypes.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(taint ekstypes.Taint) bool {
		return slices.ContainsFunc(others, func(other ekstypes.Taint) bool {
			return awssdk.ToString(other.Key) == awssdk.ToString(taint.Key) && other.Effect == taint.Effect
		})
	})
}

func (n *nodegroups) updateVersion(input *eks.UpdateNodegroupVersionInput) (*eks.UpdateNodegroupVersionOutput, error) {
	update := n.update(input.ClusterName, input.NodegroupName, ekstypes.UpdateTypeVersionUpdate, func(group *ekstypes.Nodegroup) {
		if input.Version != nil {
			group.Version = input.Version
		}
		if input.ReleaseVersion != nil {
			group.ReleaseVersion = input.ReleaseVersion
		}
		if input.LaunchTemplate != nil {
			template := ekstypes.LaunchTemplateSpecification{}
			if group.LaunchTemplate != nil {
				template = *group.LaunchTemplate
			}
			sdkcopy.Members(&template, input.LaunchTemplate)
			group.LaunchTemplate = &template
		}
	})
	return &eks.UpdateNodegroupVersionOutput{Update: update}, nil
}

// tag changes the tags of the node group of an ARN, which is known when it is described.
func (n *nodegroups) tag(arn *string, change func(tags map[string]string)) {
	n.tags = append(n.tags, func(group *ekstypes.Nodegroup) {
		if awssdk.ToString(group.NodegroupArn) != awssdk.ToString(arn) {
			return
		}
		group.Tags = maps.Clone(group.Tags)
		if group.Tags == nil {
			group.Tags = map[string]string{}
		}
		change(group.Tags)
	})
}

// shown returns a node group as the writes leave it.
func (n *nodegroups) shown(described ekstypes.Nodegroup, changes []func(*ekstypes.Nodegroup)) *ekstypes.Nodegroup {
	for _, change := range slices.Concat(changes, n.tags) {
		change(&described)
	}
	n.last = &described
	return &described
}

func (n *nodegroups) own(input *eks.DescribeNodegroupInput) *eks.DescribeNodegroupOutput {
	own := n.of(input.ClusterName, input.NodegroupName)
	if own.created == nil {
		return nil
	}
	return &eks.DescribeNodegroupOutput{Nodegroup: n.shown(*own.created, own.changes)}
}

func (n *nodegroups) show(input *eks.DescribeNodegroupInput, output *eks.DescribeNodegroupOutput) {
	if output.Nodegroup != nil {
		output.Nodegroup = n.shown(*output.Nodegroup, n.of(input.ClusterName, input.NodegroupName).changes)
	}
}

// ownUpdate answers a request for an update that exists in the forecast only.
func (n *nodegroups) ownUpdate(input *eks.DescribeUpdateInput) *eks.DescribeUpdateOutput {
	for _, update := range n.of(input.Name, input.NodegroupName).updates {
		if awssdk.ToString(update.Id) == awssdk.ToString(input.UpdateId) {
			return &eks.DescribeUpdateOutput{Update: &update}
		}
	}
	return nil
}

// Nodegroup returns the node group that was described last, as the writes leave it, nil if none was.
func (a *AWS) Nodegroup() *ekstypes.Nodegroup {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nodegroups.last
}
