package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/poolview"
)

// provisioner is the row of a Provisioner.
type provisioner struct {
	Kind     string             `json:"kind"`
	Name     string             `json:"name"`
	Ready    string             `json:"ready"`
	Message  string             `json:"message,omitempty"`
	Nodes    int32              `json:"nodes"`
	CPU      string             `json:"cpu,omitempty"`
	Memory   string             `json:"memory,omitempty"`
	Limits   []string           `json:"limits,omitempty"`
	Problems []poolview.Problem `json:"problems,omitempty"`
	// Rejected are the versions of launch templates that no node is launched from any longer, because
	// nodes from them did not start.
	Rejected []string `json:"rejected,omitempty"`
	// Offerings are the offerings that are rejected for pending pods, by the reason.
	Offerings []rejectedOfferings `json:"offerings,omitempty"`
}

// rejectedOfferings are offerings that are rejected for one reason.
type rejectedOfferings struct {
	Reason    string `json:"reason"`
	Offerings int32  `json:"offerings"`
	Example   string `json:"example,omitempty"`
	Pod       string `json:"pod,omitempty"`
}

// provisionedNode is the row of a ProvisionedNode.
type provisionedNode struct {
	Kind         string     `json:"kind"`
	Name         string     `json:"name"`
	Provisioner  string     `json:"provisioner"`
	Instance     string     `json:"instance,omitempty"`
	InstanceType string     `json:"instanceType,omitempty"`
	Zone         string     `json:"zone,omitempty"`
	Capacity     string     `json:"capacity,omitempty"`
	Node         string     `json:"node,omitempty"`
	Phase        string     `json:"phase"`
	Message      string     `json:"message,omitempty"`
	Version      int64      `json:"version,omitempty"`
	Created      time.Time  `json:"created"`
	Launched     *time.Time `json:"launched,omitempty"`
	// Offerings is the number of instance types in zones that suited the pods of the node, and Choices
	// are their first instance types, the cheapest first.
	Offerings int      `json:"offerings,omitempty"`
	Choices   []choice `json:"choices,omitempty"`
	Cost      *cost    `json:"cost,omitempty"`
}

// choice is an instance type that suited, with the zones in which it did.
type choice struct {
	InstanceType string   `json:"instanceType"`
	Zones        []string `json:"zones"`
	// Chosen is the zone in which EC2 launched an instance of the type, empty if it did not.
	Chosen string `json:"chosen,omitempty"`
}

// mostChoices bounds the instance types that a row has.
const mostChoices = 15

