package poolview

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Kinds of pools.
const (
	SelfManagedKind = "AWSMachinePool"
	ManagedKind     = "AWSManagedMachinePool"
)

// pool holds the fields that both kinds of pools have.
type pool struct {
	client.Object
	kind       string
	generation int64
	conditions []metav1.Condition
	instances  []infrav1.AWSMachinePoolInstanceStatus
}

// Of returns the view of a pool at a time.
func Of(objects Objects, now time.Time) View {
	var view View
	var of pool
	if objects.SelfManaged != nil {
		of = fillSelfManaged(&view, objects.SelfManaged)
	} else {
		of = fillManaged(&view, objects.Managed)
	}
	view.Kind, view.Namespace, view.Name = of.kind, of.GetNamespace(), of.GetName()
	view.Cluster = of.GetLabels()[clusterv1.ClusterNameLabel]
	view.RolloutsPaused = infrav1.RolloutPaused(of.GetAnnotations())
	view.Desired = view.Replicas
	if owner := objects.MachinePool; owner != nil {
		view.Cluster, view.Desired = cmp.Or(owner.Spec.ClusterName, view.Cluster), ptr.Deref(owner.Spec.Replicas, 1)
	}
	view.Instances = instancesOf(of.instances, objects)
	if config := objects.Config; config != nil {
		fillConfig(&view, config)
	}
	view.Versions = versionsOf(&view, objects)
	markInstances(&view)
	view.State, view.Message = stateOf(of)
	view.Drains = drainsOf(of)
	view.Problems = problemsOf(of, objects.Config, view.Drains, now)
	view.NeedsHuman = slices.ContainsFunc(view.Problems, func(p Problem) bool { return p.NeedsHuman })
	finishRollout(&view, of, now)
	view.Writers = writersOf(of, objects)
	if objects.Config != nil {
		view.History = historyOf(&view, objects.Config)
		nameWriters(view.History, launchWriters(view.Writers), lastEdit(objects.Config), now)
	}
	return view
}

// fillSelfManaged copies the status of an AWSMachinePool.
func fillSelfManaged(view *View, object *infrav1.AWSMachinePool) pool {
	status := &object.Status
	view.Replicas, view.Ready, view.UpToDate = status.Replicas, ptr.Deref(status.ReadyReplicas, 0), ptr.Deref(status.UpToDateReplicas, 0)
	view.WantedVersion, view.LaunchTemplateID = status.WantedVersion, status.LaunchTemplateID
	if group := status.AutoScalingGroup; group != nil {
		view.Group = group.Name
	}
	if rollout := status.Rollout; rollout != nil {
		view.Rollout = &Rollout{
			AWS: rollout.Status, ID: rollout.RefreshID, Cause: rollout.Cause,
			Percent: ptr.Deref(rollout.PercentageComplete, -1), Started: timeOf(rollout.StartTime),
		}
	}
	return pool{Object: object, kind: SelfManagedKind, generation: status.ObservedGeneration, conditions: status.Conditions, instances: status.Instances}
}

// fillManaged copies the status of an AWSManagedMachinePool.
func fillManaged(view *View, object *infrav1.AWSManagedMachinePool) pool {
	status := &object.Status
	view.Replicas, view.Ready, view.UpToDate = status.Replicas, ptr.Deref(status.ReadyReplicas, 0), ptr.Deref(status.UpToDateReplicas, 0)
	view.WantedVersion, view.LaunchTemplateID = status.WantedVersion, status.LaunchTemplateID
	if group := status.Nodegroup; group != nil {
		view.Nodegroup, view.Group = group.Name, group.AutoScalingGroup
	}
	if update := status.Update; update != nil && update.Type != "Create" {
		view.Rollout = &Rollout{AWS: update.Status, ID: update.ID, Cause: update.Cause, Percent: -1, Started: timeOf(update.StartTime)}
	}
	return pool{Object: object, kind: ManagedKind, generation: status.ObservedGeneration, conditions: status.Conditions, instances: status.Instances}
}

// fillConfig copies what the AWSLaunchConfig knows.
func fillConfig(view *View, config *infrav1.AWSLaunchConfig) {
	view.LaunchConfig = config.Name
	view.LaunchTemplateID = cmp.Or(config.Status.LaunchTemplateID, view.LaunchTemplateID)
	view.WantedVersion = cmp.Or(view.WantedVersion, config.Status.Version)
	view.PendingVersion = config.Status.PendingVersion
	view.RolloutsPaused = view.RolloutsPaused || infrav1.RolloutPaused(config.Annotations)
	for i := range view.Instances {
		instance := &view.Instances[i]
		instance.Wanted = config.Accepts(config.Status.LaunchTemplateID, numberOf(instance.Version))
	}
}

// instancesOf returns the instances with the names of their nodes.
func instancesOf(status []infrav1.AWSMachinePoolInstanceStatus, objects Objects) []Instance {
	nodes := nodeNames(objects)
	instances := make([]Instance, 0, len(status))
	for i := range status {
		one := &status[i]
		instances = append(instances, Instance{
			ID: one.InstanceID, Node: nodes[one.InstanceID], Version: one.LaunchTemplateVersion,
			Lifecycle: one.LifecycleState, Health: one.HealthStatus, Zone: one.AvailabilityZone, Type: one.InstanceType,
		})
	}
	slices.SortFunc(instances, func(a, b Instance) int { return strings.Compare(a.ID, b.ID) })
	return instances
}

// nodeNames returns the names of nodes by the ID of their instance.
func nodeNames(objects Objects) map[string]string {
	names := make(map[string]string, len(objects.Machines)+len(objects.Nodes))
	for i := range objects.Machines {
		machine := &objects.Machines[i]
		names[InstanceID(machine.Spec.ProviderID)] = machine.Status.NodeRef.Name
	}
	for i := range objects.Nodes {
		node := &objects.Nodes[i]
		names[InstanceID(node.Spec.ProviderID)] = node.Name
	}
	return names
}

