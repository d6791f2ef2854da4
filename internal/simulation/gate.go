package simulation

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gatedClient is the connection of a process to the API server. Each call has the fate that the
// schedule has for it.
type gatedClient struct {
	client.Client
	gate *gate
}

func (c *gatedClient) call(verb string, object runtime.Object, name string, changes bool, do func() error) error {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s %s %s", verb, gvk.Kind, name)
	return c.gate.call(what, changes, func() error {
		err := do()
		if changes {
			c.gate.world.trace.detail("%s: %s", what, answerOf(object, err))
		}
		return err
	}, func() error { return apierrors.NewServiceUnavailable("the API server is restarting") })
}

// answerOf describes the result of a write, for the trace.
func answerOf(object runtime.Object, err error) string {
	if err != nil {
		return string(apierrors.ReasonForError(err)) + " " + err.Error()
	}
	if changed, is := object.(client.Object); is {
		return "resource version " + changed.GetResourceVersion()
	}
	return "done"
}

// Get implements client.Reader.
func (c *gatedClient) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.call("get", object, name.Name, false, func() error { return c.Client.Get(ctx, name, object, options...) })
}

// List implements client.Reader.
func (c *gatedClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.call("list", list, "", false, func() error { return c.Client.List(ctx, list, options...) })
}

// Create implements client.Writer.
func (c *gatedClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if flaw := c.gate.world.flaw; flaw.Create != nil {
		flaw.Create(object)
	}
	return c.call("create", object, object.GetName(), true, func() error { return c.Client.Create(ctx, object, options...) })
}

// Update implements client.Writer.
func (c *gatedClient) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return c.call("update", object, object.GetName(), true, func() error { return c.Client.Update(ctx, object, options...) })
}

// Patch implements client.Writer.
func (c *gatedClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	patch, err := c.flawed(object, false, patch)
	if err != nil {
		return err
	}
	return c.call("patch", object, object.GetName(), true, func() error { return c.Client.Patch(ctx, object, patch, options...) })
}

// flawed returns a patch as the process's flaw has it.
func (c *gatedClient) flawed(object client.Object, ofStatus bool, patch client.Patch) (client.Patch, error) {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return nil, err
	}
	return c.gate.world.flaw.patch(gvk.Kind, ofStatus, object, patch)
}

// Delete implements client.Writer.
func (c *gatedClient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return c.call("delete", object, object.GetName(), true, func() error { return c.Client.Delete(ctx, object, options...) })
}

// Status implements client.StatusClient.
func (c *gatedClient) Status() client.SubResourceWriter {
	return &gatedStatus{SubResourceWriter: c.Client.Status(), client: c}
}

type gatedStatus struct {
	client.SubResourceWriter
	client *gatedClient
}

// Update implements client.SubResourceWriter.
func (s *gatedStatus) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	return s.client.call("update status of", object, object.GetName(), true, func() error { return s.SubResourceWriter.Update(ctx, object, options...) })
}

// Patch implements client.SubResourceWriter.
func (s *gatedStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	patch, err := s.client.flawed(object, true, patch)
	if err != nil {
		return err
	}
	return s.client.call("patch status of", object, object.GetName(), true, func() error { return s.SubResourceWriter.Patch(ctx, object, patch, options...) })
}
