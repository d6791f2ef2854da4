package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/internal/permissions/simulator"
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
		found.Principal = simulator.PrincipalOf(ctx, client, account.Caller)
	}
	principal, err := arn.Parse(found.Principal)
	if err != nil {
		found.Principal = ""
		return found, nil //nolint:nilerr // the finding says that it is neither a user nor a role
	}
	if caller, err := arn.Parse(account.Caller); err == nil && caller.AccountID != principal.AccountID {
		found.Foreign = principal.AccountID
		return found, nil
	}
	scope := identity.Scope
	scope.Partition = cmp.Or(scope.Partition, principal.Partition)
	scope.Account = cmp.Or(scope.Account, principal.AccountID)
	scope.Region = cmp.Or(scope.Region, account.Region)
	examples, err := permissions.Examples(scope, identity.Features...)
	if err != nil {
		return found, err
	}
	found.Requests, found.Denied, err = simulator.Simulate(ctx, client, found.Principal, examples)
	if err != nil {
		if found.Missing = aws.IsNotFound(err); !found.Missing {
			found.Unread = refusal(err)
		}
	}
	return found, nil
}
