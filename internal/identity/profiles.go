package identity

import (
	"context"
	"fmt"
	"path"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
)

// InstanceProfilesAnnotation on an identity limits which instance profiles pools that use it may launch instances with: patterns separated by commas,
// as of path.Match, of names or ARNs. An identity that may pass many roles to EC2 would else lend every one of them to whoever may write a pool.
const InstanceProfilesAnnotation = "slipway.infrastructure.cluster.x-k8s.io/allowed-instance-profiles"

// AllowsInstanceProfile is nil if the identity may be used to launch instances with an instance profile, given by name or ARN. An identity without
// the annotation may be used with all, and no profile at all is always allowed. The error is an *Error, or a failure to read.
func (r *Resolver) AllowsInstanceProfile(ctx context.Context, identity aws.Identity, profile string) error {
	if identity == (aws.Identity{}) || profile == "" {
		return nil
	}
	link, err := r.read(ctx, identity)
	if err != nil {
		return err
	}
	value, limited := link.object.GetAnnotations()[InstanceProfilesAnnotation]
	if !limited {
		return nil
	}
	name := profile[strings.LastIndex(profile, "/")+1:]
	for pattern := range strings.SplitSeq(value, ",") {
		for _, candidate := range []string{profile, name} {
			if matches, err := path.Match(strings.TrimSpace(pattern), candidate); err == nil && matches {
				return nil
			}
		}
	}
	return &Error{infrav1.InstanceProfileNotAllowedReason, fmt.Sprintf(
		"%s may not be used to launch instances with instance profile %q: name one of %q, or have it added to the identity's annotation %s",
		identity, profile, value, InstanceProfilesAnnotation)}
}
