package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/internal/permissions/simulator"
)

// Permissions tells which calls of a plan IAM would deny.
type Permissions struct {
	// Principal is the ARN of the user or role whose policies were simulated.
	Principal string   `json:"principal,omitempty"`
	Denied    []Denied `json:"denied,omitempty"`
	// Command prints the policies that allow what is denied.
	Command string `json:"command,omitempty"`
	// Unknown says why no policies were simulated.
	Unknown string `json:"unknown,omitempty"`
	// RoleUnknown says why it is not known whether the role of the nodes may be passed to them.
	RoleUnknown string `json:"roleUnknown,omitempty"`
}

// Denied is an API action that the policies deny.
type Denied struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
	// Feature is the feature of `slipway iam policy` that allows it.
	Feature string `json:"feature"`
}

// follows are the actions that AWS authorizes, or that Slipway calls, after a call.
var follows = map[string][]string{
	"ec2:CreateLaunchTemplate":           {"ec2:CreateTags"},
	"autoscaling:CreateAutoScalingGroup": {"ec2:RunInstances", passRole},
	"autoscaling:UpdateAutoScalingGroup": {"ec2:RunInstances", passRole},
	"autoscaling:StartInstanceRefresh":   {"ec2:RunInstances", passRole, "autoscaling:CompleteLifecycleAction", "autoscaling:RecordLifecycleActionHeartbeat"},
	createsNodegroup:                     {"ec2:RunInstances", passRole, "eks:TagResource"},
	"eks:UpdateNodegroupVersion":         {"ec2:RunInstances"},
}

// permit adds the calls of a plan that the policies deny. A refusal of IAM's does not fail the plan.
func (p *Planner) permit(ctx context.Context, w *world, pool view, planned *Pool, known *details) error {
	if !p.CheckPermissions {
		return nil
	}
	actions := actionsOf(planned.Steps)
	passed, err := w.passed(ctx, pool, planned.Kind)
	if err != nil {
		return err
	}
	key := strings.Join(append([]string{planned.Kind, planned.Namespace, pool.GetLabels()[clusterv1.ClusterNameLabel], passed}, actions...), " ")
	planned.Permissions, _ = known.permissions.Get(key, func() (*Permissions, error) {
		checked, err := p.simulated(ctx, w, pool.Object, planned.Kind, passed, actions)
		if err != nil {
			checked.Unknown = unknownPermissions(err)
		}
		return &checked, nil
	})
	return ctx.Err()
}

// unknownPermissions says why no policies were simulated.
func unknownPermissions(err error) string {
	if aws.IsAccessDenied(err) {
		return fmt.Sprintf("iam:SimulatePrincipalPolicy is denied, which `slipway iam policy --feature %s` allows", permissions.Preflight)
	}
	return aws.UserMessage(err)
}

