package plan

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/permissions"
)

// passRole is the permission that AWS requires of a caller whose nodes get a role. It is no call.
const passRole = "iam:PassRole"

// passed returns the identity that nodes of a pool get, after the plan: the ARN of the role of a managed
// pool, or the name or ARN of the instance profile of any other. It is "" if they get none, or if Slipway
// creates the role, which is then under a path of its own.
func (w *world) passed(ctx context.Context, pool view, kind string) (string, error) {
	if managed, is := pool.Object.(*infrav1.AWSManagedMachinePool); is {
		if role := managed.Status.NodeRole; role != nil && !role.Managed {
			return role.ARN, nil
		}
		return "", nil
	}
	key, err := configOf(ctx, w.cluster, target{kindNamed(kind), client.ObjectKeyFromObject(pool.Object)})
	if err != nil || key == nil {
		return "", err
	}
	config := &infrav1.AWSLaunchConfig{}
	if err := w.cluster.Get(ctx, *key, config); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if resolved := config.Status.Resolved; config.Spec.Existing != nil && resolved != nil {
		return resolved.IamInstanceProfile, nil
	}
	return config.Spec.IamInstanceProfile, nil
}

// roleOf returns the ARN of the role behind what passed returns, "" if there is none.
func roleOf(ctx context.Context, cloud *clouds.Cloud, kind, passed string) (string, error) {
	if passed == "" || kind == managed.name {
		return passed, nil
	}
	return cloud.Policies.RoleOfProfile(ctx, path.Base(passed))
}

// withRole returns examples that are about the role that nodes get, in the place of the roles that the
// policies are about in general. Without a role, nothing is passed.
func withRole(examples []permissions.Example, role string) []permissions.Example {
	var found []permissions.Example
	for _, example := range examples {
		if slices.Contains(example.Actions, passRole) {
			if slices.ContainsFunc(found, func(other permissions.Example) bool { return other.Sid == example.Sid }) || role == "" {
				continue
			}
			example.Resource = role
		}
		found = append(found, example)
	}
	return found
}

// nodeRole returns the name of a role with its path, as `slipway iam policy` takes it.
func nodeRole(role string) string {
	parsed, err := arn.Parse(role)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(parsed.Resource, "role/")
}

// unknownRole says why it is not known whether the role of the nodes may be passed.
func unknownRole(profile string, err error) string {
	if aws.IsAccessDenied(err) {
		return fmt.Sprintf("iam:GetInstanceProfile is denied, which `slipway iam policy --feature %s` allows", permissions.Preflight)
	}
	return cmp.Or(aws.UserMessage(err), "the role of instance profile "+profile+" is not known")
}
