package identity

import (
	"context"
	"fmt"
	"path"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
)

// InstanceProfilesAnnotation on an identity limits the instance profiles of instances that are
// launched as the identity: patterns separated by commas, as of path.Match, of names or ARNs.
// Without it, an identity that may pass many roles to EC2 would lend every one of them to each user
// who may write a pool. It holds for what a spec names and for launch templates of others. For
// clusters without identityRef it is read from the AWSClusterControllerIdentity "default".
const InstanceProfilesAnnotation = "slipway.infrastructure.cluster.x-k8s.io/allowed-instance-profiles"

// AllowsInstanceProfile returns an error unless the identity may launch instances with an instance
// profile, given by name or ARN. An identity without the annotation may use all profiles, and
// launching without a profile is always allowed. The annotation of the AWSClusterControllerIdentity
// also applies to clusters that name no identity. The error is an *Error, or a failure to read.
func (r *Resolver) AllowsInstanceProfile(ctx context.Context, identity aws.Identity, profile string) error {
	if profile == "" {
		return nil
	}
	unnamed := identity == (aws.Identity{})
	if unnamed {
		identity = own
	}
	link, err := r.read(ctx, identity)
	if unusable, is := IsUnusable(err); is && unnamed && unusable.Reason == infrav1.IdentityNotFoundReason {
		return nil
	}
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
		"%s does not allow instance profile %q, so no instance is launched with it. Use one of %q, or have the "+
			"profile added to the identity's annotation %s",
		identity, profile, value, InstanceProfilesAnnotation)}
}

// OwnProfiles limits the instance profiles of instances that are launched with the controller's own
// credentials.
type OwnProfiles struct{ Resolver *Resolver }

// Problem returns why instances may not be launched with an instance profile, or "" if they may.
func (p OwnProfiles) Problem(ctx context.Context, profile string) (string, error) {
	err := p.Resolver.AllowsInstanceProfile(ctx, aws.Identity{}, profile)
	if unusable, is := IsUnusable(err); is {
		return unusable.Message, nil
	}
	return "", err
}