// InstanceID returns the instance of a provider ID, such as aws:///us-east-1a/i-0123.
func InstanceID(providerID string) string {
	return providerID[strings.LastIndexByte(providerID, '/')+1:]
}

// versionsOf returns the versions that instances run. The status of an AWSMachinePool has them, and for an
// AWSManagedMachinePool its instances are counted.
func versionsOf(view *View, objects Objects) []Version {
	var versions []Version
	if object := objects.SelfManaged; object != nil {
		for _, running := range object.Status.RunningVersions {
			version := Version{Number: running.Version, ImageID: running.ImageID, Instances: running.Instances, Wanted: running.UpToDate}
			if running.LaunchTemplateID != view.LaunchTemplateID {
				version.TemplateID = running.LaunchTemplateID
			}
			versions = append(versions, version)
		}
	} else {
		versions = countVersions(view)
	}
	if config := objects.Config; config != nil {
		for i := range versions {
			if known := config.Status.FindVersion(versions[i].Number); known != nil && versions[i].TemplateID == "" {
				versions[i].Reason = known.Reason
			}
		}
	}
	slices.SortStableFunc(versions, func(a, b Version) int {
		if a.Wanted != b.Wanted {
			if a.Wanted {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Number, a.Number)
	})
	if versions == nil {
		versions = []Version{}
	}
	return versions
}

// markInstances marks the instances that run a wanted version. A version number can be wanted of
// one template or image and not of another: then the status does not show which instances have it,
// and none is marked.
func markInstances(view *View) {
	wanted := map[int64]bool{}
	for _, version := range view.Versions {
		before, seen := wanted[version.Number]
		wanted[version.Number] = version.Wanted && (before || !seen)
	}
	for i := range view.Instances {
		view.Instances[i].Wanted = wanted[numberOf(view.Instances[i].Version)]
	}
}

// countVersions counts the instances of each version. An update of a node group may bring another image without
// another version. Then fewer instances are up to date than run the wanted version, and it is not marked.
func countVersions(view *View) []Version {
	counts, wanted := map[int64]int32{}, map[int64]bool{}
	var running int32
	for i := range view.Instances {
		instance := &view.Instances[i]
		number := numberOf(instance.Version)
		counts[number]++
		if instance.Wanted || number != 0 && number == view.WantedVersion {
			wanted[number] = true
			if !strings.HasPrefix(instance.Lifecycle, "Terminating") {
				running++
			}
		}
	}
	versions := make([]Version, 0, len(counts))
	for number, count := range counts {
		versions = append(versions, Version{Number: number, Instances: count, Wanted: wanted[number] && view.UpToDate > 0 && running <= view.UpToDate})
	}
	return versions
}

// stateOf returns the state of a pool with its message.
func stateOf(of pool) (state, message string) {
	for _, kind := range []string{infrav1.DeletingCondition, infrav1.PausedCondition} {
		condition := meta.FindStatusCondition(of.conditions, kind)
		if condition != nil && (condition.Status == metav1.ConditionTrue || kind == infrav1.DeletingCondition) {
			return kind, condition.Message
		}
	}
	converged := meta.FindStatusCondition(of.conditions, infrav1.ConvergedCondition)
	if converged == nil || of.generation < of.GetGeneration() {
		return infrav1.PendingReason, "the controller has not reconciled the latest spec yet"
	}
	return converged.Reason, converged.Message
}

// mostFields bounds the fields of a writer.
const mostFields = 12

// writersOf returns who wrote the specs of a pool, of its MachinePool, and of an AWSLaunchConfig that is not the pool's
// own. The status and what Slipway itself writes are left out.
func writersOf(of pool, objects Objects) []Writer {
	writers := appendWriters(nil, of.kind, of.GetManagedFields())
	if owner := objects.MachinePool; owner != nil {
		writers = appendWriters(writers, "MachinePool", owner.ManagedFields)
	}
	if config := objects.Config; config != nil && metav1.GetControllerOf(config) == nil {
		writers = appendWriters(writers, "AWSLaunchConfig", config.ManagedFields)
	}
	slices.SortStableFunc(writers, func(a, b Writer) int { return ptr.Deref(b.Time, time.Time{}).Compare(ptr.Deref(a.Time, time.Time{})) })
	return writers
}

// ownManager is the name under which Slipway's manager writes.
const ownManager = "slipway"

// ofControllers is a field that only controllers write: Slipway's into a pool, and Cluster API's into a
// MachinePool.
const ofControllers = "providerIDList"

func appendWriters(writers []Writer, object string, entries []metav1.ManagedFieldsEntry) []Writer {
	for i := range entries {
		entry := &entries[i]
		if entry.Subresource != "" || entry.Manager == ownManager || entry.FieldsV1 == nil {
			continue
		}
		if fields := specFields(entry.FieldsV1.GetRawBytes()); len(fields) > 0 && !slices.Contains(fields, ofControllers) {
			writers = append(writers, Writer{Object: object, Manager: entry.Manager, Operation: string(entry.Operation), Time: timeOf(entry.Time), Fields: fields})
		}
	}
	return writers
}

// specFields returns the fields of spec in a set of managed fields.
func specFields(raw []byte) []string {
	var set struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if json.Unmarshal(raw, &set) != nil {
		return nil
	}
	fields := make([]string, 0, len(set.Spec))
	for name := range set.Spec {
		if field, is := strings.CutPrefix(name, "f:"); is {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	return fields[:min(len(fields), mostFields)]
}

func timeOf(at *metav1.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return ptr.To(at.UTC())
}
