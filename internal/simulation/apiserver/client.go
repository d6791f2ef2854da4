package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Client returns a client that reads and writes the server directly.
func (s *Server) Client() client.Client { return &directClient{server: s} }

type directClient struct{ server *Server }

var _ client.Client = (*directClient)(nil)

func (c *directClient) Scheme() *runtime.Scheme     { return c.server.kinds.scheme }
func (c *directClient) RESTMapper() meta.RESTMapper { return c.server.kinds.mapper }

func (c *directClient) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(object, c.Scheme())
}

func (c *directClient) IsObjectNamespaced(object runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(object, c.Scheme(), c.RESTMapper())
}

func (c *directClient) Get(_ context.Context, name client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	stored, err := c.server.get(gvk, name)
	if err != nil {
		return err
	}
	return c.server.Into(stored, object)
}

func (c *directClient) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(list, c.Scheme())
	if err != nil {
		return err
	}
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	var wanted client.ListOptions
	wanted.ApplyOptions(options)
	stored, version := c.server.list(gvk, wanted.Namespace)
	var items []runtime.Object
	for _, one := range stored {
		matches, err := matches(one, wanted)
		if err != nil {
			return err
		}
		if !matches {
			continue
		}
		item, err := c.server.typed(list, gvk, one)
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	list.SetResourceVersion(version)
	return meta.SetList(list, items)
}

// matches reports whether an object is selected. Fields other than the name and the namespace need
// an index, which the server does not have.
func matches(object *Object, wanted client.ListOptions) (bool, error) {
	if wanted.LabelSelector != nil && !wanted.LabelSelector.Matches(labelsOf(object)) {
		return false, nil
	}
	if wanted.FieldSelector == nil {
		return true, nil
	}
	known := fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
	for _, requirement := range wanted.FieldSelector.Requirements() {
		if !known.Has(requirement.Field) {
			return false, apierrors.NewBadRequest("field label not supported: " + requirement.Field)
		}
	}
	return wanted.FieldSelector.Matches(known), nil
}

func (c *directClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	var set client.CreateOptions
	set.ApplyOptions(options)
	sent, err := c.sent(object)
	if err != nil {
		return err
	}
	create := c.server.create
	if len(set.DryRun) > 0 {
		create = c.server.tryCreate
	}
	answer, err := create(ctx, sent)
	if err != nil {
		return err
	}
	return c.server.Into(answer, object)
}

func (c *directClient) Update(ctx context.Context, object client.Object, _ ...client.UpdateOption) error {
	return c.update(ctx, object, whole)
}

func (c *directClient) update(ctx context.Context, object client.Object, part subresource) error {
	sent, err := c.sent(object)
	if err != nil {
		return err
	}
	answer, err := c.server.update(ctx, sent.GroupVersionKind(), client.ObjectKeyFromObject(object), part, func(*Object) (*Object, error) { return sent, nil })
	if err != nil {
		return err
	}
	return c.server.Into(answer, object)
}

func (c *directClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	var set client.PatchOptions
	set.ApplyOptions(options)
	if len(set.DryRun) > 0 {
		return errors.New("simulation: dry runs are not simulated")
	}
	return c.patch(ctx, object, patch, whole)
}

func (c *directClient) patch(ctx context.Context, object client.Object, patch client.Patch, part subresource) error {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	data, err := patch.Data(object)
	if err != nil {
		return fmt.Errorf("computing the patch: %w", err)
	}
	answer, err := c.server.update(ctx, gvk, client.ObjectKeyFromObject(object), part, func(stored *Object) (*Object, error) {
		return c.patched(gvk, stored, patch.Type(), data)
	})
	if err != nil {
		return err
	}
	return c.server.Into(answer, object)
}

// patched returns the stored object with the patch applied. A patch that names no resource version
// is applied to the stored one.
func (c *directClient) patched(gvk schema.GroupVersionKind, stored *Object, kind types.PatchType, data []byte) (*Object, error) {
	if kind == types.MergePatchType {
		patch := map[string]any{}
		if err := utiljson.Unmarshal(data, &patch); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return &Object{Object: merged(stored.Object, patch)}, nil
	}
	before, err := json.Marshal(stored.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", gvk.Kind, err)
	}
	var after []byte
	switch kind {
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(data); err == nil {
			after, err = operations.Apply(before)
		}
	case types.StrategicMergePatchType:
		if c.server.kinds.rules[gvk].custom {
			return nil, apierrors.NewGenericServerResponse(415, "patch", resourceOf(gvk), stored.GetName(),
				"the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml", 0, true)
		}
		var empty runtime.Object
		if empty, err = c.Scheme().New(gvk); err == nil {
			after, err = strategicpatch.StrategicMergePatch(before, data, empty)
		}
	default:
		return nil, fmt.Errorf("simulation: patches of type %s are not simulated", kind)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next := &Object{}
	if err := utiljson.Unmarshal(after, &next.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return next, nil
}

// merged returns an object with a merge patch applied (RFC 7396). It shares with the object what
// the patch leaves alone.
func merged(object, patch map[string]any) map[string]any {
	next := maps.Clone(object)
	if next == nil {
		next = map[string]any{}
	}
	for name, change := range patch {
		switch change := change.(type) {
		case nil:
			delete(next, name)
		case map[string]any:
			member, _ := next[name].(map[string]any)
			next[name] = merged(member, change)
		default:
			next[name] = change
		}
	}
	return next
}

func (c *directClient) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	var set client.DeleteOptions
	set.ApplyOptions(options)
	if set.PropagationPolicy != nil && *set.PropagationPolicy != metav1.DeletePropagationBackground {
		return fmt.Errorf("simulation: deletion with propagation policy %s is not simulated", *set.PropagationPolicy)
	}
	var only preconditions
	if set.Preconditions != nil {
		only = preconditions{uid: set.Preconditions.UID, version: set.Preconditions.ResourceVersion}
	}
	return c.server.delete(gvk, client.ObjectKeyFromObject(object), only)
}

func (c *directClient) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errors.New("simulation: DeleteAllOf is not simulated")
}

func (c *directClient) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errors.New("simulation: server-side apply is not simulated")
}

func (c *directClient) Status() client.SubResourceWriter { return statusClient{c} }

func (c *directClient) SubResource(name string) client.SubResourceClient {
	if name != "status" {
		panic(fmt.Sprintf("simulation: subresource %q is not simulated", name))
	}
	return statusClient{c}
}

type statusClient struct{ *directClient }

func (c statusClient) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errors.New("simulation: reading a subresource is not simulated")
}

func (c statusClient) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errors.New("simulation: a status cannot be created")
}

func (c statusClient) Update(ctx context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	return c.update(ctx, object, status)
}

func (c statusClient) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return c.patch(ctx, object, patch, status)
}

func (c statusClient) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errors.New("simulation: server-side apply is not simulated")
}

// sent returns an object as it goes over the wire.
func (c *directClient) sent(object client.Object) (*Object, error) {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return nil, err
	}
	contents, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", gvk.Kind, err)
	}
	sent := &Object{Object: contents}
	sent.SetGroupVersionKind(gvk)
	return sent, nil
}
