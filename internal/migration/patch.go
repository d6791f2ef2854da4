package migration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

const annotationsPath = "/metadata/annotations"

// escape encodes a key for a JSON pointer (RFC 6901).
var escape = strings.NewReplacer("~", "~0", "/", "~1")

// unchanged has a patch fail if its object has changed since it was observed.
func (o Object) unchanged() operation {
	return operation{Op: "test", Path: "/metadata/resourceVersion", Value: o.ResourceVersion}
}

// annotate sets an annotation.
func (o Object) annotate(key, value string) operation {
	if o.Annotations == 0 {
		return operation{Op: "add", Path: annotationsPath, Value: map[string]string{key: value}}
	}
	return operation{Op: "add", Path: annotationsPath + "/" + escape.Replace(key), Value: value}
}

// unannotate removes an annotation that the object has, and the map with its last one.
func (o Object) unannotate(key string) operation {
	if o.Annotations == 1 {
		return operation{Op: "remove", Path: annotationsPath}
	}
	return operation{Op: "remove", Path: annotationsPath + "/" + escape.Replace(key)}
}

// record keeps what is about to change. The values are Go values that can always be encoded.
func (o Object) record(before any) operation {
	encoded, err := json.Marshal(before)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", before, err))
	}
	return o.annotate(infrav1.BeforeMigrationAnnotation, string(encoded))
}

// recorded decodes what was kept.
func recorded[T any](o Object) (T, error) {
	var before T
	if err := json.Unmarshal([]byte(o.Record), &before); err != nil {
		return before, fmt.Errorf("annotation %s is not valid: %w", infrav1.BeforeMigrationAnnotation, err)
	}
	return before, nil
}

// clusterBefore records what a migration changes in a Cluster: spec.paused, null if it was not set.
type clusterBefore struct {
	Paused *bool `json:"paused"`
}

func (c Cluster) paused() bool { return c.Paused != nil && *c.Paused }

func (c Cluster) patch(operations ...operation) *patch {
	return &patch{APIVersion: clusterVersion, Kind: "Cluster", Namespace: c.Namespace, Name: c.Name, Operations: append([]operation{c.unchanged()}, operations...)}
}

// pause pauses the cluster. A record of an earlier run stays: it has the older value.
func (c Cluster) pause() *patch {
	var operations []operation
	if c.Record == "" {
		operations = append(operations, c.record(clusterBefore{Paused: c.Paused}))
	}
	return c.patch(append(operations, operation{Op: "add", Path: "/spec/paused", Value: true})...)
}

// resume restores what was kept.
func (c Cluster) resume(before clusterBefore) *patch {
	operations := []operation{c.unannotate(infrav1.BeforeMigrationAnnotation)}
	switch {
	case before.Paused != nil:
		operations = append(operations, operation{Op: "add", Path: "/spec/paused", Value: *before.Paused})
	case c.Paused != nil:
		operations = append(operations, operation{Op: "remove", Path: "/spec/paused"})
	}
	return c.patch(operations...)
}

// deploymentBefore records what a migration changes in a Deployment: the arguments of one
// container, null if there were none.
type deploymentBefore struct {
	Container string   `json:"container"`
	Args      []string `json:"args"`
}

// offArgument turns CAPA's controllers of pools off. The last value of a feature gate counts
// (config/beside-capa adds the same argument).
const offArgument = "--feature-gates=MachinePool=false,MachinePoolMachines=false"

func (d Deployment) patch(operations ...operation) *patch {
	return &patch{APIVersion: "apps/v1", Kind: "Deployment", Namespace: d.Namespace, Name: d.Name, Operations: append([]operation{d.unchanged()}, operations...)}
}

func argsPath(container int) string {
	return fmt.Sprintf("/spec/template/spec/containers/%d/args", container)
}

// stop adds the argument that turns the controllers of pools off.
func (d Deployment) stop(container int) *patch {
	c := d.Containers[container]
	add := operation{Op: "add", Path: argsPath(container) + "/-", Value: offArgument}
	if c.Args == nil {
		add = operation{Op: "add", Path: argsPath(container), Value: []string{offArgument}}
	}
	return d.patch(d.record(deploymentBefore{Container: c.Name, Args: c.Args}), add)
}

