package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// edit is an object before and after an edit.
type edit struct {
	// Before is nil for an object that is created.
	before, after *unstructured.Unstructured
	// only restricts the edit to one field; nil for all of them.
	only *field
}

// field is a leaf of an object's spec, labels, or annotations.
type field struct {
	path     []string
	old, new any
}

// target is a pool that is planned.
type target struct {
	kind *kind
	name client.ObjectKey
}

// compare reads the objects as they are.
func (p *Planner) compare(ctx context.Context, edited []client.Object) ([]edit, error) {
	var edits []edit
	for _, object := range edited {
		after, err := p.unstructured(object)
		if err != nil {
			return nil, err
		}
		typed, err := p.Kinds.Scheme().New(after.GroupVersionKind())
		if err != nil {
			return nil, fmt.Errorf("planning an edit of %s %q: %w", after.GetKind(), after.GetName(), err)
		}
		present := typed.(client.Object)
		err = p.Cluster.Get(ctx, client.ObjectKeyFromObject(after), present)
		switch {
		case apierrors.IsNotFound(err):
			edits = append(edits, edit{after: after})
			continue
		case err != nil:
			return nil, fmt.Errorf("reading %s %q: %w", after.GetKind(), after.GetName(), err)
		}
		before, err := p.unstructured(present)
		if err != nil {
			return nil, err
		}
		edits = append(edits, edit{before: before, after: after})
	}
	return edits, nil
}

// unstructured returns an object with its kind.
func (p *Planner) unstructured(object client.Object) (*unstructured.Unstructured, error) {
	gvk := object.GetObjectKind().GroupVersionKind()
	if gvk.Kind == "" {
		kinds, _, err := p.Kinds.Scheme().ObjectKinds(object)
		if err != nil {
			return nil, fmt.Errorf("planning an edit of %q: %w", object.GetName(), err)
		}
		gvk = kinds[0]
	}
	contents, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %q: %w", gvk.Kind, object.GetName(), err)
	}
	result := &unstructured.Unstructured{Object: contents}
	result.SetGroupVersionKind(gvk)
	return result, nil
}

// targets returns the pools that an edit may affect, in the order of the edit and of their names.
func (p *Planner) targets(ctx context.Context, edits []edit) ([]target, error) {
	var found []target
	known := map[target]bool{}
	for _, edit := range edits {
		affected, err := p.affected(ctx, edit.after)
		if err != nil {
			return nil, err
		}
		for _, one := range affected {
			if !known[one] {
				known[one] = true
				found = append(found, one)
			}
		}
	}
	return found, nil
}

// affected returns the pools that an edit of one object may affect.
func (p *Planner) affected(ctx context.Context, object *unstructured.Unstructured) ([]target, error) {
	key := client.ObjectKeyFromObject(object)
	if kind := kindNamed(object.GetKind()); kind != nil {
		return []target{{kind, key}}, nil
	}
	switch object.GetKind() {
	case "MachinePool":
		reference, _, err := unstructured.NestedStringMap(object.Object, "spec", "template", "spec", "infrastructureRef")
		kind := kindNamed(reference["kind"])
		if err != nil || kind == nil {
			return nil, err
		}
		return []target{{kind, client.ObjectKey{Namespace: key.Namespace, Name: reference["name"]}}}, nil
	case "AWSLaunchConfig", "AWSLaunchConfigTemplate":
	default:
		return nil, fmt.Errorf("%s %q cannot be planned: plan edits of %s", object.GetKind(), key.Name, KindsPlanned())
	}
	var found []target
	for _, kind := range kindsOfPools {
		// Pools of other namespaces may refer to a template.
		pools, err := kind.list(ctx, p.Cluster, "")
		if apierrors.IsForbidden(err) {
			pools, err = kind.list(ctx, p.Cluster, key.Namespace)
		}
		if err != nil {
			return nil, fmt.Errorf("listing the pools that %s %q may affect: %w", object.GetKind(), key.Name, err)
		}
		for _, pool := range pools {
			// A pool that is being deleted no longer launches instances.
			if pool.GetDeletionTimestamp().IsZero() && pool.refersTo(object.GetKind(), key) {
				found = append(found, target{kind, client.ObjectKeyFromObject(pool)})
			}
		}
	}
	return found, nil
}

