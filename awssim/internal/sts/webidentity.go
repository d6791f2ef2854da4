package sts

import (
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/oidc"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// invalidToken returns the error for a token that is not what the role's identity provider issues.
func invalidToken(format string, args ...any) error {
	return sim.Errorf("InvalidIdentityToken", format, args...)
}

// assumeRoleWithWebIdentity follows AWS: API_AssumeRoleWithWebIdentity. The caller is the bearer of
// the token. Like AssumeRole it does not distinguish a role that does not exist from one that does
// not trust the caller.
func assumeRoleWithWebIdentity(c *sim.Call, in *sts.AssumeRoleWithWebIdentityInput) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	arn := roleARNs.FindStringSubmatch(str(in.RoleArn))
	if arn == nil {
		return nil, sim.Errorf("ValidationError", "Request ARN is invalid")
	}
	session := str(in.RoleSessionName)
	if in.ProviderId != nil { // for OAuth 2.0 access tokens, which are not simulated
		return nil, sim.Errorf("ValidationError", "The simulated STS does not support ProviderId.")
	}
	if err := checkSessionPolicies(in.Policy, in.PolicyArns); err != nil {
		return nil, err
	}
	account := c.Kernel.Account(arn[1])
	token, provider, err := checkToken(c, account, str(in.WebIdentityToken))
	if err != nil {
		return nil, err
	}
	role, ok := iam.FindRole(account, arn[3])
	if !ok || role.ARN != *in.RoleArn || !role.TrustsProvider(provider.ARN, contextOf(token, provider, session)) {
		return nil, sim.Errorf("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity").WithStatus(403)
	}
	duration, err := sessionDuration(c, in.DurationSeconds, role)
	if err != nil {
		return nil, err
	}
	user, credentials := newSession(c, account, role, session, duration)
	audience := audiencesOf(token)[0]
	return &sts.AssumeRoleWithWebIdentityOutput{
		AssumedRoleUser: user, Credentials: credentials, Audience: &audience, Provider: &provider.ARN, SubjectFromWebIdentityToken: &token.Subject,
	}, nil
}

// checkToken checks a token, which has at most 20,000 characters, against the identity providers of
// the role's account, at the simulated time. The order of the checks is an inference.
func checkToken(c *sim.Call, account *sim.Account, text string) (*oidc.Token, iam.OpenIDConnectProvider, error) {
	none := iam.OpenIDConnectProvider{}
	token, err := oidc.Parse(text)
	if err != nil {
		return nil, none, invalidToken("The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	}
	if missing := missingClaim(token); missing != "" { // https://github.com/aws/aws-sdk-ruby/issues/2698
		return nil, none, invalidToken("Missing a required claim: %s", missing)
	}
	provider, ok := iam.FindOpenIDConnectProvider(account, token.Issuer)
	if !ok { // https://github.com/aws-actions/configure-aws-credentials/issues/280
		return nil, none, invalidToken("No OpenIDConnect provider found in your account for %s", token.Issuer)
	}
	if !slices.ContainsFunc(audiencesOf(token), func(audience string) bool { return slices.Contains(provider.ClientIDs, audience) }) {
		// https://github.com/awslabs/amazon-eks-irsa-cfn/pull/18
		return nil, none, invalidToken("Incorrect token audience")
	}
	if err := checkDates(c, token); err != nil {
		return nil, none, err
	}
	return token, provider, checkSignature(c, token)
}

// missingClaim returns the first claim that AWS requires and the token lacks (AWS: IAM User Guide,
// "Create an OpenID Connect (OIDC) identity provider in IAM").
func missingClaim(token *oidc.Token) string {
	for _, claim := range []struct {
		name    string
		present bool
	}{
		{"iss", token.Issuer != ""}, {"sub", token.Subject != ""}, {"aud", len(token.Audience) > 0}, {"exp", !token.Expires.IsZero()}, {"iat", !token.Issued.IsZero()},
	} {
		if !claim.present {
			return claim.name
		}
	}
	return ""
}

// audiencesOf returns what counts as the audience: the authorized party, if there is one (AWS: IAM User
// Guide, "Available keys for AWS OIDC federation").
func audiencesOf(token *oidc.Token) []string {
	if token.Party != "" {
		return []string{token.Party}
	}
	return token.Audience
}

func checkDates(c *sim.Call, token *oidc.Token) error {
	// https://github.com/awslabs/aws-orbit-workbench/issues/771 has the words, a missing space included
	if !c.Now.Before(token.Expires.Time) {
		return sim.Errorf("ExpiredTokenException", "Token expired: current date/time %d must be before the expiration date/time%d",
			c.Now.Unix(), token.Expires.Unix())
	}
	if token.NotBefore.After(c.Now) { // RFC 7519, 4.1.5; the words are an inference
		return invalidToken("Token is not valid before %d, current date/time is %d", token.NotBefore.Unix(), c.Now.Unix())
	}
	return nil
}

func checkSignature(c *sim.Call, token *oidc.Token) error {
	issuer, known := issuersOf(c.Kernel).keys[token.Issuer]
	switch {
	case known && issuer.unreachable: // AWS: API_AssumeRoleWithWebIdentity, Errors
		return sim.Errorf("IDPCommunicationError", "The request could not be fulfilled because the identity provider (IDP) that was asked to verify the "+
			"incoming identity token could not be reached.")
	case !known:
		return errNoKey
	}
	err := token.Verify(issuer.keys)
	switch {
	case errors.Is(err, oidc.ErrNoKey):
		return errNoKey
	case err != nil: // the words are an inference
		return invalidToken("The web identity token could not be validated: %v", err)
	}
	return nil
}

// errNoKey is AWS's answer if the issuer publishes no key for the token (AWS re:Post Knowledge Center,
// iam-sts-invalididentitytoken).
var errNoKey = invalidToken("Couldn't retrieve verification key from your identity provider, please reference AssumeRoleWithWebIdentity " +
	"documentation for requirements")

// contextOf returns the condition keys of a token (AWS: IAM User Guide, "Available keys for AWS OIDC
// federation").
func contextOf(token *oidc.Token, provider iam.OpenIDConnectProvider, session string) iampolicy.Context {
	prefix := strings.TrimPrefix(token.Issuer, "https://") + ":"
	context := iampolicy.Context{
		prefix + "sub": {token.Subject}, prefix + "aud": audiencesOf(token),
		"aws:FederatedProvider": {provider.ARN}, "sts:RoleSessionName": {session},
	}
	if token.Party != "" {
		context[prefix+"oaud"] = token.Audience
	}
	return context
}
