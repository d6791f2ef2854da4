package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws/events"
)

// provisioningDeed is an action of a user in Kubernetes, or of an operator in AWS. It describes itself
// for the trace, and is empty if there was nothing to do.
type provisioningDeed func(ctx context.Context, s *provisioning) (string, error)

// mostSets bounds how many ReplicaSets there are at a time.
const mostSets = 4

var provisioningDeeds = []provisioningDeed{
	createSet, createSet, createSet, createSet, scaleSet, scaleSet, scaleSet, deleteSet, deletePod, changeBudget,
	editLimits, editLimits, editTypes, editRequirements, editZones, editLabels, editTaints, editTTL, editExpiry, editDrift, editDisruption, editGracePeriod, editTemplate,
	deleteNode, deleteNode, deleteProvisionedNode, requestReplacement, operatorTerminates, operatorTerminates, interruptSpot, interruptSpot,
	rebalanceSpot, stopKubelet, changeCapacity, deleteDefaultTemplate, deleteOrCreateProvisioner, rewriteStatus,
}

// createSet creates a ReplicaSet, perhaps with a PodDisruptionBudget.
func createSet(ctx context.Context, s *provisioning) (string, error) {
	view, err := s.cluster.look(ctx)
	if err != nil || len(view.sets) >= mostSets {
		return "", err
	}
	s.sets++
	name := fmt.Sprintf("set-%d", s.sets)
	set := &appsv1.ReplicaSet{ObjectMeta: named(name)}
	labels := map[string]string{"app": name}
	set.Spec.Replicas = ptr.To(1 + s.world.chance.Int32N(4))
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	size := pick(s.world.chance, "500m", "500m", "1500m", "3")
	set.Spec.Template.Spec = corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: *quantity(size), corev1.ResourceMemory: *quantity("256Mi")},
		}}},
		NodeSelector: pick(s.world.chance, nil, nil, nil, map[string]string{corev1.LabelTopologyZone: pick(s.world.chance, zones...)},
			map[string]string{provisioningv1.LabelCapacityType: provisioningv1.CapacityTypeSpot}, map[string]string{corev1.LabelInstanceTypeStable: "m5.xlarge"},
			map[string]string{"example.com/tier": "front"}),
	}
	if s.world.chance.happens(0.4) {
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: batchTaint.Key, Operator: corev1.TolerationOpExists}}
	}
	what := fmt.Sprintf("the user creates ReplicaSet %s: %d pods of %s CPUs for %v", name, *set.Spec.Replicas, size, set.Spec.Template.Spec.NodeSelector)
	if !s.world.chance.happens(0.5) {
		return what, s.world.user.Create(ctx, set)
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: named(name)}
	budget.Spec.Selector, budget.Spec.MaxUnavailable = set.Spec.Selector, ptr.To(intstr.FromInt32(1))
	return what + ", with a PodDisruptionBudget", errors.Join(s.world.user.Create(ctx, set), s.world.user.Create(ctx, budget))
}

// anySet returns one of the ReplicaSets, nil if there is none.
func (s *provisioning) anySet(ctx context.Context) (*appsv1.ReplicaSet, error) {
	view, err := s.cluster.look(ctx)
	if err != nil || len(view.sets) == 0 {
		return nil, err
	}
	return view.sets[s.world.chance.IntN(len(view.sets))].DeepCopy(), nil
}

func scaleSet(ctx context.Context, s *provisioning) (string, error) {
	set, err := s.anySet(ctx)
	if err != nil || set == nil {
		return "", err
	}
	wanted := s.world.chance.Int32N(6)
	return fmt.Sprintf("the user scales ReplicaSet %s to %d", set.Name, wanted), s.cluster.update(ctx, set, func() { set.Spec.Replicas = &wanted })
}

func deleteSet(ctx context.Context, s *provisioning) (string, error) {
	set, err := s.anySet(ctx)
	if err != nil || set == nil {
		return "", err
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: named(set.Name)}
	return "the user deletes ReplicaSet " + set.Name, errors.Join(s.world.user.Delete(ctx, set), client.IgnoreNotFound(s.world.user.Delete(ctx, budget)))
}

func deletePod(ctx context.Context, s *provisioning) (string, error) {
	view, err := s.cluster.look(ctx)
	if err != nil || len(view.pods) == 0 {
		return "", err
	}
	pod := view.pods[s.world.chance.IntN(len(view.pods))].DeepCopy()
	return "the user deletes pod " + pod.Name, s.world.user.Delete(ctx, pod)
}

