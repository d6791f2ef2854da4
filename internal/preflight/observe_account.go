package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
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

// Identity selects whose permissions are checked, and which.
type Identity struct {
	// RoleARN is the role that is checked, the caller if empty.
	RoleARN  string
	Scope    permissions.Scope
	Features []permissions.Feature
	// Command is the command that prints the policies of the features.
	Command string
}

// ObserveAccount reads what the checks that are not skipped need from AWS. It fails if the scope does
// not bound the features.
func ObserveAccount(ctx context.Context, clients *aws.Clients, identity Identity, skip []string) (Account, error) {
	account := Account{Region: clients.Region}
	var err error
	if account.Caller, err = clients.CallerARN(ctx); err != nil {
		account.Unreachable = refusal(err)
		return account, nil
	}
	if !slices.Contains(skip, IAMPermissions) {
		if account.Permissions, err = observePermissions(ctx, clients.IAM, identity, account); err != nil {
			return account, err
		}
	}
	if !slices.Contains(skip, AutoScalingQuota) {
		account.Quota = observeQuota(ctx, clients.AutoScaling)
	}
	return account, nil
}

// refusal describes an error of AWS.
func refusal(err error) *Unread {
	return &Unread{Denied: aws.IsAccessDenied(err), Text: aws.UserMessage(err)}
}

func observeQuota(ctx context.Context, client *aws.AutoScaling) Quota {
	limits, err := client.DescribeAccountLimits(ctx, &autoscaling.DescribeAccountLimitsInput{})
	switch {
	case err != nil:
		return Quota{Unread: refusal(fmt.Errorf("describing the limits of the account: %w", err))}
	case limits.NumberOfAutoScalingGroups == nil || limits.MaxNumberOfAutoScalingGroups == nil:
		return Quota{Unread: &Unread{Text: "DescribeAccountLimits returned no numbers"}}
	}
	return Quota{Groups: *limits.NumberOfAutoScalingGroups, MaxGroups: *limits.MaxNumberOfAutoScalingGroups}
}

func observePermissions(ctx context.Context, client *aws.IAM, identity Identity, account Account) (Permissions, error) {
	found := Permissions{Command: identity.Command, Principal: identity.RoleARN}
	if found.Principal == "" {
		found.Principal = principalOf(ctx, client, account.Caller)
	}
	principal, err := arn.Parse(found.Principal)
	if err != nil {
		found.Principal = ""
		return found, nil //nolint:nilerr // the finding says that it is neither a user nor a role
	}
	scope := identity.Scope
	scope.Partition = cmp.Or(scope.Partition, principal.Partition)
	scope.Account = cmp.Or(scope.Account, principal.AccountID)
	scope.Region = cmp.Or(scope.Region, account.Region)
	examples, err := permissions.Examples(scope, identity.Features...)
	if err != nil {
		return found, err
	}
	for _, question := range questions(examples) {
		if err := question.ask(ctx, client, &found); err != nil {
			if found.Missing = aws.IsNotFound(err); !found.Missing {
				found.Unread = refusal(err)
			}
			return found, nil
		}
	}
	return found, nil
}

// principalOf returns the ARN of the user or role behind a caller, or "" if it is neither. The ARN of a
// session does not have the path of its role.
func principalOf(ctx context.Context, client *aws.IAM, caller string) string {
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

// ask adds the answer of IAM to what was found.
func (q question) ask(ctx context.Context, client *aws.IAM, found *Permissions) error {
	for actions := range slices.Chunk(slices.Sorted(maps.Keys(q.statements)), mostActions) {
		results, err := q.simulate(ctx, client, found.Principal, actions)
		if err != nil {
			return err
		}
		for _, action := range actions {
			result, answered := results[action]
			if !answered {
				return fmt.Errorf("simulating the policies of %s: IAM returned no decision about %s", found.Principal, action)
			}
			found.Requests++
			if reason := reasonOf(result); reason != "" {
				found.Denied = append(found.Denied, Denial{Action: action, Statement: q.statements[action], Reason: reason})
			}
		}
	}
	return nil
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
