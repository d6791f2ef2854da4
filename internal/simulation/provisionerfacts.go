package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// provisioningFacts holds the facts about the cluster and AWS, whatever any process believes.
type provisioningFacts struct {
	// events counts what happened in AWS.
	events int
	// instances maps IDs to the instances that were launched for ProvisionedNodes.
	instances map[string]*jitInstance
	// nodes are the ProvisionedNodes that ever were, by name, and order counts them.
	nodes map[string]*recordedNode
	order int
	// shown are the limits of each Provisioner that the present pass may have seen.
	shown map[string][]bounds
	// ample is true once the limits are lifted, after the faults.
	ample bool
	// bounded are the Provisioners that ever had a terminationGracePeriod.
	bounded map[string]bool
	// foreignID is the instance of another owner, and foreign describes all that others own.
	foreignID, foreign string
}

func newProvisioningFacts() *provisioningFacts {
	return &provisioningFacts{instances: map[string]*jitInstance{}, nodes: map[string]*recordedNode{}, shown: map[string][]bounds{}, bounded: map[string]bool{}}
}

// jitInstance is an instance that was launched for a ProvisionedNode.
type jitInstance struct {
	machine             machine
	zone                string
	spot                bool
	provisioner, launch string
	// excused is set if the instance terminates for another reason than Slipway, and stray if another writer
	// took it from its ProvisionedNode.
	excused, stray, ended bool
}

// recordedNode records what a ProvisionedNode said when it was created.
type recordedNode struct {
	provisioner, launch string
	// launched is how many nodes its launch has, and order when it was created.
	launched int32
	order    int
	// allowed are the limits that the pass which created it may have seen.
	allowed []bounds
}

// bounds are the limits of a Provisioner, or what its nodes have together.
type bounds struct {
	cpu, memory *resource.Quantity
	nodes       *int32
}

// String describes the bounds.
func (b bounds) String() string {
	text := func(q *resource.Quantity) string {
		if q == nil {
			return "any"
		}
		return q.String()
	}
	nodes := "any"
	if b.nodes != nil {
		nodes = fmt.Sprint(*b.nodes)
	}
	return fmt.Sprintf("%s CPUs, %s memory, %s nodes", text(b.cpu), text(b.memory), nodes)
}

func boundsOf(limits *provisioningv1.Limits) bounds {
	if limits == nil {
		return bounds{}
	}
	return bounds{limits.CPU, limits.Memory, limits.Nodes}
}

// within reports whether amounts are within bounds.
func (b bounds) within(most bounds) bool {
	return (most.cpu == nil || b.cpu.Cmp(*most.cpu) <= 0) && (most.memory == nil || b.memory.Cmp(*most.memory) <= 0) && (most.nodes == nil || *b.nodes <= *most.nodes)
}

// add returns the bounds with one more node.
func (b bounds) add(one machine) bounds {
	sum := bounds{cpu: resource.NewQuantity(one.cpus, resource.DecimalSI), memory: resource.NewQuantity(one.gibs<<30, resource.BinarySI), nodes: ptr.To[int32](1)}
	if b.cpu != nil {
		sum.cpu.Add(*b.cpu)
		sum.memory.Add(*b.memory)
		*sum.nodes += *b.nodes
	}
	return sum
}

// ended reports whether an instance has terminated, or is about to.
func (f *provisioningFacts) ended(id string) bool {
	one := f.instances[id]
	return one == nil || one.ended
}

// running returns the IDs of instances that have not terminated.
func (f *provisioningFacts) running() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.instances)), f.ended)
}

// objectChanged notes ProvisionedNodes that are created.
func (f *provisioningFacts) objectChanged(w *World, change apiserver.Change) {
	if change.Before != nil || change.After == nil || change.After.GetKind() != "ProvisionedNode" {
		return
	}
	node := &provisioningv1.ProvisionedNode{}
	if err := w.server.Into(change.After, node); err != nil {
		w.verdict.violate(NoPanic, "reading a ProvisionedNode: %w", err)
		return
	}
	f.order++
	f.nodes[node.Name] = &recordedNode{
		provisioner: node.Spec.Provisioner, launch: node.Spec.Launch.Name, launched: node.Spec.Launch.Nodes, order: f.order, allowed: slices.Clone(f.shown[node.Spec.Provisioner]),
	}
}

// passes implements scene. It notes which limits the pass may see.
func (s *provisioning) passes(began bool) {
	if began {
		s.facts.shown = map[string][]bounds{}
	}
	if s.world.process == nil {
		return
	}
	for _, name := range s.names {
		one := &provisioningv1.Provisioner{}
		if err := s.world.process.cache.Get(s.world.process.ctx, nameOf(name), one); err == nil {
			s.facts.shown[name] = append(s.facts.shown[name], boundsOf(one.Spec.Limits))
		}
	}
}

// passed implements scene.
func (*provisioning) passed(context.Context, string, string) {}

// instanceChanged notes instances of Provisioners that start and terminate.
func (s *provisioning) instanceChanged(event awssim.Event) {
	if event.Kind != "instance" {
		return
	}
	s.facts.events++
	one := s.facts.instances[event.ID]
	switch event.State {
	case "pending":
		s.observer.launched(event.ID)
	case "booted":
		if one != nil && !one.ended {
			s.cluster.boots(event.ID)
		}
	case "shutting-down", "terminated":
		if one == nil {
			return
		}
		s.notify(events.Happened{Instances: []string{event.ID}, Ended: []string{event.ID}})
		if !one.ended {
			s.world.trace.detail("instance %s ends", event.ID)
			s.observer.drainedFirst(event.ID, one)
			one.ended = true
		}
	}
}

// launched notes an instance that was launched, and checks that it may be.
func (o *provisionerObserver) launched(id string) {
	described, _ := o.aws.Instance(id)
	tags := map[string]string{}
	for _, tag := range described.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if tags["owner"] != "" {
		return
	}
	one := &jitInstance{zone: *described.Placement.AvailabilityZone, provisioner: tags[fleet.TagProvisioner], launch: tags[fleet.TagLaunch], spot: described.InstanceLifecycle == ec2types.InstanceLifecycleTypeSpot}
	for _, machine := range machines {
		if machine.name == string(described.InstanceType) {
			one.machine = machine
		}
	}
	o.facts.instances[id] = one
	o.world.trace.detail("instance %s begins: %s in %s, launch %s of Provisioner %s", id, one.machine.name, one.zone, one.launch, one.provisioner)
	o.launchedOnce(id, one)
	o.withinLimits(one.provisioner)
}

// ownTemplates returns the default launch templates of the cluster.
func (o *provisionerObserver) ownTemplates() []ec2types.LaunchTemplate {
	return slices.DeleteFunc(o.aws.LaunchTemplates(), func(template ec2types.LaunchTemplate) bool {
		return !slices.ContainsFunc(template.Tags, func(tag ec2types.Tag) bool { return *tag.Key == infrav1.TagClusterUID && *tag.Value == clusterUID })
	})
}