// pendingPod is the row of a pod that no node has room for.
type pendingPod struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Since     time.Time `json:"since"`
	// Scheduler is why kube-scheduler binds it to no node, and Slipway what the Provisioner reports about
	// it, with the reason of the event.
	Scheduler string `json:"scheduler,omitempty"`
	Slipway   string `json:"slipway,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// provisioning returns the row of an object of a cluster with Provisioners, or nil if it has none.
func (d *Dashboard) provisioning(ctx context.Context, key rowKey) (any, error) {
	name := client.ObjectKey{Namespace: key.namespace, Name: key.name}
	switch key.kind {
	case provisionerRow:
		object := &provisioningv1.Provisioner{}
		if err := d.options.Reader.Get(ctx, name, object); err != nil {
			return nil, unlessGone(key, err)
		}
		return provisionerOf(object), nil
	case provisionedNodeRow:
		object := &provisioningv1.ProvisionedNode{}
		if err := d.options.Reader.Get(ctx, name, object); err != nil {
			return nil, unlessGone(key, err)
		}
		row := provisionedNodeOf(object)
		row.Cost = d.nodeCost(object)
		return row, nil
	}
	pod := &corev1.Pod{}
	if !d.shows(pod) {
		return nil, nil
	}
	if err := d.options.Reader.Get(ctx, name, pod); err != nil {
		return nil, unlessGone(key, err)
	}
	return d.podOf(ctx, pod)
}

func provisionerOf(object *provisioningv1.Provisioner) *provisioner {
	row := &provisioner{
		Kind: provisionerRow, Name: object.Name, Ready: "Unknown", Nodes: object.Status.Nodes,
		Problems: poolview.Problems(provisionerRow, object.Name, object.Status.Conditions),
	}
	if ready := meta.FindStatusCondition(object.Status.Conditions, provisioningv1.ReadyCondition); ready != nil {
		row.Ready, row.Message = string(ready.Status), ready.Message
	}
	if sum := object.Status.Resources; sum != nil {
		row.CPU, row.Memory = sum.CPU.String(), sum.Memory.String()
	}
	for _, failed := range object.Status.FailedStarts {
		row.Rejected = append(row.Rejected, poolview.FailedStart(failed))
	}
	for _, one := range object.Status.RejectedOfferings {
		row.Offerings = append(row.Offerings, rejectedOfferings(one))
	}
	if limits := object.Spec.Limits; limits != nil {
		if limits.Nodes != nil {
			row.Limits = append(row.Limits, strconv.Itoa(int(*limits.Nodes))+" nodes")
		}
		if limits.CPU != nil {
			row.Limits = append(row.Limits, limits.CPU.String()+" CPU")
		}
		if limits.Memory != nil {
			row.Limits = append(row.Limits, limits.Memory.String()+" memory")
		}
	}
	return row
}

func provisionedNodeOf(object *provisioningv1.ProvisionedNode) *provisionedNode {
	status := &object.Status
	row := &provisionedNode{
		Kind: provisionedNodeRow, Name: object.Name, Provisioner: object.Spec.Provisioner, Instance: status.InstanceID,
		InstanceType: status.InstanceType, Zone: status.Zone, Capacity: object.Spec.CapacityType, Node: status.NodeName,
		Version: object.Spec.LaunchTemplate.Version, Created: object.CreationTimestamp.UTC(),
	}
	if status.LaunchTime != nil {
		launched := status.LaunchTime.UTC()
		row.Launched = &launched
	}
	row.Phase, row.Message = phaseOf(object)
	row.Offerings, row.Choices = len(object.Spec.Offerings), choicesOf(object)
	return row
}

// choicesOf returns the instance types that suited a node, the cheapest first. The type that was chosen is
// always among them.
func choicesOf(object *provisioningv1.ProvisionedNode) []choice {
	var choices []choice
	for _, offering := range object.Spec.Offerings {
		at := slices.IndexFunc(choices, func(c choice) bool { return c.InstanceType == offering.InstanceType })
		if at < 0 {
			at = len(choices)
			choices = append(choices, choice{InstanceType: offering.InstanceType})
		}
		one := &choices[at]
		if !slices.Contains(one.Zones, offering.Zone) {
			one.Zones = append(one.Zones, offering.Zone)
		}
		if offering.InstanceType == object.Status.InstanceType && offering.Zone == object.Status.Zone {
			one.Chosen = offering.Zone
		}
	}
	if len(choices) <= mostChoices {
		return choices
	}
	shown := choices[:mostChoices:mostChoices]
	if at := slices.IndexFunc(choices[mostChoices:], func(c choice) bool { return c.Chosen != "" }); at >= 0 {
		shown = append(shown, choices[mostChoices+at])
	}
	return shown
}

// phaseOf returns how far a node is, and what is in the way.
func phaseOf(object *provisioningv1.ProvisionedNode) (phase, message string) {
	for _, step := range []struct{ condition, before string }{
		{provisioningv1.LaunchedCondition, "Launching"}, {provisioningv1.RegisteredCondition, "Starting"}, {provisioningv1.InitializedCondition, "Initializing"},
		{provisioningv1.ReadyCondition, "Not ready"},
	} {
		if phase != "" {
			break
		}
		condition := meta.FindStatusCondition(object.Status.Conditions, step.condition)
		if condition == nil || condition.Status != metav1.ConditionTrue {
			phase = step.before
		}
		if condition != nil && condition.Status != metav1.ConditionTrue {
			message = condition.Message
		}
	}
	if !object.DeletionTimestamp.IsZero() {
		phase = "Draining"
		if ending := meta.FindStatusCondition(object.Status.Conditions, provisioningv1.EndingCondition); ending != nil {
			message = ending.Message
		}
	}
	return cmp.Or(phase, "Ready"), message
}

// podOf returns the row of a pod that waits for a node, or nil for any other pod.
func (d *Dashboard) podOf(ctx context.Context, pod *corev1.Pod) (any, error) {
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	if at < 0 || pod.Status.Conditions[at].Status != corev1.ConditionFalse || pod.Spec.NodeName != "" || !pod.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	condition := &pod.Status.Conditions[at]
	row := &pendingPod{Kind: podRow, Namespace: pod.Namespace, Name: pod.Name, Since: condition.LastTransitionTime.UTC(), Scheduler: condition.Message}
	event, err := d.lastEvent(ctx, pod)
	if err != nil {
		return nil, err
	}
	if event != nil {
		row.Slipway, row.Reason = event.Note, event.Reason
	}
	return row, nil
}

// eventsOfPod is the index of events by the pod that they are about.
const eventsOfPod = "regarding"

// IndexEvents adds the index of events by their pod to a cache, if the page shows events.
func IndexEvents(ctx context.Context, indexer client.FieldIndexer, kinds []client.Object) error {
	if !contains(kinds, &eventsv1.Event{}) {
		return nil
	}
	if err := indexer.IndexField(ctx, &eventsv1.Event{}, eventsOfPod, podsOf); err != nil {
		return fmt.Errorf("indexing events: %w", err)
	}
	return nil
}

// podsOf returns the value of the index of an event.
func podsOf(object client.Object) []string {
	event, is := object.(*eventsv1.Event)
	if !is || event.Regarding.Kind != podRow {
		return nil
	}
	return []string{string(event.Regarding.UID)}
}

// lastEvent returns the newest event of the Provisioner's scheduler about a pod, if any.
func (d *Dashboard) lastEvent(ctx context.Context, pod *corev1.Pod) (*eventsv1.Event, error) {
	var events eventsv1.EventList
	if !d.shows(&eventsv1.Event{}) {
		return nil, nil
	}
	if err := d.options.Reader.List(ctx, &events, client.InNamespace(pod.Namespace), client.MatchingFields{eventsOfPod: string(pod.UID)}); err != nil {
		return nil, unlessGone(rowKey{podRow, pod.Namespace, pod.Name}, err)
	}
	var newest *eventsv1.Event
	for i := range events.Items {
		if one := &events.Items[i]; newest == nil || lastSeen(newest).Before(lastSeen(one)) {
			newest = one
		}
	}
	return newest, nil
}

// lastSeen returns when an event was last reported.
func lastSeen(event *eventsv1.Event) time.Time {
	if event.Series != nil {
		return event.Series.LastObservedTime.Time
	}
	if !event.EventTime.IsZero() {
		return event.EventTime.Time
	}
	return event.DeprecatedLastTimestamp.Time
}
