package provisioning

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launching"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/state"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// learnRegion builds the catalog. A provisioner that can launch nothing, because its subnets are not found or its cluster's name is taken, does not keep the others from
// it: its pods get the reason.
func (r *Reconciler) learnRegion(ctx context.Context, p *pass) reconciling.Outcome {
	var zones []string
	for i := range p.cluster.Provisioners {
		provisioner := &p.cluster.Provisioners[i]
		if provisioner.DeletionTimestamp != nil {
			continue
		}
		one := usable{object: provisioner, layer: constraints.FromSpec(provisioner.Name, &provisioner.Spec)}
		one.places, one.layer.Problem = r.place(ctx, p, provisioner)
		if one.layer.Problem != "" {
			log.FromContext(ctx).Info("A Provisioner can launch nothing", "provisioner", provisioner.Name, "reason", one.layer.Problem)
		}
		p.provisioners = append(p.provisioners, one)
		for zone := range one.places {
			zones = append(zones, zone)
		}
	}
	objects := make([]*provisioningv1.Provisioner, 0, len(p.provisioners))
	for i := range p.provisioners {
		objects = append(objects, p.provisioners[i].object)
	}
	facts, err := r.Region.Facts(ctx, objects)
	if err != nil {
		return outcome.Again(err)
	}
	if facts.Spot, err = r.Region.Discovery.SpotPrices(ctx); err != nil {
		log.FromContext(ctx).Error(err, "Going on without the prices of Spot")
	}
	p.types = catalog.Build(facts, zones, r.Shortages.Short)
	r.Report.Progress.Priced(catalog.Prices(facts))
	return reconciling.Continue()
}

// place returns the subnets that the nodes of a provisioner can be in, or why it can launch nothing.
func (r *Reconciler) place(ctx context.Context, p *pass, provisioner *provisioningv1.Provisioner) (launching.Places, string) {
	taken, err := r.Names.Taken(ctx, provisioner.Spec.Cluster.Name)
	if err != nil {
		return nil, aws.UserMessage(err)
	}
	if taken != "" {
		return nil, taken
	}
	subnets, err := r.Region.Subnets(ctx, provisioner)
	if err != nil {
		return nil, aws.UserMessage(err)
	}
	places := launching.NewPlaces(subnets, r.Shortages.ShortSubnet, p.cluster.Provisioned)
	if len(places) == 0 {
		return nil, "none of its subnets has a free address"
	}
	return places, ""
}

// source is what nodes are launched from by one call, but for their offerings.
type source struct {
	provisioner  string
	template     constraints.Reference
	version      int64
	architecture string
	// awaited are the extended resources that pods of the nodes request, in one string.
	awaited string
}

func sourceOf(node *packing.NewNode) source {
	return source{node.Ask.Provisioner, node.Ask.Template, node.Ask.Version, node.Architecture, strings.Join(launching.Awaited(node.Pods), ",")}
}

// plan makes launches of the chosen nodes. Pods of nodes that can not be launched after all get the reason.
func (r *Reconciler) plan(ctx context.Context, p *pass, chosen []packing.NewNode) []launching.Launch {
	bySource := map[source][]packing.NewNode{}
	var order []source
	for i := range chosen {
		node := &chosen[i]
		from := sourceOf(node)
		if _, known := bySource[from]; !known {
			order = append(order, from)
		}
		bySource[from] = append(bySource[from], *node)
	}
	var launches []launching.Launch
	for _, from := range order {
		awaited := launching.Awaited(bySource[from][0].Pods)
		surroundings, err := r.surroundings(ctx, p, from, awaited)
		if err == nil {
			if why := state.HeldBack(surroundings.Provisioner, surroundings.Template, awaited, r.Clock.Now()); why != "" {
				err = errors.New(why)
			}
		}
		if err != nil {
			p.leave(bySource[from], aws.UserMessage(err))
			continue
		}
		some, homeless := launching.Plan(bySource[from], surroundings, newName)
		if r.refused(ctx, from, some) {
			p.again = true // their pods are told as all others of the template are
			continue
		}
		launches = append(launches, some...)
		for pod, reason := range homeless {
			p.result.Unplaced = append(p.result.Unplaced, packing.Unplaced{Pod: pod, Reason: reason, Cause: packing.CauseLaunch})
		}
	}
	return launches
}

// refused reports whether EC2 would launch nothing from a source. A version of a launch template is tried once, before the first launch from it.
func (r *Reconciler) refused(ctx context.Context, from source, launches []launching.Launch) bool {
	if len(launches) == 0 {
		return false
	}
	spec := &launches[0].Nodes[0].Spec
	r.Refusals.Check(ctx, launching.Request(spec))
	_, refused := r.Refusals.Of(spec.LaunchTemplate.ID, spec.LaunchTemplate.Version)
	if refused {
		r.Asked.Wake(from.provisioner)
	}
	return refused
}

// leave has the pods of nodes wait, for a reason.
func (p *pass) leave(nodes []packing.NewNode, why string) {
	reason := "waits, because " + why
	for i := range nodes {
		for _, pod := range nodes[i].Pods {
			p.result.Unplaced = append(p.result.Unplaced, packing.Unplaced{Pod: pod, Reason: reason, Cause: packing.CauseLaunch})
		}
	}
}

func (r *Reconciler) surroundings(ctx context.Context, p *pass, from source, awaited []string) (launching.Surroundings, error) {
	at := slices.IndexFunc(p.provisioners, func(u usable) bool { return u.object.Name == from.provisioner })
	provisioner := &p.provisioners[at]
	s := launching.Surroundings{
		Provisioner: provisioner.object, ClusterUID: r.ClusterUID, Places: provisioner.places,
		Resources: func(instanceType string) provisioningv1.ProvisionedResources {
			return resourcesOf(p.types, instanceType)
		},
	}
	if from.template.IsDefault() {
		variant, err := defaults.Variant(from.architecture, awaited)
		if err != nil {
			return launching.Surroundings{}, err
		}
		template, err := r.Defaults.Ensure(ctx, provisioner.object, variant)
		if err != nil {
			return launching.Surroundings{}, err
		}
		r.Refusals.Recheck(ctx, template.ID, template.Version)
		if why := r.Refusals.Why(template.ID, template.Version); why != "" {
			return launching.Surroundings{}, errors.New(why)
		}
		s.Template = template.LaunchTemplateVersion
		return s, nil
	}
	known := p.known[from.template]
	s.Template = provisioningv1.LaunchTemplateVersion{ID: known.ID, Version: from.version}
	if from.template != provisioner.layer.Template {
		s.Template.AskedVersion = from.template.Version
	}
	if known.FixesSubnet {
		s.Places = nil
	}
	return s, nil
}

func resourcesOf(types []packing.InstanceType, name string) provisioningv1.ProvisionedResources {
	at := slices.IndexFunc(types, func(t packing.InstanceType) bool { return t.Name == name })
	if at < 0 {
		return provisioningv1.ProvisionedResources{}
	}
	capacity := types[at].Capacity
	return provisioningv1.ProvisionedResources{CPU: capacity[corev1.ResourceCPU], Memory: capacity[corev1.ResourceMemory]}
}

// randomness makes names that nothing else has: 27 to the power of 10 of them.
const randomness = 10

func newName(prefix string) string {
	return strings.Join([]string{prefix, rand.String(randomness)}, "-")
}
