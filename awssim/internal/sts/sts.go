// Package sts owns the simulated Security Token Service: who the caller is, and temporary
// credentials for a role. Credentials expire on the simulated clock.
package sts

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Register registers the handlers.
func Register(reg *sim.Registry) {
	sim.Handle(reg, "sts", "GetCallerIdentity", getCallerIdentity)
	sim.Handle(reg, "sts", "AssumeRole", assumeRole)
	sim.Handle(reg, "sts", "AssumeRoleWithWebIdentity", assumeRoleWithWebIdentity)
	sim.Handle(reg, "sts", "GetAccessKeyInfo", getAccessKeyInfo)
	registerAuthorization(reg)
}

func getCallerIdentity(c *sim.Call, _ *sts.GetCallerIdentityInput) (*sts.GetCallerIdentityOutput, error) {
	user := c.AccessKey
	if _, session, found := strings.Cut(c.Principal, ":assumed-role/"); found {
		name, sessionName, _ := strings.Cut(session, "/")
		if role, ok := iam.FindRole(c.Account, name); ok {
			user = role.ID + ":" + sessionName
		}
	}
	return &sts.GetCallerIdentityOutput{Account: &c.Account.ID, Arn: &c.Principal, UserId: &user}, nil
}

func getAccessKeyInfo(c *sim.Call, in *sts.GetAccessKeyInfoInput) (*sts.GetAccessKeyInfoOutput, error) {
	account := c.Kernel.Callers.AccountOf(*in.AccessKeyId)
	return &sts.GetAccessKeyInfoOutput{Account: &account}, nil
}

var roleARNs = regexp.MustCompile(`^arn:aws[a-z-]*:iam::(\d{12}):role(/(?:[!-~]+/)?)([\w+=,.@-]{1,64})$`)

// assumeRole follows AWS: AssumeRole. A role that does not exist and one that does not trust the
// caller give the same answer, so that callers do not learn which roles exist.
func assumeRole(c *sim.Call, in *sts.AssumeRoleInput) (*sts.AssumeRoleOutput, error) {
	arn := roleARNs.FindStringSubmatch(str(in.RoleArn))
	if arn == nil {
		return nil, sim.Errorf("ValidationError", "%s is invalid", str(in.RoleArn))
	}
	session := str(in.RoleSessionName)
	for name, set := range map[string]bool{
		"SerialNumber": in.SerialNumber != nil, "TokenCode": in.TokenCode != nil,
		"ProvidedContexts": len(in.ProvidedContexts) > 0, "MinimumSessionTokenSize": in.MinimumSessionTokenSize != nil,
	} {
		if set {
			return nil, sim.Errorf("ValidationError", "The simulated STS does not support %s.", name)
		}
	}
	if err := checkSessionPolicies(in.Policy, in.PolicyArns); err != nil {
		return nil, err
	}
	account := c.Kernel.Account(arn[1])
	role, ok := iam.FindRole(account, arn[3])
	if !ok || role.ARN != *in.RoleArn || !role.Trusts(c.Principal, c.Account.ID, str(in.ExternalId)) {
		return nil, sim.Errorf("AccessDenied", "User: %s is not authorized to perform: sts:AssumeRole on resource: %s",
			c.Principal, *in.RoleArn).WithStatus(403)
	}
	duration, err := sessionDuration(c, in.DurationSeconds, role)
	if err != nil {
		return nil, err
	}
	user, credentials := newSession(c, account, role, session, duration)
	return &sts.AssumeRoleOutput{AssumedRoleUser: user, Credentials: credentials, SourceIdentity: in.SourceIdentity}, nil
}

// checkSessionPolicies holds them to AWS's bounds (AWS: API_AssumeRole, Policy and PolicyArns).
// Their content is ignored. The wording is inference.
func checkSessionPolicies(inline *string, arns []types.PolicyDescriptorType) error {
	length := 0
	if inline != nil {
		length = len(*inline)
		if !json.Valid([]byte(*inline)) || !strings.HasPrefix(strings.TrimSpace(*inline), "{") {
			return sim.Errorf("MalformedPolicyDocument", "This policy contains invalid Json")
		}
	}
	if len(arns) > 10 {
		return sim.Errorf("ValidationError", "1 validation error detected: Value at 'policyArns' failed to satisfy constraint: Member must have "+
			"length less than or equal to 10")
	}
	for _, policy := range arns {
		if !strings.HasPrefix(str(policy.Arn), "arn:") {
			return sim.Errorf("ValidationError", "ARN %s is not valid.", str(policy.Arn))
		}
		length += len(*policy.Arn)
	}
	if length > 2048 {
		return sim.Errorf("PackedPolicyTooLarge", "Policy documents exceed 2048 characters.")
	}
	return nil
}

// sessionDuration returns one hour unless asked for, from 15 minutes up to the role's maximum, or
// to one hour if the caller's credentials come from a role themselves (role chaining).
func sessionDuration(c *sim.Call, seconds *int32, role iam.Role) (time.Duration, error) {
	if seconds == nil {
		return time.Hour, nil
	}
	d := time.Duration(*seconds) * time.Second
	chained := strings.Contains(c.Principal, ":assumed-role/")
	switch {
	case chained && d > time.Hour:
		return 0, sim.Errorf("ValidationError", "The requested DurationSeconds exceeds the 1 hour session limit for roles "+
			"assumed by role chaining")
	case d > role.MaxSessionDuration:
		return 0, sim.Errorf("ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
	}
	return d, nil
}

// newSession creates credentials of a role.
func newSession(c *sim.Call, account *sim.Account, role iam.Role, name string, d time.Duration) (*types.AssumedRoleUser, *types.Credentials) {
	key := strings.ToUpper(c.Kernel.NewID("ASIA", 16))
	secret, token := c.Kernel.NewID("", 40), c.Kernel.NewID("", 128)
	arn := "arn:aws:sts::" + account.ID + ":assumed-role/" + role.Name + "/" + name
	expires := c.Now.Add(d)
	c.Kernel.Callers.AddSession(key, sim.Session{
		Account: account.ID, Principal: arn, SecretAccessKey: secret, SessionToken: token, Expires: expires,
	})
	id := role.ID + ":" + name
	return &types.AssumedRoleUser{Arn: &arn, AssumedRoleId: &id},
		&types.Credentials{AccessKeyId: &key, SecretAccessKey: &secret, SessionToken: &token, Expiration: &expires}
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
