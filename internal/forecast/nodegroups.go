package forecast

import (
	"fmt"
	"maps"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/internal/sdkcopy"
)

var nodegroupWrites = map[string]writer{
	"eks:CreateNodegroup":        writing((*AWS).createNodegroup),
	"eks:UpdateNodegroupConfig":  writing((*AWS).updateNodegroupConfig),
	"eks:UpdateNodegroupVersion": writing((*AWS).updateNodegroupVersion),
	"eks:TagResource": changing[eks.TagResourceInput, eks.TagResourceOutput](func(a *AWS, input *eks.TagResourceInput) {
		a.tagNodegroup(input.ResourceArn, func(tags map[string]string) { maps.Copy(tags, input.Tags) })
	}),
	"eks:UntagResource": changing[eks.UntagResourceInput, eks.UntagResourceOutput](func(a *AWS, input *eks.UntagResourceInput) {
		a.tagNodegroup(input.ResourceArn, func(tags map[string]string) {
			maps.DeleteFunc(tags, func(key, _ string) bool { return slices.Contains(input.TagKeys, key) })
		})
	}),
}

var nodegroupReads = map[string]reader{
	"eks:DescribeNodegroup": reading((*AWS).ownNodegroup, (*AWS).showNodegroup),
	"eks:DescribeUpdate": reading((*AWS).ownUpdate, func(*AWS, *eks.DescribeUpdateInput, *eks.DescribeUpdateOutput) {
	}),
	"eks:ListNodegroups": reading(
		func(*AWS, *eks.ListNodegroupsInput) *eks.ListNodegroupsOutput { return nil },
		func(a *AWS, input *eks.ListNodegroupsInput, output *eks.ListNodegroupsOutput) {
			for name, own := range a.nodegroups {
				if own.created != nil && name.cluster == awssdk.ToString(input.ClusterName) && output.NextToken == nil {
					output.Nodegroups = append(output.Nodegroups, name.name)
				}
			}
		}),
}

// nodegroupName names a node group.
type nodegroupName struct{ cluster, name string }

// nodegroup is what the forecast knows of an EKS managed node group. An update of one is complete at
// once.
type nodegroup struct {
	// created is the node group if it exists in the forecast only.
	created *ekstypes.Nodegroup
	changes []func(*ekstypes.Nodegroup)
	updates []ekstypes.Update
}

func (a *AWS) nodegroup(cluster, name *string) *nodegroup {
	key := nodegroupName{awssdk.ToString(cluster), awssdk.ToString(name)}
	if a.nodegroups[key] == nil {
		a.nodegroups[key] = &nodegroup{}
	}
	return a.nodegroups[key]
}

// createNodegroup answers with a node group that is being created, and stays so: its nodes are EKS's to
// launch.
func (a *AWS) createNodegroup(input *eks.CreateNodegroupInput) (*eks.CreateNodegroupOutput, error) {
	created := &ekstypes.Nodegroup{
		NodegroupArn: awssdk.String(fmt.Sprintf("arn:aws:eks:::nodegroup/%s/%s/0", awssdk.ToString(input.ClusterName), awssdk.ToString(input.NodegroupName))),
		Status:       ekstypes.NodegroupStatusCreating, CreatedAt: awssdk.Time(a.clock.Now()), ModifiedAt: awssdk.Time(a.clock.Now()),
	}
	sdkcopy.Members(created, input)
	a.nodegroup(input.ClusterName, input.NodegroupName).created = created
	return &eks.CreateNodegroupOutput{Nodegroup: created}, nil
}

// update adds a change to a node group, and returns the update that makes it.
func (a *AWS) update(cluster, name *string, kind ekstypes.UpdateType, change func(*ekstypes.Nodegroup)) *ekstypes.Update {
	changed := a.nodegroup(cluster, name)
	changed.changes = append(changed.changes, change)
	update := ekstypes.Update{
		Id: awssdk.String(fmt.Sprintf("00000000-0000-0000-0000-%012d", len(changed.updates)+1)), Type: kind,
		Status: ekstypes.UpdateStatusSuccessful, CreatedAt: awssdk.Time(a.clock.Now()),
	}
	changed.updates = append(changed.updates, update)
	return &update
}

func (a *AWS) updateNodegroupConfig(input *eks.UpdateNodegroupConfigInput) (*eks.UpdateNodegroupConfigOutput, error) {
	update := a.update(input.ClusterName, input.NodegroupName, ekstypes.UpdateTypeConfigUpdate, func(group *ekstypes.Nodegroup) {
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

// withoutTaints returns taints without those of the same key and effect as others.
func withoutTaints(taints, others []ekstypes.Taint) []ekstypes.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(taint ekstypes.Taint) bool {
		return slices.ContainsFunc(others, func(other ekstypes.Taint) bool {
			return awssdk.ToString(other.Key) == awssdk.ToString(taint.Key) && other.Effect == taint.Effect
		})
	})
}

func (a *AWS) updateNodegroupVersion(input *eks.UpdateNodegroupVersionInput) (*eks.UpdateNodegroupVersionOutput, error) {
	update := a.update(input.ClusterName, input.NodegroupName, ekstypes.UpdateTypeVersionUpdate, func(group *ekstypes.Nodegroup) {
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

// tagNodegroup changes the tags of the node group of an ARN, which is known when it is described.
func (a *AWS) tagNodegroup(arn *string, change func(tags map[string]string)) {
	a.nodegroupTags = append(a.nodegroupTags, func(group *ekstypes.Nodegroup) {
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

// shownNodegroup returns a node group as the writes leave it.
func (a *AWS) shownNodegroup(described ekstypes.Nodegroup, changes []func(*ekstypes.Nodegroup)) *ekstypes.Nodegroup {
	for _, change := range slices.Concat(changes, a.nodegroupTags) {
		change(&described)
	}
	a.lastNodegroup = &described
	return &described
}

func (a *AWS) ownNodegroup(input *eks.DescribeNodegroupInput) *eks.DescribeNodegroupOutput {
	own := a.nodegroup(input.ClusterName, input.NodegroupName)
	if own.created == nil {
		return nil
	}
	return &eks.DescribeNodegroupOutput{Nodegroup: a.shownNodegroup(*own.created, own.changes)}
}

func (a *AWS) showNodegroup(input *eks.DescribeNodegroupInput, output *eks.DescribeNodegroupOutput) {
	if output.Nodegroup != nil {
		output.Nodegroup = a.shownNodegroup(*output.Nodegroup, a.nodegroup(input.ClusterName, input.NodegroupName).changes)
	}
}

// ownUpdate answers a request for an update that exists in the forecast only.
func (a *AWS) ownUpdate(input *eks.DescribeUpdateInput) *eks.DescribeUpdateOutput {
	for _, update := range a.nodegroup(input.Name, input.NodegroupName).updates {
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
	return a.lastNodegroup
}
