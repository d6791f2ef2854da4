package nodegroup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/tagdiff"
)

// Reader has the calls of EKS that describe node groups.
type Reader interface {
	DescribeNodegroup(context.Context, *eks.DescribeNodegroupInput, ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error)
	DescribeUpdate(context.Context, *eks.DescribeUpdateInput, ...func(*eks.Options)) (*eks.DescribeUpdateOutput, error)
	eks.ListNodegroupsAPIClient
	eks.ListUpdatesAPIClient
}

// Writer has the calls of EKS that create, update, and delete node groups.
type Writer interface {
	CreateNodegroup(context.Context, *eks.CreateNodegroupInput, ...func(*eks.Options)) (*eks.CreateNodegroupOutput, error)
	UpdateNodegroupConfig(context.Context, *eks.UpdateNodegroupConfigInput, ...func(*eks.Options)) (*eks.UpdateNodegroupConfigOutput, error)
	UpdateNodegroupVersion(context.Context, *eks.UpdateNodegroupVersionInput, ...func(*eks.Options)) (*eks.UpdateNodegroupVersionOutput, error)
	DeleteNodegroup(context.Context, *eks.DeleteNodegroupInput, ...func(*eks.Options)) (*eks.DeleteNodegroupOutput, error)
	TagResource(context.Context, *eks.TagResourceInput, ...func(*eks.Options)) (*eks.TagResourceOutput, error)
	UntagResource(context.Context, *eks.UntagResourceInput, ...func(*eks.Options)) (*eks.UntagResourceOutput, error)
}

// EKS is all of EKS that this package calls.
type EKS interface {
	Reader
	Writer
}

// Nodegroups keeps node groups in one account and region.
type Nodegroups struct{ api EKS }

// NewNodegroups returns the node groups that a client reaches.
func NewNodegroups(api EKS) *Nodegroups { return &Nodegroups{api: api} }

// Describe returns a node group, nil if there is none of that name.
func (n *Nodegroups) Describe(ctx context.Context, cluster, name string) (*Nodegroup, error) {
	output, err := n.api.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: &cluster, NodegroupName: &name})
	if aws.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describing node group %q of EKS cluster %q: %w", name, cluster, err)
	}
	seen := nodegroupOf(output.Nodegroup)
	return &seen, nil
}

// OwnedBy returns the node groups of an EKS cluster that have the owner's tag, the oldest first. It
// leaves out names that are already known. It returns none for a cluster that does not exist.
func (n *Nodegroups) OwnedBy(ctx context.Context, cluster, owner string, known func(name string) bool) ([]*Nodegroup, error) {
	var owned []*Nodegroup
	pages := eks.NewListNodegroupsPaginator(n.api, &eks.ListNodegroupsInput{ClusterName: &cluster})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if aws.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing the node groups of EKS cluster %q: %w", cluster, err)
		}
		for _, name := range page.Nodegroups {
			if known(name) {
				continue
			}
			group, err := n.Describe(ctx, cluster, name)
			if err != nil {
				return nil, err
			}
			if group != nil && group.OwnedBy(owner) {
				owned = append(owned, group)
			}
		}
	}
	slices.SortFunc(owned, func(a, b *Nodegroup) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	return owned, nil
}

// Create creates the node group. Lost is the ARN of a deleted one of that name, empty for none.
func (n *Nodegroups) Create(ctx context.Context, desired Desired, name, lost string) (*Nodegroup, error) {
	output, err := n.api.CreateNodegroup(ctx, createInput(desired, name, lost))
	if err != nil {
		return nil, fmt.Errorf("creating node group %q of EKS cluster %q: %w", name, desired.Cluster, err)
	}
	made := nodegroupOf(output.Nodegroup)
	return &made, nil
}

// UpdateConfig begins a change of the configuration of a node group that was just described.
func (n *Nodegroups) UpdateConfig(ctx context.Context, change ConfigChange, seen Nodegroup) (Update, error) {
	output, err := n.api.UpdateNodegroupConfig(ctx, configInput(change, seen))
	if err != nil {
		return Update{}, fmt.Errorf("updating the configuration of node group %q: %w", seen.Name, err)
	}
	return updateOf(output.Update), nil
}