// actionsOf returns the actions of steps, and the ones that follow them, sorted.
func actionsOf(steps []Step) []string {
	var actions []string
	for _, step := range steps {
		for _, call := range step.Calls {
			actions = append(append(actions, call), follows[call]...)
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

// errNoPrincipal reports credentials that have no policies of their own.
var errNoPrincipal = errors.New("the credentials belong to neither a user nor a role; name the manager's role with --role-arn")

// simulated has IAM simulate the policies of the role, or of the identity that the plan reads AWS with.
// Passed is the identity that nodes get.
func (p *Planner) simulated(ctx context.Context, w *world, pool client.Object, kind, passed string, actions []string) (Permissions, error) {
	cloud, facts, err := w.reach(ctx, pool)
	if err != nil {
		return Permissions{}, err
	}
	found := Permissions{Principal: p.RoleARN}
	if found.Principal == "" {
		if found.Principal, err = cloud.Policies.Principal(ctx); err != nil {
			return found, err
		}
	}
	principal, err := arn.Parse(found.Principal)
	if err != nil {
		return found, errNoPrincipal
	}
	role, roleErr := roleOf(ctx, cloud, kind, passed)
	if roleErr != nil {
		found.RoleUnknown = unknownRole(passed, roleErr)
	}
	features, granting := featuresOf(kind, actions)
	account, err := cloud.AccountID(ctx)
	if err != nil {
		return found, err
	}
	scope := permissions.Scope{Partition: principal.Partition, Account: account, Region: cloud.Region, Clusters: []string{facts.Name}, Bucket: facts.Bucket}
	if facts.EKS {
		scope.EKSClusters = []string{facts.KubernetesName}
	}
	if p.NodeRolePath != "" {
		scope.RolePaths = []string{noderole.PathOf(p.NodeRolePath, facts.Name)}
	}
	scope.PermissionsBoundary = p.NodeRoleBoundary
	if err := scope.Check(); err != nil {
		return found, err
	}
	examples, err := permissions.Examples(scope, features...)
	if err != nil {
		return found, err
	}
	for i := range examples {
		examples[i].Actions = slices.DeleteFunc(slices.Clone(examples[i].Actions), func(action string) bool { return granting[action] == "" })
	}
	examples = slices.DeleteFunc(examples, func(example permissions.Example) bool { return len(example.Actions) == 0 })
	denied, err := cloud.Policies.Denied(ctx, found.Principal, withRole(examples, role))
	found.deny(denied, granting)
	if role != "" && slices.ContainsFunc(found.Denied, func(denied Denied) bool { return denied.Action == passRole }) {
		scope.NodeRoles = []string{nodeRole(role)}
	}
	found.Command = found.command(scope)
	return found, err
}

// deny adds each denial once, sorted. Granting are the features whose policy grants an action.
func (p *Permissions) deny(denials []simulator.Denial, granting map[string]permissions.Feature) {
	for _, denial := range denials {
		one := Denied{Action: denial.Action, Reason: denial.Reason, Feature: string(granting[denial.Action])}
		if !slices.Contains(p.Denied, one) {
			p.Denied = append(p.Denied, one)
		}
	}
	slices.SortFunc(p.Denied, func(a, b Denied) int { return cmp.Or(cmp.Compare(a.Action, b.Action), cmp.Compare(a.Reason, b.Reason)) })
}

// command returns the command that prints the policies that allow what is denied, "" if nothing is.
func (p *Permissions) command(scope permissions.Scope) string {
	var features, flags []string
	for _, purpose := range permissions.Features {
		if !slices.ContainsFunc(p.Denied, func(denied Denied) bool { return denied.Feature == string(purpose.Feature) }) {
			continue
		}
		features = append(features, string(purpose.Feature))
		for flag, values := range map[string][]string{permissions.FlagEKSCluster: scope.EKSClusters, permissions.FlagBucket: {scope.Bucket}} {
			if value := strings.Join(values, ","); value != "" && slices.Contains(purpose.Needs, flag) {
				flags = append(flags, " --"+flag+" "+value)
			}
		}
	}
	if len(features) == 0 {
		return ""
	}
	if len(scope.NodeRoles) > 0 {
		flags = append(flags, " --node-role "+strings.Join(scope.NodeRoles, ","))
	}
	slices.Sort(flags)
	return "slipway iam policy --feature " + strings.Join(features, ",") + strings.Join(slices.Compact(flags), "")
}

// featuresOf returns the features that allow actions for a kind of pool, and for each action the first
// feature that does: the one of the kind, if it does.
func featuresOf(kind string, actions []string) ([]permissions.Feature, map[string]permissions.Feature) {
	first := permissions.MachinePools
	if kind == managed.name {
		first = permissions.ManagedPools
	}
	candidates := []permissions.Feature{first}
	for _, purpose := range permissions.Features {
		candidates = append(candidates, purpose.Feature)
	}
	var features []permissions.Feature
	granting := map[string]permissions.Feature{}
	for _, feature := range candidates {
		for _, action := range permissions.Actions(feature) {
			if granting[action] != "" || !slices.Contains(actions, action) {
				continue
			}
			granting[action] = feature
			if !slices.Contains(features, feature) {
				features = append(features, feature)
			}
		}
	}
	return features, granting
}
