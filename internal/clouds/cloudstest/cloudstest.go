// Package cloudstest has what tests of controllers give a registry of clouds.
package cloudstest

import (
	"context"

	"github.com/slipway-project/slipway/internal/aws"
)

// Anybody resolves every identity to the credentials that a process has anyway, and allows all
// instance profiles.
type Anybody struct{}

// Resolve returns the principal of an identity.
func (Anybody) Resolve(_ context.Context, wanted aws.Identity, _ string) (aws.Principal, error) {
	return aws.Principal{Identity: wanted}, nil
}

// AllowsInstanceProfile returns no error.
func (Anybody) AllowsInstanceProfile(context.Context, aws.Identity, string) error { return nil }