// UpdateVersion begins the replacement of the nodes of a node group that was just described.
func (n *Nodegroups) UpdateVersion(ctx context.Context, change VersionChange, seen Nodegroup) (Update, error) {
	output, err := n.api.UpdateNodegroupVersion(ctx, versionInput(change, seen))
	if err != nil {
		return Update{}, fmt.Errorf("updating the version of node group %q: %w", seen.Name, err)
	}
	return updateOf(output.Update), nil
}

// Update returns an update of a node group, nil if EKS no longer knows it.
func (n *Nodegroups) Update(ctx context.Context, seen Nodegroup, id string) (*Update, error) {
	output, err := n.api.DescribeUpdate(ctx, &eks.DescribeUpdateInput{Name: &seen.Cluster, NodegroupName: &seen.Name, UpdateId: &id})
	if aws.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describing update %s of node group %q: %w", id, seen.Name, err)
	}
	update := updateOf(output.Update)
	return &update, nil
}

// mostUpdates bounds how many updates are read to find the one that runs.
const mostUpdates = 20

// Running returns the update of a node group that is under way, nil if none is. It is for an update
// whose ID is not known: Slipway did not start it, or the answer was lost. EKS does not document in
// which order it lists updates.
func (n *Nodegroups) Running(ctx context.Context, seen Nodegroup) (*Update, error) {
	pages := eks.NewListUpdatesPaginator(n.api, &eks.ListUpdatesInput{Name: &seen.Cluster, NodegroupName: &seen.Name})
	looked := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the updates of node group %q: %w", seen.Name, err)
		}
		for _, id := range page.UpdateIds {
			if looked++; looked > mostUpdates {
				return nil, nil
			}
			update, err := n.Update(ctx, seen, id)
			if err != nil {
				return nil, err
			}
			if update != nil && update.Status == UpdateInProgress {
				return update, nil
			}
		}
	}
	return nil, nil
}

// EnsureTags sets the tags that differ and removes the retired ones. It reports whether there was
// anything to do.
func (n *Nodegroups) EnsureTags(ctx context.Context, desired Desired, seen Nodegroup) (bool, error) {
	stale, retired := tagdiff.Stale(desired.Tags, seen.Tags), tagdiff.Retired(desired.RetiredTags, desired.Tags)
	if len(stale) > 0 {
		if _, err := n.api.TagResource(ctx, &eks.TagResourceInput{ResourceArn: &seen.ARN, Tags: stale}); err != nil {
			return false, fmt.Errorf("tagging node group %q: %w", seen.Name, err)
		}
	}
	if len(retired) > 0 {
		if _, err := n.api.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: &seen.ARN, TagKeys: retired}); err != nil {
			return false, fmt.Errorf("removing tags %q of node group %q: %w", retired, seen.Name, err)
		}
	}
	return len(stale)+len(retired) > 0, nil
}

// Disown takes Slipway's own tag from a node group.
func (n *Nodegroups) Disown(ctx context.Context, seen Nodegroup) error {
	if _, owned := seen.Tags[infrav1.TagManagedMachinePool]; !owned {
		return nil
	}
	if _, err := n.api.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: &seen.ARN, TagKeys: []string{infrav1.TagManagedMachinePool}}); err != nil {
		return fmt.Errorf("removing the ownership tag of node group %q: %w", seen.Name, err)
	}
	return nil
}

// Delete asks for the end of a node group and its nodes, which EKS drains. It does not wait for it.
func (n *Nodegroups) Delete(ctx context.Context, seen Nodegroup) error {
	_, err := n.api.DeleteNodegroup(ctx, &eks.DeleteNodegroupInput{ClusterName: &seen.Cluster, NodegroupName: &seen.Name})
	if err != nil && !aws.IsNotFound(err) {
		return fmt.Errorf("deleting node group %q: %w", seen.Name, err)
	}
	return nil
}
