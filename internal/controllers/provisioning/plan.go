package provisioning

import (
	"context"
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
	"github.com/slipway-project/slipway/internal/provisioning/launching"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// learnRegion builds the catalog. A provisioner whose subnets can not be found launches nothing, and does not keep the others from it: its own controller says why.
func (r *Reconciler) learnRegion(ctx context.Context, p *pass) reconciling.Outcome {
	var zones []string
	for i := range p.cluster.Provisioners {
		provisioner := &p.cluster.Provisioners[i]
		if provisioner.DeletionTimestamp != nil {
			continue
		}
		subnets, err := r.Region.Subnets(ctx, provisioner)
		if err != nil {
			log.FromContext(ctx).Info("A provisioner has no subnets", "provisioner", provisioner.Name, "error", err.Error())
			continue
		}
		layer := constraints.FromSpec(provisioner.Name, &provisioner.Spec)
		p.provisioners = append(p.provisioners, usable{provisioner, layer, subnets})
		for zone := range subnets {
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
	return reconciling.Continue()
}

// source is what nodes are launched from by one call, but for their offerings.
type source struct {
	provisioner  string
	template     constraints.Reference
	version      int64
	architecture string
}

// plan makes launches of the chosen nodes. Pods of nodes that can not be launched after all get the reason.
func (r *Reconciler) plan(ctx context.Context, p *pass, chosen []packing.NewNode) []launching.Launch {
	bySource := map[source][]packing.NewNode{}
	var order []source
	for i := range chosen {
		node := &chosen[i]
		from := source{node.Ask.Provisioner, node.Ask.Template, node.Ask.Version, node.Architecture}
		if _, known := bySource[from]; !known {
			order = append(order, from)
		}
		bySource[from] = append(bySource[from], *node)
	}
	var launches []launching.Launch
	for _, from := range order {
		surroundings, err := r.surroundings(ctx, p, from)
		if err != nil {
			p.leave(bySource[from], aws.UserMessage(err))
			continue
		}
		some, homeless := launching.Plan(bySource[from], surroundings, newName)
		launches = append(launches, some...)
		for pod, reason := range homeless {
			p.result.Unplaced = append(p.result.Unplaced, packing.Unplaced{Pod: pod, Reason: reason})
		}
	}
	return launches
}

// leave has the pods of nodes wait, for a reason.
func (p *pass) leave(nodes []packing.NewNode, why string) {
	reason := "waits, because " + why
	for i := range nodes {
		for _, pod := range nodes[i].Pods {
			p.result.Unplaced = append(p.result.Unplaced, packing.Unplaced{Pod: pod, Reason: reason})
		}
	}
}

func (r *Reconciler) surroundings(ctx context.Context, p *pass, from source) (launching.Surroundings, error) {
	at := slices.IndexFunc(p.provisioners, func(u usable) bool { return u.object.Name == from.provisioner })
	provisioner := &p.provisioners[at]
	s := launching.Surroundings{
		Provisioner: provisioner.object, Subnets: provisioner.subnets,
		Resources: func(instanceType string) provisioningv1.ProvisionedResources {
			return resourcesOf(p.types, instanceType)
		},
	}
	if from.template.IsDefault() {
		template, err := r.Defaults.Ensure(ctx, provisioner.object, from.architecture)
		if err != nil {
			return launching.Surroundings{}, err
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
		s.Subnets = nil
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