// refersTo reports whether a pool launches from a launch config, or a template of one.
func (v view) refersTo(kind string, name client.ObjectKey) bool {
	if kind == "AWSLaunchConfig" {
		return v.config != nil && v.GetNamespace() == name.Namespace && v.config.Name == name.Name
	}
	return v.template != nil && cmp.Or(v.template.Namespace, v.GetNamespace()) == name.Namespace && v.template.Name == name.Name
}

// editedSeed decides the UIDs of the objects that an edit creates. It is not the seed of the worlds, which create
// other objects.
const editedSeed = 1

// edited returns a management cluster as edits leave it. They are made once, however many pools are planned.
func (p *Planner) edited(ctx context.Context, edits []edit) (client.Reader, error) {
	if len(edits) == 0 {
		return p.Cluster, nil
	}
	w := &world{cluster: newCluster(p.Cluster, apiserver.New(p.Kinds, p.Clock, editedSeed))}
	if err := w.apply(ctx, edits); err != nil {
		return nil, err
	}
	objects := make([]client.Object, 0, len(edits))
	for _, edit := range edits {
		object, err := p.Kinds.Scheme().New(edit.after.GroupVersionKind())
		if err != nil {
			return nil, fmt.Errorf("planning an edit of %s %q: %w", edit.after.GetKind(), edit.after.GetName(), err)
		}
		edited := object.(client.Object)
		if err := w.cluster.Client.Get(ctx, client.ObjectKeyFromObject(edit.after), edited); err != nil {
			return nil, fmt.Errorf("reading the edit of %s %q: %w", edit.after.GetKind(), edit.after.GetName(), err)
		}
		objects = append(objects, edited)
	}
	return newSnapshot(p.Cluster, objects...), nil
}

// apply makes the edits in a world.
func (w *world) apply(ctx context.Context, edits []edit) error {
	for _, edit := range edits {
		if err := w.applyOne(ctx, edit); err != nil {
			return fmt.Errorf("applying the edit of %s %q: %w", edit.after.GetKind(), edit.after.GetName(), err)
		}
	}
	return nil
}

func (w *world) applyOne(ctx context.Context, edit edit) error {
	switch {
	case edit.before == nil:
		created := edit.after.DeepCopy()
		created.SetResourceVersion("")
		return w.cluster.Create(ctx, created)
	case edit.only != nil:
		return w.change(ctx, edit.after, []field{*edit.only})
	}
	stored, err := w.stored(ctx, edit.after)
	if err != nil {
		return err
	}
	stored.Object["spec"] = edit.after.Object["spec"]
	stored.SetLabels(edit.after.GetLabels())
	stored.SetAnnotations(edit.after.GetAnnotations())
	return w.cluster.Update(ctx, stored)
}

// change sets fields of an object.
func (w *world) change(ctx context.Context, object *unstructured.Unstructured, fields []field) error {
	stored, err := w.stored(ctx, object)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if err := field.set(stored); err != nil {
			return err
		}
	}
	return w.cluster.Update(ctx, stored)
}

