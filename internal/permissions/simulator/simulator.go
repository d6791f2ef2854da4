// Package simulator has IAM simulate the policies of a user or a role for the requests that Slipway sends.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/permissions"
)

const (
	// mostActions limits the actions of one call to IAM. Its answers have one result for each.
	mostActions = 100
	// mostPages limits the answers to one question. IAM may return fewer results than it is asked for.
	mostPages = 20
)

// Denial is a request that the policies of a principal do not allow.
type Denial struct {
	Action string
	// Statement is the Sid of the statement that would allow it.
	Statement string
	// Reason states whether a policy, a permissions boundary, or the organization denies it.
	Reason string
}

// Simulator simulates the policies of one account.
type Simulator struct{ clients *aws.Clients }

// New returns a simulator. It calls nothing before it is asked.
func New(clients *aws.Clients) *Simulator { return &Simulator{clients} }

// Principal returns the user or role behind the credentials of the simulator, "" if they belong to neither.
func (s *Simulator) Principal(ctx context.Context) (string, error) {
	caller, err := s.clients.CallerARN(ctx)
	if err != nil {
		return "", err
	}
	return PrincipalOf(ctx, s.clients.IAM, caller), nil
}

// Denied returns the requests that the policies of a principal deny.
func (s *Simulator) Denied(ctx context.Context, principal string, examples []permissions.Example) ([]Denial, error) {
	_, denied, err := Simulate(ctx, s.clients.IAM, principal, examples)
	return denied, err
}

// RoleOfProfile returns the ARN of the role of an instance profile, "" if there is no such profile, or if
// it has no role.
func (s *Simulator) RoleOfProfile(ctx context.Context, name string) (string, error) {
	output, err := s.clients.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	switch {
	case aws.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading instance profile %s: %w", name, err)
	case output.InstanceProfile == nil || len(output.InstanceProfile.Roles) == 0:
		return "", nil
	}
	return awssdk.ToString(output.InstanceProfile.Roles[0].Arn), nil
}

// Simulate returns the number of requests that were simulated, and the denied ones.
func Simulate(ctx context.Context, client *aws.IAM, principal string, examples []permissions.Example) (requests int, denied []Denial, err error) {
	for _, question := range questions(examples) {
		denials, err := question.ask(ctx, client, principal)
		if err != nil {
			return requests, denied, err
		}
		requests += len(question.statements)
		denied = append(denied, denials...)
	}
	return requests, denied, nil
}

// PrincipalOf returns the ARN of the user or role behind a caller, or "" if it is neither. The ARN of a
// session does not have the path of its role.
func PrincipalOf(ctx context.Context, client *aws.IAM, caller string) string {
	parsed, err := arn.Parse(caller)
	if err != nil {
		return ""
	}
	kind, name, _ := strings.Cut(parsed.Resource, "/")
	switch {
	case parsed.Service == "iam" && kind == "user":
		return caller
	case parsed.Service == "sts" && kind == "assumed-role":
		name, _, _ = strings.Cut(name, "/")
		output, err := client.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
		if err == nil && output.Role != nil && output.Role.Arn != nil {
			return *output.Role.Arn
		}
		role := arn.ARN{Partition: parsed.Partition, Service: "iam", AccountID: parsed.AccountID, Resource: "role/" + name}
		return role.String() // most roles have no path
	default:
		return ""
	}
}

// question asks IAM about actions on the same resource in the same context.
type question struct {
	resource string
	context  map[string][]string
	// statements are the Sids of the statements that allow each action.
	statements map[string]string
}

// questions joins examples that differ only in their actions.
func questions(examples []permissions.Example) []question {
	var all []question
	for _, example := range examples {
		i := slices.IndexFunc(all, func(q question) bool {
			return q.resource == example.Resource && maps.EqualFunc(q.context, example.Context, slices.Equal[[]string])
		})
		if i < 0 {
			i, all = len(all), append(all, question{resource: example.Resource, context: example.Context, statements: map[string]string{}})
		}
		for _, action := range example.Actions {
			all[i].statements[action] = example.Sid
		}
	}
	return all
}

// ask returns the actions that the policies of a principal deny.
func (q question) ask(ctx context.Context, client *aws.IAM, principal string) ([]Denial, error) {
	var denied []Denial
	for actions := range slices.Chunk(slices.Sorted(maps.Keys(q.statements)), mostActions) {
		results, err := q.simulate(ctx, client, principal, actions)
		if err != nil {
			return nil, err
		}
		for _, action := range actions {
			result, answered := results[action]
			if !answered {
				return nil, fmt.Errorf("simulating the policies of %s: IAM returned no decision about %s", principal, action)
			}
			if reason := reasonOf(result); reason != "" {
				denied = append(denied, Denial{Action: action, Statement: q.statements[action], Reason: reason})
			}
		}
	}
	return denied, nil
}

// simulate returns the results by action.
func (q question) simulate(ctx context.Context, client *aws.IAM, principal string, actions []string) (map[string]iamtypes.EvaluationResult, error) {
	in := &iam.SimulatePrincipalPolicyInput{PolicySourceArn: &principal, ActionNames: actions, ContextEntries: q.entries()}
	if q.resource != "*" {
		in.ResourceArns = []string{q.resource}
	}
	results := map[string]iamtypes.EvaluationResult{}
	for range mostPages {
		out, err := client.SimulatePrincipalPolicy(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("simulating the policies of %s: %w", principal, err)
		}
		for _, result := range out.EvaluationResults {
			results[awssdk.ToString(result.EvalActionName)] = result
		}
		if !out.IsTruncated || out.Marker == nil {
			return results, nil
		}
		in.Marker = out.Marker
	}
	return nil, errors.New("simulating the policies of " + principal + ": IAM did not finish its answer")
}

func (q question) entries() []iamtypes.ContextEntry {
	var entries []iamtypes.ContextEntry
	for _, key := range slices.Sorted(maps.Keys(q.context)) {
		kind := iamtypes.ContextKeyTypeEnumString
		if key == "aws:TagKeys" {
			kind = iamtypes.ContextKeyTypeEnumStringList
		}
		entries = append(entries, iamtypes.ContextEntry{ContextKeyName: &key, ContextKeyType: kind, ContextKeyValues: q.context[key]})
	}
	return entries
}

// reasonOf returns why a request is denied, "" if it is allowed. A result about a named resource has
// the decision twice.
func reasonOf(result iamtypes.EvaluationResult) string {
	decision, bounded := result.EvalDecision, result.PermissionsBoundaryDecisionDetail
	for _, specific := range result.ResourceSpecificResults {
		if specific.EvalResourceDecision != iamtypes.PolicyEvaluationDecisionTypeAllowed {
			decision = specific.EvalResourceDecision
		}
		if specific.PermissionsBoundaryDecisionDetail != nil {
			bounded = specific.PermissionsBoundaryDecisionDetail
		}
	}
	switch {
	case decision == iamtypes.PolicyEvaluationDecisionTypeAllowed:
		return ""
	case decision == iamtypes.PolicyEvaluationDecisionTypeExplicitDeny:
		return "a policy denies it explicitly"
	case result.OrganizationsDecisionDetail != nil && !result.OrganizationsDecisionDetail.AllowedByOrganizations:
		return "the organization's policies do not allow it"
	case bounded != nil && !bounded.AllowedByPermissionsBoundary:
		return "the permissions boundary does not allow it"
	default:
		return "no policy allows it"
	}
}
