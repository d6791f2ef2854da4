package awsmanagedmachinepool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A node group that CAPA made is taken over in the order of an Auto Scaling group (package
// awsmachinepool, adopt.go): recognized, its template taken over by the launch config, then tagged
// as owned. A crash between any two leaves its nodes alone.

// madeByCAPA reports whether a node group has CAPA's tag of the cluster and none of Slipway's. The
// tag names the EKS cluster, and not the namespace whose pool it is.
func madeByCAPA(p *pass, group *nodegroup.Nodegroup) bool {
	for key := range group.Tags {
		if strings.HasPrefix(key, infrav1.TagSlipwayPrefix) {
			return false
		}
	}
	return group.Tags[infrav1.KubernetesClusterTagKey(p.eksCluster)] == infrav1.TagValueOwned
}

// wasOwned reports whether the pool had the node group already: its owner tag was removed, and it
// is not one that CAPA created and Slipway never adopted.
func wasOwned(pool *infrav1.AWSManagedMachinePool, group *nodegroup.Nodegroup) bool {
	return recorded(pool.Status.Nodegroup, group) &&
		!meta.IsStatusConditionPresentAndEqual(pool.Status.Conditions, infrav1.AdoptedCondition, metav1.ConditionFalse)
}

// mayBeCAPAs reports whether a node group has the name that CAPA gives the pool's, and is one that
// CAPA created and Slipway never adopted.
func mayBeCAPAs(p *pass, group *nodegroup.Nodegroup) bool {
	return group.Name == common.NodegroupName(p.pool) && madeByCAPA(p, group) && !wasOwned(p.pool, group)
}

// mayAdopt returns an error unless it is proven that a node group which CAPA created is this
// pool's. One of a pool that is being deleted is not adopted, and needs no proof.
func (r *Reconciler) mayAdopt(ctx context.Context, p *pass, group *nodegroup.Nodegroup) error {
	if p.pool.DeletionTimestamp != nil {
		return nil
	}
	adoption := common.Adoption{
		Live: r.Live, Registry: r.Clouds, Cloud: p.cloud, Facts: p.facts, Pool: p.pool, Kind: "AWSManagedMachinePool", Resource: "node group " + group.Name,
	}
	if group.AutoScalingGroup != "" {
		found, err := p.cloud.Groups.Describe(ctx, []string{group.AutoScalingGroup})
		if err != nil {
			return err
		}
		adoption.Instances = found[group.AutoScalingGroup].InstanceIDs()
	}
	return adoption.Prove(ctx)
}

// adoptable is the id of the template that the pool's launch config is to take over, "" for none.
func (p *pass) adoptable() string {
	if !p.adopting || p.group == nil {
		return ""
	}
	return p.group.LaunchTemplateID
}

// adopted is false while the pool's node group is still CAPA's, and the launch config has not taken
// its template over yet.
func (p *pass) adopted() bool {
	template := p.adoptable()
	if template == "" {
		return true
	}
	if p.config == nil {
		return false
	}
	if template == p.config.Status.LaunchTemplateID {
		return true
	}
	for _, accepted := range p.config.Status.AcceptedVersions {
		if accepted.LaunchTemplateID == template {
			return true
		}
	}
	return false
}

// own tags a node group that CAPA made as the pool's, before anything else of it is changed.
func (r *Reconciler) own(ctx context.Context, p *pass) reconciling.Outcome {
	if err := r.ensureFresh(ctx, p); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, reasonFor(err, infrav1.NodegroupReconcileFailedReason), err)
	}
	if p.group == nil || !p.adopted() {
		return reconciling.ComeBack(lookAgain, "the node group changed a moment ago")
	}
	if !p.adopting {
		return reconciling.Continue()
	}
	if err := r.tagAsOwn(ctx, p); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err).AndGoOn()
	}
	if p.config != nil {
		mirrorAdoption(p, p.config)
	}
	return reconciling.Continue()
}

// tagAsOwn makes a node group the pool's.
func (r *Reconciler) tagAsOwn(ctx context.Context, p *pass) error {
	tags := map[string]string{infrav1.TagManagedMachinePool: p.ownerTag()}
	if _, err := p.cloud.Nodegroups.EnsureTags(ctx, nodegroup.Desired{Tags: tags}, *p.group); err != nil {
		return err
	}
	r.Report.Done(ctx, p.pool, "NodegroupAdopted", "Took over node group %s, which Cluster API Provider AWS made", p.group.Name)
	owned := *p.group
	owned.Tags = maps.Clone(owned.Tags)
	maps.Copy(owned.Tags, tags)
	p.group, p.adopting = &owned, false
	r.keep(p)
	return nil
}

// mirrorAdoption shows on the pool what its launch config says of an adoption.
func mirrorAdoption(p *pass, config *infrav1.AWSLaunchConfig) {
	condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.AdoptedCondition)
	switch {
	case p.adopting:
		reconciling.False(p.pool, infrav1.AdoptedCondition, infrav1.AdoptingReason,
			fmt.Sprintf("node group %s of Cluster API Provider AWS's is being taken over", p.group.Name))
	case condition == nil || p.pool.Spec.LaunchConfigRef != nil:
		reconciling.Remove(p.pool, infrav1.AdoptedCondition)
	case condition.Status == metav1.ConditionTrue:
		reconciling.True(p.pool, infrav1.AdoptedCondition, condition.Reason, condition.Message)
	}
}

// reasonFor returns the reason for an error that says what a name leads to, and the given reason
// for any other.
func reasonFor(err error, reason string) string {
	var taken *namesTakenError
	var untagged *ownerTagMissingError
	switch {
	case errors.As(err, &taken):
		return infrav1.NameTakenReason
	case errors.As(err, &untagged):
		return infrav1.OwnerTagMissingReason
	}
	return common.AdoptionReason(err, reason)
}
