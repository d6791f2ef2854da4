package managedmachinepool

import (
	"context"
	"fmt"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// roles returns what keeps IAM roles in the account of the pool.
func (a actor) roles() *noderole.Roles { return a.Memory.cloud.Roles }

func (c createRole) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	role, err := a.roles().Create(ctx, c.Desired)
	if err != nil {
		a.Memory.roleDue = a.Clock.Now()
		return nil, err
	}
	a.Seen.Role.Role = role
	return eventsOf(reconcile.Eventf(infrav1.NodeRoleCreatedEvent, "Created IAM role %s", role.Name)), nil
}

func (c changeRole) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	role := *a.Seen.Role.Role
	done, err := a.roles().Ensure(ctx, c.Desired, role)
	var told []reconcile.Event
	if len(done) > 0 {
		told = eventsOf(reconcile.Eventf(infrav1.NodeRoleChangedEvent, "Changed IAM role %s: %s", role.Name, strings.Join(done, "; ")))
	}
	if err != nil {
		a.Memory.roleDue = a.Clock.Now()
		return told, err
	}
	role = c.Desired.Applied(role)
	a.Seen.Role.Role = &role
	return told, nil
}

// leftover returns the role of a name that a deleted pool may have created.
func (a actor) leftover(name string) (*Role, error) {
	for i := range a.Seen.Leftovers.Roles {
		if role := &a.Seen.Leftovers.Roles[i]; role.Name == name && role.Role != nil {
			return role, nil
		}
	}
	return nil, fmt.Errorf("IAM role %q is not one of the pool's", name)
}

func (d deleteRole) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	role, err := a.leftover(d.Name)
	if err != nil {
		return nil, err
	}
	if err := a.roles().Delete(ctx, *role.Role); err != nil {
		return nil, err
	}
	role.Role = nil
	return eventsOf(reconcile.Eventf(infrav1.NodeRoleDeletedEvent, "Deleted IAM role %s", d.Name)), nil
}

func (h handOverRole) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	role, err := a.leftover(h.Name)
	if err != nil {
		return nil, err
	}
	if err := a.roles().HandOver(ctx, *role.Role, h.Owner); err != nil {
		return nil, err
	}
	role.Role = nil // it is another pool's
	return eventsOf(reconcile.Eventf(infrav1.NodeRoleHandedOverEvent, "Transferred IAM role %s to AWSManagedMachinePool %s, whose nodes use it", h.Name, h.Heir)), nil
}
