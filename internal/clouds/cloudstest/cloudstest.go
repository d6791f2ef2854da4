// Package cloudstest has what tests of controllers give a registry of clouds.
package cloudstest

import (
	"context"

	"github.com/slipway-project/slipway/internal/aws"
)

// AllowAll resolves every identity to the credentials of the process, and allows all instance
// profiles.
type AllowAll struct{}

// Resolve returns the principal of an identity.
func (AllowAll) Resolve(_ context.Context, wanted aws.Identity, _ string) (aws.Principal, error) {
	return aws.Principal{Identity: wanted}, nil
}

// AllowsInstanceProfile returns no error.
func (AllowAll) AllowsInstanceProfile(context.Context, aws.Identity, string) error { return nil }
