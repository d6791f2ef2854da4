package scheduler

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// learnRegion builds the catalog. A provisioner that can launch nothing, because its subnets are
// not found or its cluster's name is taken, does not keep the others from it: its pods get the
// reason.
func (r *Reconciler) learnRegion(ctx context.Context, p *pass) reconciling.Outcome {
	var zones []string
	for i := range p.cluster.Provisioners {
		provisioner := &p.cluster.Provisioners[i]
		if provisioner.DeletionTimestamp != nil {
			continue
		}
		one := usable{object: provisioner, layer: constraints.FromSpec(provisioner.Name, &provisioner.Spec)}
		r.place(ctx, p, &one)
		if one.layer.Problem != "" {
			log.FromContext(ctx).Info("A Provisioner can launch nothing", "provisioner", provisioner.Name, "reason", one.layer.Problem)
		}
		p.provisioners = append(p.provisioners, one)
		for zone := range one.places {
			zones = append(zones, zone)
		}
	}
	p.zones = zones
	objects := make([]*provisioningv1.Provisioner, 0, len(p.provisioners))
	for i := range p.provisioners {
		objects = append(objects, p.provisioners[i].object)
	}
	var err error
	if p.facts, err = r.Region.Facts(ctx, objects); err != nil {
		r.events.tellUnknown(ctx, p, err)
		return pool.RetryOutcome(err)
	}
	if p.facts.Spot, err = r.Region.Discovery.SpotPrices(ctx); err != nil {
		log.FromContext(ctx).Error(err, "Going on without the prices of Spot")
	}
	r.Report.Progress.Priced(catalog.Prices(p.facts))
	return reconciling.Continue()
}

// buildCatalog says what can be launched: what the region sells where there are subnets, without
// what AWS has none of and what EC2 refuses.
func (r *Reconciler) buildCatalog(ctx context.Context, p *pass) reconciling.Outcome {
	zones := slices.Clone(p.zones)
	for _, template := range p.templates {
		if template.FixesSubnet {
			zones = append(zones, template.Zones...)
		}
	}
	for i := range p.provisioners {
		r.refuseDefaults(ctx, p, &p.provisioners[i])
	}
	p.types, p.notOffered = catalog.Build(p.facts, zones, r.Shortages.Short), catalog.NotOffered(p.facts, zones)
	r.Shortages.Explain(p.types)
	return reconciling.Continue()
}

// place finds the subnets that the nodes of a provisioner can be in, or why it can launch nothing.
func (r *Reconciler) place(ctx context.Context, p *pass, one *usable) {
	taken, err := r.Names.Taken(ctx, one.object.Spec.Cluster.Name)
	if err != nil {
		taken = aws.UserMessage(err)
	}
	if one.layer.Problem = taken; taken != "" {
		return
	}
	places, found, err := r.Region.Places(ctx, one.object, r.Shortages, p.cluster.Provisioned, r.Clock.Now(), time.Time{})
	if err != nil {
		one.layer.Problem = aws.UserMessage(err)
		return
	}
	one.places, one.layer.SubnetZones, one.layer.SubnetProblem = places, places.Zones(), places.Problem(found, &one.layer)
}

// refuseDefaults excludes the offerings that EC2 refuses from nodes of default launch templates.
// The devices that a pod requests decide which default launch template it gets, so an architecture
// has a problem only if all known templates have.
func (r *Reconciler) refuseDefaults(ctx context.Context, p *pass, one *usable) {
	problems, sound := map[string]string{}, map[string]bool{}
	for variant, made := range r.Defaults.Known(one.object.Name) {
		architecture, _ := variants.Parts(variant)
		r.Refusals.Recheck(ctx, made.ID, made.Version)
		s := launcher.Surroundings{Template: made, Places: one.places}
		if why := r.whyRefused(ctx, p, source{provisioner: one.object.Name, architecture: architecture}, &s); why != "" {
			problems[architecture] = why
		} else {
			sound[architecture] = true
		}
		if parts := r.Refusals.Parts(made.ID, made.Version); len(parts) > 0 {
			if one.layer.RefusedDefaults == nil {
				one.layer.RefusedDefaults = constraints.Refused{}
			}
			maps.Copy(one.layer.RefusedDefaults, parts)
		}
	}
	maps.DeleteFunc(problems, func(architecture, _ string) bool { return sound[architecture] })
	one.layer.DefaultProblems = problems
}

// source holds what nodes are launched from by one call, except for their offerings.
type source struct {
	provisioner  string
	template     constraints.Reference
	version      int64
	architecture string
	// awaited are the extended resources that pods of the nodes request, in one string.
	awaited string
}

func sourceOf(node *packing.NewNode) source {
	return source{node.Ask.Provisioner, node.Ask.Template, node.Ask.Version, node.Architecture, strings.Join(launcher.Awaited(node.Pods), ",")}
}

// plan returns launches of the chosen nodes. Pods of nodes that cannot be launched after all get
// the reason.
func (r *Reconciler) plan(ctx context.Context, p *pass, chosen []packing.NewNode) []launcher.Launch {
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
	var launches []launcher.Launch
	for _, from := range order {
		awaited := launcher.Awaited(bySource[from][0].Pods)
		surroundings, err := r.surroundings(ctx, p, from, awaited)
		if err == nil {
			if why := clusterstate.HeldBack(surroundings.Provisioner, p.cluster.Provisioned, surroundings.Template, awaited, r.Clock.Now()); why != "" {
				err = errors.New(why)
			}
		}
		if err != nil {
			p.leave(bySource[from], aws.UserMessage(err))
			continue
		}
		some, homeless := launcher.Plan(bySource[from], surroundings, namesWith(r.Random))
		launches = append(launches, r.accepted(ctx, p, from, &surroundings, some)...)
		for pod, reason := range homeless {
			p.result.Unplaced = append(p.result.Unplaced, packing.Unplaced{Pod: pod, Reason: reason, Cause: packing.CauseLaunch})
		}
	}
	return launches
}