func changeBudget(ctx context.Context, s *provisioning) (string, error) {
	view, err := s.cluster.look(ctx)
	if err != nil || len(view.budgets) == 0 {
		return "", err
	}
	budget := view.budgets[s.world.chance.IntN(len(view.budgets))].DeepCopy()
	most := s.world.chance.Int32N(2)
	return fmt.Sprintf("the user lets %d pods of PodDisruptionBudget %s be unavailable", most, budget.Name), s.cluster.update(ctx, budget, func() {
		budget.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(most))
	})
}

// edit changes one of the Provisioners.
func (s *provisioning) edit(ctx context.Context, what string, change func(spec *provisioningv1.ProvisionerSpec)) (string, error) {
	one := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: pick(s.world.chance, s.names...)}}
	err := s.cluster.update(ctx, one, func() { change(&one.Spec) })
	if client.IgnoreNotFound(err) == nil && err != nil {
		return "", nil
	}
	return fmt.Sprintf("the user sets %s of Provisioner %s", what, one.Name), err
}

func editLimits(ctx context.Context, s *provisioning) (string, error) {
	limits := &provisioningv1.Limits{CPU: quantity(pick(s.world.chance, "", "2", "4", "8", "16")), Memory: quantity(pick(s.world.chance, "", "", "24Gi"))}
	if s.world.chance.happens(0.3) {
		limits.Nodes = ptr.To(s.world.chance.Int32N(4))
	}
	return s.edit(ctx, "limits "+boundsOf(limits).String(), func(spec *provisioningv1.ProvisionerSpec) { spec.Limits = limits })
}

func editTypes(ctx context.Context, s *provisioning) (string, error) {
	types := pick(s.world.chance, []string{"m5.large"}, []string{"m5.large", "m5.xlarge"}, []string{"c5.large", "c5.xlarge"}, []string{"m5.xlarge", "c5.large"})
	return s.edit(ctx, fmt.Sprintf("instanceTypes %v", types), func(spec *provisioningv1.ProvisionerSpec) { spec.InstanceTypes = types })
}

func editRequirements(ctx context.Context, s *provisioning) (string, error) {
	capacity := pick(s.world.chance, nil, []string{"spot"}, []string{"on-demand"}, []string{"spot", "on-demand"})
	return s.edit(ctx, fmt.Sprintf("capacity types %v", capacity), func(spec *provisioningv1.ProvisionerSpec) {
		spec.Requirements = nil
		if capacity != nil {
			spec.Requirements = []provisioningv1.Requirement{{Key: provisioningv1.LabelCapacityType, Operator: "In", Values: capacity}}
		}
	})
}

func editZones(ctx context.Context, s *provisioning) (string, error) {
	wanted := pick(s.world.chance, nil, zones[:1], zones[:2], zones[1:])
	return s.edit(ctx, fmt.Sprintf("zones %v", wanted), func(spec *provisioningv1.ProvisionerSpec) { spec.Zones = slices.Clone(wanted) })
}

func editLabels(ctx context.Context, s *provisioning) (string, error) {
	labels := pick(s.world.chance, nil, provisioningv1.Labels{"example.com/tier": "front"}, provisioningv1.Labels{"example.com/tier": "back"})
	return s.edit(ctx, fmt.Sprintf("labels %v", labels), func(spec *provisioningv1.ProvisionerSpec) { spec.Labels = labels })
}

func editTaints(ctx context.Context, s *provisioning) (string, error) {
	taints := pick(s.world.chance, nil, nil, []provisioningv1.Taint{batchTaint})
	return s.edit(ctx, fmt.Sprintf("%d taints", len(taints)), func(spec *provisioningv1.ProvisionerSpec) { spec.Taints = taints })
}

func editTTL(ctx context.Context, s *provisioning) (string, error) {
	seconds := pick(s.world.chance, nil, ptr.To[int64](0), ptr.To[int64](60), ptr.To[int64](600))
	return s.edit(ctx, fmt.Sprintf("ttlSeconds %v", ptr.Deref(seconds, -1)), func(spec *provisioningv1.ProvisionerSpec) { spec.TTLSeconds = seconds })
}

func editExpiry(ctx context.Context, s *provisioning) (string, error) {
	seconds := pick(s.world.chance, nil, ptr.To[int64](600))
	return s.edit(ctx, fmt.Sprintf("ttlSecondsUntilExpired %v", ptr.Deref(seconds, -1)), func(spec *provisioningv1.ProvisionerSpec) { spec.TTLSecondsUntilExpired = seconds })
}

func editDrift(ctx context.Context, s *provisioning) (string, error) {
	drift := pick(s.world.chance, nil, &provisioningv1.Drift{MaxReplacing: intstr.FromInt32(1)}, &provisioningv1.Drift{MaxReplacing: intstr.FromString("50%")})
	return s.edit(ctx, fmt.Sprintf("drift %v", drift), func(spec *provisioningv1.ProvisionerSpec) { spec.Drift = drift })
}

