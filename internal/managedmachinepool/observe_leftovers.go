package managedmachinepool

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// readConfigLive reads the pool's own launch config past the cache, which may not know yet of one
// that was just created.
func (o observer) readConfigLive(ctx context.Context) error {
	config := &infrav1.AWSLaunchConfig{}
	err := o.Live.Get(ctx, o.key(), config)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading AWSLaunchConfig %q: %w", o.Object.Name, err)
	}
	o.Seen.Leftovers.ConfigRead = true
	if err == nil && metav1.IsControlledBy(config, o.Object) {
		o.Seen.Leftovers.Config = config
	}
	return nil
}

// findTemplates finds the launch templates of a pool whose launch config is gone. Where another
// object has the name, it has the template.
func (o observer) findTemplates(ctx context.Context) error {
	for _, other := range []client.Object{&infrav1.AWSLaunchConfig{}, &infrav1.AWSMachinePool{}} {
		err := o.Live.Get(ctx, o.key(), other)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading %T %q: %w", other, o.Object.Name, err)
		}
		if err == nil {
			o.Seen.Leftovers.TemplatesRead = true
			return nil
		}
	}
	templates, err := o.Memory.cloud.Templates.OwnedBy(ctx, ownerTag(o.input()))
	o.Seen.Leftovers.Templates, o.Seen.Leftovers.TemplatesErr, o.Seen.Leftovers.TemplatesRead = templates, err, err == nil
	return ctx.Err()
}

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