// mostTried bounds how many launches of one version are tried in a pass, because pods choose their
// types. The others are launched without a trial: EC2 reports what it refuses.
const mostTried = 10

// accepted returns the launches that EC2 would accept according to dry runs. It tries a version of
// a launch template once, before the first launch from it, by possible launches of the provisioner;
// and a type that is the only one of a launch, before the first launch of it. The pods of the
// others are packed anew, without what EC2 refuses.
func (r *Reconciler) accepted(ctx context.Context, p *pass, from source, s *launcher.Surroundings, launches []launcher.Launch) []launcher.Launch {
	if len(launches) == 0 {
		return nil
	}
	id, version := s.Template.ID, s.Template.Version
	before := r.Refusals.Parts(id, version)
	if !r.Refusals.Accepted(id, version) {
		r.check(ctx, r.samples(ctx, p, from, s))
	}
	if _, refused := r.Refusals.Of(id, version); refused {
		p.again = true // their pods get events as all other pods of the template do
		r.Asked.Wake(from.provisioner)
		return nil
	}
	for i := range launches[:min(len(launches), mostTried)] {
		if request := launcher.Request(&launches[i].Nodes[0].Spec); ofOneType(request.Offerings) {
			request.Offerings = request.Offerings[:1]
			r.check(ctx, []fleet.Request{request})
		}
	}
	parts := r.Refusals.Parts(id, version)
	return slices.DeleteFunc(launches, func(launch launcher.Launch) bool {
		spec := &launch.Nodes[0].Spec
		refused := slices.ContainsFunc(spec.Offerings, func(o provisioningv1.NodeOffering) bool {
			offering := constraints.Offering{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: spec.CapacityType}
			return parts.Why(offering) != "" && before.Why(offering) == ""
		})
		if refused {
			p.again = true
			r.Asked.Wake(from.provisioner)
		}
		return refused
	})
}

// whyRefused returns why EC2 launches nothing from a version, if it refused it lately and refuses
// it still.
func (r *Reconciler) whyRefused(ctx context.Context, p *pass, from source, s *launcher.Surroundings) string {
	id, version := s.Template.ID, s.Template.Version
	if _, refused := r.Refusals.Of(id, version); refused {
		r.check(ctx, r.samples(ctx, p, from, s))
	}
	return r.Refusals.Why(id, version)
}

// check tries launches of one version, and leaves alone the subnets that EC2 does not know.
func (r *Reconciler) check(ctx context.Context, samples []fleet.Request) {
	for _, subnet := range r.Refusals.Check(ctx, samples) {
		r.Shortages.MarkSubnet(subnet)
		r.Region.Discovery.ForgetSubnets(subnet)
	}
}

// samples returns launches by which a launch template is tried that the provisioner may launch from
// for any pod.
func (r *Reconciler) samples(ctx context.Context, p *pass, from source, s *launcher.Surroundings) []fleet.Request {
	var way constraints.Requirements
	if from.template.IsDefault() {
		if variant, err := variants.For(from.architecture, strings.Split(from.awaited, ",")); err == nil {
			way = variants.Types(variant)
		}
	}
	one := p.usableOf(from.provisioner)
	offers, _, err := r.Region.Offers(ctx, one.object, &one.layer, p.templates, from.template, way)
	if err != nil {
		log.FromContext(ctx).Info("A launch template is not tried before it is launched from", "error", err.Error())
	}
	if offers == nil {
		return nil
	}
	return launcher.Samples(one.object, r.ClusterUID, s.Template, offers, s.Places)
}

// ofOneType reports whether all offerings are of one instance type.
func ofOneType(offerings []fleet.Offering) bool {
	return !slices.ContainsFunc(offerings, func(offering fleet.Offering) bool { return offering.InstanceType != offerings[0].InstanceType })
}

func (p *pass) usableOf(provisioner string) *usable {
	return &p.provisioners[slices.IndexFunc(p.provisioners, func(u usable) bool { return u.object.Name == provisioner })]
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

func (r *Reconciler) surroundings(ctx context.Context, p *pass, from source, awaited []string) (launcher.Surroundings, error) {
	provisioner := p.usableOf(from.provisioner)
	s := launcher.Surroundings{
		Provisioner: provisioner.object, ClusterUID: r.ClusterUID, Places: provisioner.places,
		Resources: func(instanceType string) provisioningv1.ProvisionedResources {
			return resourcesOf(p.types, instanceType)
		},
	}
	if from.template.IsDefault() {
		variant, err := variants.For(from.architecture, awaited)
		if err != nil {
			return launcher.Surroundings{}, err
		}
		template, err := r.Defaults.Ensure(ctx, provisioner.object, variant)
		if err != nil {
			return launcher.Surroundings{}, err
		}
		s.Template = template.LaunchTemplateVersion
		if why := r.whyRefused(ctx, p, from, &s); why != "" {
			return launcher.Surroundings{}, errors.New(why)
		}
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

// randomness is the length of unique suffixes of names: there are 27 to the power of 10 of them.
const randomness = 10

// namesWith returns what names launches, with a source of random text; rand.String if nil.
func namesWith(random func(length int) string) func(prefix string) string {
	if random == nil {
		random = rand.String
	}
	return func(prefix string) string { return strings.Join([]string{prefix, random(randomness)}, "-") }
}