// start restores the arguments that were kept. If another client changed them meanwhile, it removes only
// the argument that stop added.
func (d Deployment) start(before deploymentBefore) *patch {
	operations := []operation{d.unannotate(infrav1.BeforeMigrationAnnotation)}
	i := slices.IndexFunc(d.Containers, func(c Container) bool { return c.Name == before.Container })
	if i < 0 {
		return d.patch(operations...)
	}
	current := d.Containers[i].Args
	last := lastIndex(current, offArgument)
	switch {
	case last < 0:
	case before.Args == nil && len(current) == 1:
		operations = append(operations, operation{Op: "remove", Path: argsPath(i)})
	default:
		operations = append(operations, operation{Op: "remove", Path: fmt.Sprintf("%s/%d", argsPath(i), last)})
	}
	return d.patch(operations...)
}

func lastIndex(values []string, value string) int {
	for i, one := range slices.Backward(values) {
		if one == value {
			return i
		}
	}
	return -1
}

// hooksBefore records what a migration changes in a webhook configuration: the webhooks that were
// removed, each with its place.
type hooksBefore struct {
	Webhooks []removedHook `json:"webhooks"`
}

type removedHook struct {
	Index   int            `json:"index"`
	Webhook map[string]any `json:"webhook"`
}

func (r removedHook) name() string {
	name, _ := r.Webhook["name"].(string)
	return name
}

func (c Configuration) patch(operations ...operation) *patch {
	return &patch{APIVersion: "admissionregistration.k8s.io/v1", Kind: c.Kind, Name: c.Name, Operations: append([]operation{c.unchanged()}, operations...)}
}

// remove removes the webhooks for pools. Webhooks that an earlier run removed stay recorded.
func (c Configuration) remove(earlier hooksBefore) *patch {
	var before hooksBefore
	var operations []operation
	for i, webhook := range c.Webhooks {
		if webhook.Pools {
			before.Webhooks = append(before.Webhooks, removedHook{Index: i, Webhook: webhook.Raw})
			// from the last one on, so that the places before it stay the same
			operations = append([]operation{{Op: "remove", Path: fmt.Sprintf("/webhooks/%d", i)}}, operations...)
		}
	}
	for _, old := range earlier.Webhooks {
		if !slices.ContainsFunc(c.Webhooks, func(w Webhook) bool { return w.Name == old.name() }) {
			before.Webhooks = append(before.Webhooks, old)
		}
	}
	slices.SortStableFunc(before.Webhooks, func(a, b removedHook) int { return a.Index - b.Index })
	return c.patch(append([]operation{c.record(before)}, operations...)...)
}

// restore adds the webhooks that were removed, each at its place, unless the configuration has it again.
func (c Configuration) restore(before hooksBefore) *patch {
	operations := []operation{c.unannotate(infrav1.BeforeMigrationAnnotation)}
	count := len(c.Webhooks)
	if count == 0 && len(before.Webhooks) > 0 {
		operations = append(operations, operation{Op: "add", Path: "/webhooks", Value: []any{}})
	}
	for _, removed := range before.Webhooks {
		if slices.ContainsFunc(c.Webhooks, func(w Webhook) bool { return w.Name == removed.name() }) {
			continue
		}
		operations = append(operations, operation{Op: "add", Path: fmt.Sprintf("/webhooks/%d", min(max(removed.Index, 0), count)), Value: removed.Webhook})
		count++
	}
	return c.patch(operations...)
}

func (p Pool) patch(operations ...operation) *patch {
	return &patch{
		APIVersion: infrav1.GroupVersion.String(), Kind: p.Kind, Namespace: p.Namespace, Name: p.Name,
		Operations: append([]operation{p.unchanged()}, operations...),
	}
}

// pin names the image that runs instead of how an image is looked up. An object with both is not valid.
func (p Pool) pin() *patch {
	const path = "/spec/awsLaunchTemplate/"
	operations := []operation{p.record(p.Lookup), {Op: "add", Path: path + "ami", Value: map[string]string{"id": p.Image}}}
	for _, field := range []struct{ name, value string }{
		{"imageLookupFormat", p.Lookup.ImageLookupFormat}, {"imageLookupOrg", p.Lookup.ImageLookupOrg}, {"imageLookupBaseOS", p.Lookup.ImageLookupBaseOS},
	} {
		if field.value != "" {
			operations = append(operations, operation{Op: "remove", Path: path + field.name})
		}
	}
	return p.patch(operations...)
}