func editDisruption(ctx context.Context, s *provisioning) (string, error) {
	budget := provisioningv1.DisruptionBudget{Nodes: pick(s.world.chance, intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromString("50%"))}
	return s.edit(ctx, "a disruption budget of "+budget.Nodes.String(), func(spec *provisioningv1.ProvisionerSpec) {
		spec.Disruption = &provisioningv1.Disruption{Budgets: []provisioningv1.DisruptionBudget{budget}}
	})
}

func editGracePeriod(ctx context.Context, s *provisioning) (string, error) {
	period := pick(s.world.chance, nil, ptr.To(metav1.Duration{Duration: 2 * podEnd}), ptr.To(metav1.Duration{Duration: 30 * podEnd}))
	return s.edit(ctx, fmt.Sprintf("terminationGracePeriod %v", period), func(spec *provisioningv1.ProvisionerSpec) {
		spec.TerminationGracePeriod = period
		for _, name := range s.names {
			s.facts.bounded[name] = s.facts.bounded[name] || period != nil
		}
	})
}

func editTemplate(ctx context.Context, s *provisioning) (string, error) {
	id := pick(s.world.chance, append(slices.Clone(s.observer.templates), "")...)
	return s.edit(ctx, "launch template "+id, func(spec *provisioningv1.ProvisionerSpec) {
		spec.LaunchTemplateRef = nil
		if id != "" {
			spec.LaunchTemplateRef = &provisioningv1.LaunchTemplateReference{ID: id}
		}
	})
}

func deleteNode(ctx context.Context, s *provisioning) (string, error) {
	view, err := s.cluster.look(ctx)
	if err != nil || len(view.nodes) == 0 {
		return "", err
	}
	node := view.nodes[s.world.chance.IntN(len(view.nodes))].DeepCopy()
	return "the user deletes Node " + node.Name, s.world.user.Delete(ctx, node)
}

// anyProvisioned returns one of the ProvisionedNodes, nil if there is none.
func (s *provisioning) anyProvisioned(ctx context.Context) (*provisioningv1.ProvisionedNode, error) {
	var nodes provisioningv1.ProvisionedNodeList
	if err := s.world.user.List(ctx, &nodes); err != nil || len(nodes.Items) == 0 {
		return nil, err
	}
	return &nodes.Items[s.world.chance.IntN(len(nodes.Items))], nil
}

func deleteProvisionedNode(ctx context.Context, s *provisioning) (string, error) {
	node, err := s.anyProvisioned(ctx)
	if err != nil || node == nil {
		return "", err
	}
	return "the user deletes ProvisionedNode " + node.Name, s.world.user.Delete(ctx, node)
}

func requestReplacement(ctx context.Context, s *provisioning) (string, error) {
	node, err := s.anyProvisioned(ctx)
	if err != nil || node == nil {
		return "", err
	}
	return "the user requests the replacement of ProvisionedNode " + node.Name, s.cluster.update(ctx, node, func() {
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, provisioningv1.ReplaceAnnotation, "a test")
	})
}

// anyRunning returns one of the instances that run and for which a condition holds, empty for none.
func (s *provisioning) anyRunning(is func(*jitInstance) bool) string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(s.facts.instances)) {
		if one := s.facts.instances[id]; !one.ended && is(one) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return pick(s.world.chance, ids...)
}

func operatorTerminates(ctx context.Context, s *provisioning) (string, error) {
	id := s.anyRunning(func(*jitInstance) bool { return true })
	if id == "" {
		return "", nil
	}
	s.facts.instances[id].excused = true
	_, err := s.world.person.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	return "an operator terminates instance " + id, err
}

func interruptSpot(_ context.Context, s *provisioning) (string, error) {
	id := s.anyRunning(func(one *jitInstance) bool { return one.spot })
	if id == "" {
		return "", nil
	}
	s.facts.instances[id].excused = true
	s.notify(events.Happened{Instances: []string{id}, Interrupted: []string{id}})
	return "EC2 interrupts Spot Instance " + id, s.observer.aws.InterruptSpotInstance(id)
}

func rebalanceSpot(_ context.Context, s *provisioning) (string, error) {
	id := s.anyRunning(func(one *jitInstance) bool { return one.spot })
	if id == "" {
		return "", nil
	}
	s.notify(events.Happened{Instances: []string{id}, AtRisk: []string{id}})
	return "EC2 recommends to rebalance Spot Instance " + id, s.observer.aws.RecommendRebalance(id)
}