// stored reads an object as the server in memory has it.
func (w *world) stored(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	typed, err := w.cluster.Scheme().New(object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(object)
	if err := w.cluster.Get(ctx, key, typed.(client.Object)); err != nil {
		return nil, err
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(object.GroupVersionKind())
	return stored, w.cluster.Client.Get(ctx, key, stored)
}

// own makes the MachinePool of a new pool its owner, as Cluster API does.
func (w *world) own(ctx context.Context, target target) error {
	pool, err := target.kind.read(ctx, w.cluster, target.name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(pool.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.Kind == "MachinePool" }) {
		return nil
	}
	machinePools, err := w.cluster.machinePoolsOf(ctx, target)
	if err != nil {
		return fmt.Errorf("finding the MachinePool: %w", err)
	}
	if len(machinePools) == 0 {
		return nil
	}
	owner := machinePools[0]
	pool.SetOwnerReferences(append(pool.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}))
	labels := maps.Clone(pool.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = owner.Spec.ClusterName
	pool.SetLabels(labels)
	return w.cluster.Update(ctx, pool.Object)
}

// machinePoolsOf returns the MachinePools that refer to a pool. They must not be changed.
func (c *cluster) machinePoolsOf(ctx context.Context, target target) ([]*clusterv1.MachinePool, error) {
	list := &clusterv1.MachinePoolList{}
	var found []*clusterv1.MachinePool
	if base := c.unfiltered(); base != nil {
		objects, err := base.indexed(ctx, list, target.name.Namespace, index{"infrastructure", infrastructureOf}, ownerKey(target.kind.name, target.name.Name))
		for _, object := range objects {
			found = append(found, object.(*clusterv1.MachinePool))
		}
		return found, err
	}
	if err := c.List(ctx, list, client.InNamespace(target.name.Namespace)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if slices.Contains(infrastructureOf(&list.Items[i]), ownerKey(target.kind.name, target.name.Name)) {
			found = append(found, &list.Items[i])
		}
	}
	return found, nil
}

// infrastructureOf returns the pool of a MachinePool, for an index.
func infrastructureOf(object client.Object) []string {
	reference := object.(*clusterv1.MachinePool).Spec.Template.Spec.InfrastructureRef
	return []string{ownerKey(reference.Kind, reference.Name)}
}

// fields returns the leaves that an edit changes.
func (e edit) fields() []field {
	var before map[string]any
	if e.before != nil {
		before = editable(e.before)
	}
	return differences(nil, before, editable(e.after))
}

// notEdited are the annotations that kubectl and the API server of Cluster API write with an edit, and that
// controllers write at any time.
var notEdited = []string{corev1.LastAppliedConfigAnnotation, conversionData, machinepool.DrainingAnnotation}

// conversionData is the annotation in which Cluster API keeps what an older API version has no place for.
const conversionData = "cluster.x-k8s.io/conversion-data"

// ofControllers is a field of specs that only controllers write, so that it may differ between two reads.
const ofControllers = "providerIDList"

// editable returns the parts of an object that a user edits.
func editable(object *unstructured.Unstructured) map[string]any {
	metadata := map[string]any{}
	if labels := object.GetLabels(); len(labels) > 0 {
		metadata["labels"] = toAny(labels)
	}
	annotations := object.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return slices.Contains(notEdited, key) })
	if len(annotations) > 0 {
		metadata["annotations"] = toAny(annotations)
	}
	spec, isStruct := object.Object["spec"].(map[string]any)
	if isStruct {
		spec = maps.Clone(spec)
		delete(spec, ofControllers)
	}
	return map[string]any{"metadata": metadata, "spec": spec}
}

func toAny(texts map[string]string) map[string]any {
	values := map[string]any{}
	for key, text := range texts {
		values[key] = text
	}
	return values
}

// differences returns the leaves in which two values differ, in the order of their paths. A list is a
// leaf, and so is a struct that only one of them has, outside of metadata.
func differences(path []string, before, after any) []field {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	old, wasMap := before.(map[string]any)
	now, isMap := after.(map[string]any)
	top := len(path) <= 1 || path[0] == "metadata"
	leaf := !wasMap || !isMap
	if top && (wasMap || before == nil) && (isMap || after == nil) {
		leaf = false
	}
	if leaf {
		return []field{{path: path, old: before, new: after}}
	}
	keys := slices.Collect(maps.Keys(old))
	keys = slices.AppendSeq(keys, maps.Keys(now))
	slices.Sort(keys)
	var found []field
	for _, key := range slices.Compact(keys) {
		found = append(found, differences(append(slices.Clone(path), key), old[key], now[key])...)
	}
	return found
}

// set sets a field of an object.
func (f *field) set(object *unstructured.Unstructured) error {
	if f.new == nil {
		unstructured.RemoveNestedField(object.Object, f.path...)
		return nil
	}
	return unstructured.SetNestedField(object.Object, runtime.DeepCopyJSONValue(f.new), f.path...)
}

// text returns a value as JSON, and a text as it is.
func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}
