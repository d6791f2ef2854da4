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
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A node group that CAPA made is taken over in the order of an Auto Scaling group (package awsmachinepool, adopt.go): recognized, its template taken over by the
// launch config, then tagged as owned. A crash between any two leaves its nodes alone.

// madeByCAPA is true for a node group that bears CAPA's tag of the cluster and none of Slipway's. Its name, which has the pool's namespace in it or is fixed in the
// pool's spec, and its EKS cluster say whose it is, as they do for CAPA.
func madeByCAPA(p *pass, group *nodegroup.Nodegroup) bool {
	for key := range group.Tags {
		if strings.HasPrefix(key, infrav1.TagSlipwayPrefix) {
			return false
		}
	}
	return group.Tags[infrav1.KubernetesClusterTagKey(p.eksCluster)] == infrav1.TagValueOwned
}

// adoptable is the id of the template that the pool's launch config is to take over, "" for none.
func (p *pass) adoptable() string {
	if !p.adopting || p.group == nil {
		return ""
	}
	return p.group.LaunchTemplateID
}

// adopted is false while the pool's node group is still CAPA's, and the launch config has not taken its template over yet.
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
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, nameTakenOr(err, infrav1.NodegroupReconcileFailedReason), err)
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

func nameTakenOr(err error, reason string) string {
	var taken *namesTakenError
	if errors.As(err, &taken) {
		return infrav1.NameTakenReason
	}
	return reason
}