// stopKubelet stops the kubelet of an instance, while there are faults.
func stopKubelet(_ context.Context, s *provisioning) (string, error) {
	id := s.anyRunning(func(*jitInstance) bool { return true })
	if id == "" || s.cluster.mute == 0 {
		return "", nil
	}
	s.cluster.silent[id] = true
	s.facts.events++
	return "the kubelet of instance " + id + " stops", nil
}

// changeCapacity has EC2 lack instances of a type, of a zone, or of Spot.
func changeCapacity(_ context.Context, s *provisioning) (string, error) {
	behavior := s.world.sim.Behavior()
	behavior.Capacity = pick(s.world.chance, nil, nil, []awssim.CapacityRule{{InstanceType: pick(s.world.chance, "m5.large", "m5.xlarge")}},
		[]awssim.CapacityRule{{Zone: pick(s.world.chance, zones...)}}, []awssim.CapacityRule{{Market: "spot"}}, []awssim.CapacityRule{{Available: 2}})
	s.world.sim.SetBehavior(behavior)
	return fmt.Sprintf("EC2 has capacity but for %+v", behavior.Capacity), nil
}

// deleteDefaultTemplate deletes a launch template that Slipway created.
func deleteDefaultTemplate(ctx context.Context, s *provisioning) (string, error) {
	owned := s.observer.ownTemplates()
	if len(owned) == 0 {
		return "", nil
	}
	id := *owned[s.world.chance.IntN(len(owned))].LaunchTemplateId
	_, err := s.world.person.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id})
	return "an operator deletes launch template " + id, err
}

// deleteOrCreateProvisioner deletes a Provisioner in one schedule of four that come here, and creates
// it again once it is gone.
func deleteOrCreateProvisioner(ctx context.Context, s *provisioning) (string, error) {
	one := s.newProvisioner(pick(s.world.chance, s.names...))
	err := s.world.user.Get(ctx, client.ObjectKeyFromObject(one), &provisioningv1.Provisioner{})
	switch {
	case err != nil && client.IgnoreNotFound(err) == nil:
		return "the user creates Provisioner " + one.Name, s.world.user.Create(ctx, one)
	case err != nil || !s.world.chance.happens(0.25):
		return "", err
	}
	return "the user deletes Provisioner " + one.Name, s.world.user.Delete(ctx, one)
}

// rewriteStatus has another writer put the instance of another owner into the status of a
// ProvisionedNode. Its own instance then belongs to no node, and is terminated without a drain.
func rewriteStatus(ctx context.Context, s *provisioning) (string, error) {
	node, err := s.anyProvisioned(ctx)
	if err != nil || node == nil || node.Status.InstanceID == "" || !s.world.chance.happens(0.5) {
		return "", err
	}
	if own := s.facts.instances[node.Status.InstanceID]; own != nil {
		own.excused, own.stray = true, true
	}
	return "another writer puts a foreign instance into the status of ProvisionedNode " + node.Name, s.cluster.updateStatus(ctx, node, func() {
		node.Status.InstanceID = s.facts.foreignID
	})
}

// restStatus has the user delete the ProvisionedNodes whose instance is another owner's.
func (s *provisioning) restStatus(ctx context.Context) error {
	var nodes provisioningv1.ProvisionedNodeList
	if err := s.world.user.List(ctx, &nodes); err != nil {
		return err
	}
	for i := range nodes.Items {
		if nodes.Items[i].Status.InstanceID != s.facts.foreignID {
			continue
		}
		if err := s.world.user.Delete(ctx, &nodes.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// restProvisioners undoes what replaces nodes for ever, and perhaps lifts the limits.
func (s *provisioning) restProvisioners(ctx context.Context) error {
	var all provisioningv1.ProvisionerList
	if err := s.world.user.List(ctx, &all); err != nil {
		return err
	}
	s.facts.ample = s.world.chance.happens(0.5)
	for i := range all.Items {
		one := &all.Items[i]
		err := s.cluster.update(ctx, one, func() {
			one.Spec.TTLSecondsUntilExpired = nil
			if s.facts.ample {
				one.Spec.Limits = nil
			}
		})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// restBudgets deletes the PodDisruptionBudgets that may keep a node from being drained for ever: of
// pods whose replacement has no place. The others let a pod be unavailable.
func (s *provisioning) restBudgets(ctx context.Context) error {
	view, err := s.cluster.look(ctx)
	if err != nil {
		return err
	}
	for i := range view.budgets {
		budget := view.budgets[i].DeepCopy()
		places := s.facts.ample
		for _, pod := range view.covered(budget) {
			has, err := s.observer.placeable(ctx, pod)
			if err != nil {
				return err
			}
			places = places && has
		}
		if !places {
			err = s.world.user.Delete(ctx, budget)
		} else {
			err = s.cluster.update(ctx, budget, func() { budget.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1)) })
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
