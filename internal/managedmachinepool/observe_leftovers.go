package managedmachinepool

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// readRole reads an IAM role, and which other pools name it if it is the pool's own.
func (o observer) readRole(ctx context.Context, name string) (Role, error) {
	role, err := o.Memory.cloud.Roles.Get(ctx, name)
	return Role{Read: err == nil, Name: name, Role: role, Err: err}, ctx.Err()
}

// readRoles reads the roles that a deleted pool may have created, up to one that cannot be read.
func (o observer) readRoles(ctx context.Context) error {
	o.Seen.Leftovers.RolesRead = true
	for _, name := range roleNames(o.input()) {
		role, err := o.readRole(ctx, name)
		if err == nil && role.Role != nil && ownsRole(o.input(), role.Role) {
			role.Users, err = o.usersOf(ctx, role.Name)
		}
		if err != nil {
			return err
		}
		o.Seen.Leftovers.Roles = append(o.Seen.Leftovers.Roles, role)
		if role.Err != nil {
			return nil
		}
	}
	return nil
}

// usersOf finds the other pools whose nodes have a role of the pool.
func (o observer) usersOf(ctx context.Context, role string) (RoleUsers, error) {
	pools := &infrav1.AWSManagedMachinePoolList{}
	if err := o.Client.List(ctx, pools, client.UnsafeDisableDeepCopy); err != nil {
		return RoleUsers{}, fmt.Errorf("listing the pools that have IAM role %q: %w", role, err)
	}
	return usersOf(o.Object, role, pools.Items), nil
}
