package aws

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
	"k8s.io/utils/clock"
)

const (
	// defaultSessionName is the session name of roles whose identity gives none.
	defaultSessionName = "slipway"
	// renewBefore is the remaining lifetime at which credentials are renewed. No call takes longer
	// than this, and a short outage of STS goes unnoticed.
	renewBefore = 5 * time.Minute
	// refusedFor is the time for which a refusal by STS is remembered, so that a thousand pools
	// with one identity ask as often as one pool.
	refusedFor = 30 * time.Second
)

// assumer contains the STS calls that assuming a role needs.
type assumer interface {
	AssumeRole(context.Context, *sts.AssumeRoleInput, ...func(*sts.Options)) (*sts.AssumeRoleOutput, error)
}

// assumedRole provides the credentials of a role, renewed before they expire. It does what the
// SDK's own provider and cache do, by our clock and with a memory for refusals.
type assumedRole struct {
	sts   assumer
	role  Role
	clock clock.PassiveClock
	// over is true once AWS said that a session is over. It is outside of the lock, which is held while
	// the role is assumed.
	over atomic.Bool

	mu          sync.Mutex
	credentials awssdk.Credentials
	refusal     error
	refusedAt   time.Time
}

// Retrieve implements aws.CredentialsProvider.
func (a *assumedRole) Retrieve(ctx context.Context) (awssdk.Credentials, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	if a.over.Swap(false) {
		a.credentials = awssdk.Credentials{}
	}
	if a.credentials.HasKeys() && now.Before(a.credentials.Expires.Add(-renewBefore)) {
		return a.credentials, nil
	}
	if a.refusal != nil && now.Before(a.refusedAt.Add(refusedFor)) {
		return a.orRefused(now)
	}
	output, err := a.sts.AssumeRole(ctx, a.input())
	if err != nil {
		a.refusal, a.refusedAt = nil, now
		err = &CredentialsError{Role: a.role.ARN, Err: err}
		if FateOf(err).Kind == WaitForUser {
			a.refusal = err
			return a.orRefused(now)
		}
		if a.valid(now) {
			return a.credentials, nil
		}
		return awssdk.Credentials{}, err
	}
	a.refusal = nil
	a.credentials = awssdk.Credentials{
		AccessKeyID:     awssdk.ToString(output.Credentials.AccessKeyId),
		SecretAccessKey: awssdk.ToString(output.Credentials.SecretAccessKey),
		SessionToken:    awssdk.ToString(output.Credentials.SessionToken),
		CanExpire:       true,
		Expires:         awssdk.ToTime(output.Credentials.Expiration),
		AccountID:       Principal{Roles: []Role{a.role}}.Account(),
		Source:          "Slipway",
	}
	return a.credentials, nil
}

// forget has the next call assume the role again. AWS may say that a session has expired that is still
// good by our clock: a machine that slept, or whose clock was set back, counts its time differently.
func (a *assumedRole) forget() { a.over.Store(true) }

func (a *assumedRole) valid(now time.Time) bool {
	return a.credentials.HasKeys() && now.Before(a.credentials.Expires)
}

// orRefused returns the credentials of a session that has not expired yet, or the refusal.
func (a *assumedRole) orRefused(now time.Time) (awssdk.Credentials, error) {
	if a.valid(now) {
		return a.credentials, nil
	}
	return awssdk.Credentials{}, a.refusal
}

func (a *assumedRole) input() *sts.AssumeRoleInput {
	name := a.role.SessionName
	if name == "" {
		name = defaultSessionName
	}
	input := &sts.AssumeRoleInput{RoleArn: &a.role.ARN, RoleSessionName: &name}
	if a.role.ExternalID != "" {
		input.ExternalId = &a.role.ExternalID
	}
	if a.role.InlinePolicy != "" {
		input.Policy = &a.role.InlinePolicy
	}
	for i := range a.role.PolicyARNs {
		input.PolicyArns = append(input.PolicyArns, ststypes.PolicyDescriptorType{Arn: &a.role.PolicyARNs[i]})
	}
	if seconds := a.role.Duration / time.Second; seconds > 0 {
		input.DurationSeconds = awssdk.Int32(int32(seconds)) // #nosec G115 -- AWS allows 43,200 at most
	}
	return input
}

// CredentialsError says that the credentials of an identity cannot be had, or are refused.
type CredentialsError struct {
	// Role that could not be assumed; empty for an access key.
	Role string
	Err  error
}

// Error implements error.
func (e *CredentialsError) Error() string {
	if e.Role == "" {
		return fmt.Sprintf("checking the access key: %v", e.Err)
	}
	return fmt.Sprintf("assuming role %s: %v", e.Role, e.Err)
}

// Unwrap returns what STS, or the way there, said.
func (e *CredentialsError) Unwrap() error { return e.Err }

// Advice returns what an operator can do about it.
func (e *CredentialsError) Advice() string {
	if e.Role == "" {
		return "store a valid access key in the Secret of the identity"
	}
	return "allow the caller in the trust policy of the role, and check roleARN, externalID, and " +
		"durationSeconds of the identity"
}
