package awsmachinepool

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A pool that CAPA made is taken over in this order, and a crash between any two leaves its instances alone:
//
//  1. recognize the group (see), and prove whose it is (mayAdopt): nothing is written
//  2. write the launch config, with the id of the template to take over (ensureLaunchConfig)
//  3. its controller tags the template as owned, together with the record of which versions count as what the spec asks for now, and makes a version
//  4. tag the group as owned (own): from here on it is found like any other
//  5. point it at that version by number (updateGroup)

// madeByCAPA returns the group of the pool's name that CAPA created for the pool's cluster and nothing of Slipway's owns, nil if there is none.
func madeByCAPA(p *pass, found map[string]autoscalinggroup.Group) *autoscalinggroup.Group {
	group, exists := found[p.pool.Name]
	if !exists || p.facts == nil || group.Tags[infrav1.ClusterTagKey(p.facts.KubernetesName)] != infrav1.TagValueOwned {
		return nil
	}
	for key := range group.Tags {
		if strings.HasPrefix(key, infrav1.TagSlipwayPrefix) {
			return nil
		}
	}
	return &group
}

// mayAdopt returns an error unless it is proven that a group which CAPA created is this pool's. CAPA goes by the bare name: pools of one name in two
// namespaces, or in two management clusters, share a group there. The pool names the group by its ARN, which no other group ever has, and the group's
// instances name the namespace, which the users of another namespace cannot change.
func (r *Reconciler) mayAdopt(ctx context.Context, p *pass, group *autoscalinggroup.Group) error {
	if group.ARN != p.pool.Spec.ProviderID && group.ARN != p.pool.Annotations[infrav1.AdoptAnnotation] {
		return common.RefuseAdoption(infrav1.NameTakenReason,
			"Cluster API Provider AWS made Auto Scaling group %s for this cluster, and nothing says that it is this pool's: if it is, set annotation %s: %q",
			group.Name, infrav1.AdoptAnnotation, group.ARN)
	}
	adoption := common.Adoption{
		Live: r.Live, Registry: r.Clouds, Cloud: p.cloud, Facts: p.facts,
		Pool: p.pool, Kind: "AWSMachinePool", Resource: "Auto Scaling group " + group.Name, Instances: group.InstanceIDs(),
	}
	if err := adoption.Prove(ctx); err != nil {
		return err
	}
	pools := &infrav1.AWSMachinePoolList{}
	if err := r.Live.List(ctx, pools, client.InNamespace(p.pool.Namespace)); err != nil {
		return fmt.Errorf("listing pools: %w", err)
	}
	for i := range pools.Items {
		other := &pools.Items[i]
		if client.ObjectKeyFromObject(other) != p.key() && other.Spec.ProviderID == group.ARN {
			return common.RefuseAdoption(infrav1.NameTakenReason,
				"AWSMachinePool %s/%s has Auto Scaling group %s too: take spec.providerID from the one that is not to have it", other.Namespace, other.Name, group.Name)
		}
	}
	if p.pool.Spec.LaunchConfigRef != nil {
		return common.RefuseAdoption(infrav1.AdoptionBlockedReason,
			"the launch template of Auto Scaling group %s becomes that of a launch config of the pool's own, and the pool refers to another by launchConfigRef: "+
				"make the pool anew with awsLaunchTemplate or launchConfigTemplateRef", group.Name)
	}
	if group.LaunchTemplateID == "" {
		return common.RefuseAdoption(infrav1.AdoptionBlockedReason, "Auto Scaling group %s launches from no launch template", group.Name)
	}
	if group.Deleting {
		return nil // nothing of it is changed
	}
	return r.refuseMachines(ctx, p, group)
}

// refuseMachines is an error if CAPA keeps an AWSMachine for each instance (its feature MachinePoolMachines): its controller of machines would go on to
// act on them.
func (r *Reconciler) refuseMachines(ctx context.Context, p *pass, group *autoscalinggroup.Group) error {
	machines := &capav1.AWSMachineList{}
	err := r.Live.List(ctx, machines, client.InNamespace(p.pool.Namespace))
	if meta.IsNoMatchError(err) || isGone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing the AWSMachines of the pool: %w", err)
	}
	for i := range machines.Items {
		for _, reference := range machines.Items[i].OwnerReferences {
			if reference.Kind == "AWSMachinePool" && reference.Name == p.pool.Name {
				return common.RefuseAdoption(infrav1.AdoptionBlockedReason,
					"AWSMachine %s stands for an instance of Auto Scaling group %s: pools with Machines of Cluster API Provider AWS's are not taken over; see docs/migration.md",
					machines.Items[i].Name, group.Name)
			}
		}
	}
	return nil
}

// adoptable is the id of the template that the pool's launch config is to take over, "" for none.
func (p *pass) adoptable() string {
	if !p.adopting || p.group == nil {
		return ""
	}
	return p.group.LaunchTemplateID
}

// adopted is false while the pool's group is still CAPA's, and the launch config has not taken its template over yet.
func (p *pass) adopted() bool {
	if !p.adopting || p.config == nil {
		return !p.adopting
	}
	template := p.group.LaunchTemplateID
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

// own tags a group that CAPA made as the pool's, before anything else of it is changed.
func (r *Reconciler) own(ctx context.Context, p *pass, desired autoscalinggroup.Desired) reconciling.Outcome {
	// What a sweep saw may be old: somebody else may have taken the group over meanwhile.
	if err := r.see(ctx, p, true); err != nil {
		return outcome.Of(p.pool, infrav1.ASGReadyCondition, seeReason(err, infrav1.ASGUpdateFailedReason), err)
	}
	if !p.adopted() {
		return reconciling.ComeBack(lookAgain, "the group changed a moment ago")
	}
	if !p.adopting {
		return reconciling.Continue()
	}
	if err := r.tagAsOwn(ctx, p, desired.Tags); err != nil {
		return outcome.Of(p.pool, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err).AndGoOn()
	}
	mirrorAdoption(p, p.config)
	return reconciling.Continue()
}

// tagAsOwn makes a group the pool's.
func (r *Reconciler) tagAsOwn(ctx context.Context, p *pass, tags map[string]string) error {
	if _, err := p.cloud.Groups.EnsureTags(ctx, autoscalinggroup.Desired{Tags: tags}, *p.group); err != nil {
		p.cloud.SeenGroups.Invalidate(p.group.Name)
		return err
	}
	r.Report.Done(ctx, p.pool, "ASGAdopted", "Took over Auto Scaling group %s with %d instances, which Cluster API Provider AWS made",
		p.group.Name, len(p.group.Instances))
	before := *p.group
	p.group.Tags = maps.Clone(p.group.Tags)
	maps.Copy(p.group.Tags, tags)
	p.adopting = false
	p.cloud.SeenGroups.Replace(p.group.Name, &before, *p.group)
	return nil
}

// mirrorAdoption shows on the pool what its launch config says of an adoption.
func mirrorAdoption(p *pass, config *infrav1.AWSLaunchConfig) {
	condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.AdoptedCondition)
	switch {
	case p.adopting:
		reconciling.False(p.pool, infrav1.AdoptedCondition, infrav1.AdoptingReason,
			fmt.Sprintf("Auto Scaling group %s of Cluster API Provider AWS's is being taken over", p.group.Name))
	case condition == nil:
		reconciling.Remove(p.pool, infrav1.AdoptedCondition)
	case condition.Status == metav1.ConditionTrue:
		reconciling.True(p.pool, infrav1.AdoptedCondition, condition.Reason, condition.Message)
	}
}
