package awssim_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-project/slipway/awssim"
)

const (
	issuerURL = "https://oidc.eks.us-east-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
	subject   = "system:serviceaccount:slipway-system:slipway"
)

var providerARN = "arn:aws:iam::" + account + ":oidc-provider/" + strings.TrimPrefix(issuerURL, "https://")

// cluster is a Kubernetes cluster that issues tokens of service accounts.
type cluster struct {
	key *ecdsa.PrivateKey
	id  string // of the key
}

func newCluster(t testing.TB, id string) *cluster {
	t.Helper()
	return &cluster{key: must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), id: id}
}

// keySet is the JSON Web Key Set of the cluster.
func (c *cluster) keySet(t testing.TB) json.RawMessage {
	t.Helper()
	point := must[[]byte](t)(c.key.PublicKey.Bytes())
	encode := base64.RawURLEncoding.EncodeToString
	return json.RawMessage(fmt.Sprintf(`{"keys":[{"kty":"EC","use":"sig","kid":%q,"crv":"P-256","x":%q,"y":%q}]}`, c.id, encode(point[1:33]), encode(point[33:])))
}

// token returns a token as a kubelet projects it for IRSA, with some claims replaced; nil removes one.
func (c *cluster) token(t testing.TB, replaced map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": issuerURL, "sub": subject, "aud": []string{"sts.amazonaws.com"}, "iat": start.Unix(), "nbf": start.Unix(), "exp": start.Add(24 * time.Hour).Unix(),
	}
	maps.Copy(claims, replaced)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	body := must[[]byte](t)(json.Marshal(claims))
	encode := base64.RawURLEncoding.EncodeToString
	text := encode(fmt.Appendf(nil, `{"alg":"ES256","kid":%q}`, c.id)) + "." + encode(body)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, c.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// trusting is a trust policy for pods of the cluster, with a condition.
func trusting(condition string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":"` + providerARN + `"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":` + condition + `}]}`
}

func onClaims(operator, sub, aud string) string {
	host := strings.TrimPrefix(issuerURL, "https://")
	return fmt.Sprintf(`{%q:{%q:%q,%q:%q}}`, operator, host+":sub", sub, host+":aud", aud)
}

// federated is an account that trusts a cluster, with a role for each trust policy.
func federated(t *testing.T, roles map[string]string) (*endpoint, *cluster) {
	t.Helper()
	e, c := serve(t, awssim.Options{}), newCluster(t, "key-1")
	if err := e.SetIssuer(awssim.Issuer{URL: issuerURL, KeySet: c.keySet(t)}); err != nil {
		t.Fatal(err)
	}
	admin := iam.NewFromConfig(e.config(key))
	must[*iam.CreateOpenIDConnectProviderOutput](t)(admin.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{
		Url: aws.String(issuerURL), ClientIDList: []string{"sts.amazonaws.com"},
	}))
	for name, policy := range roles {
		must[*iam.CreateRoleOutput](t)(admin.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &policy}))
	}
	return e, c
}

func TestAssumeRoleWithWebIdentity(t *testing.T) {
	t.Parallel()
	e, c := federated(t, map[string]string{
		"exact":      trusting(onClaims("StringEquals", subject, "sts.amazonaws.com")),
		"pattern":    trusting(onClaims("StringLike", "system:serviceaccount:slipway-*:*", "sts.amazonaws.com")),
		"wildcard":   trusting(onClaims("StringEquals", "system:serviceaccount:slipway-*:*", "sts.amazonaws.com")),
		"other":      trusting(onClaims("StringEquals", "system:serviceaccount:default:other", "sts.amazonaws.com")),
		"audience":   trusting(onClaims("StringEquals", subject, "another.audience")),
		"any":        trusting(`{}`),
		"by-account": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"` + account + `"},"Action":"sts:AssumeRole"}]}`,
		"action":     strings.Replace(trusting(`{}`), "AssumeRoleWithWebIdentity", "AssumeRole", 1),
		"provider":   strings.Replace(trusting(`{}`), "oidc-provider/oidc.eks", "oidc-provider/other", 1),
		"denied": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":"` + providerARN + `"},"Action":"sts:*"},` +
			`{"Effect":"Deny","Principal":{"Federated":"` + providerARN + `"},"Action":"sts:*","Condition":` + onClaims("StringLike", "*:slipway", "*") + `}]}`,
	})
	stranger := newCluster(t, "key-1")
	valid := c.token(t, nil)
	rows := []struct {
		reason, role, token string
		seconds             int32
		want, says          string
	}{
		{reason: "the service account by name", role: "exact", token: valid},
		{reason: "the service account by pattern", role: "pattern", token: valid},
		{reason: "an audience that is no list", role: "exact", token: c.token(t, map[string]any{"aud": "sts.amazonaws.com"})},
		{reason: "no condition", role: "any", token: c.token(t, map[string]any{"sub": "system:serviceaccount:a:b"})},
		{reason: "a pattern where a name is meant", role: "wildcard", token: valid, want: "AccessDenied", says: "Not authorized to perform sts:AssumeRoleWithWebIdentity"},
		{reason: "another service account is trusted", role: "other", token: valid, want: "AccessDenied", says: "Not authorized to perform sts:AssumeRoleWithWebIdentity"},
		{reason: "the token is another service account's", role: "exact", token: c.token(t, map[string]any{"sub": subject + "2"}), want: "AccessDenied"},
		{reason: "another audience is trusted", role: "audience", token: valid, want: "AccessDenied"},
		{reason: "an account is trusted", role: "by-account", token: valid, want: "AccessDenied"},
		{reason: "another action is allowed", role: "action", token: valid, want: "AccessDenied"},
		{reason: "another provider is trusted", role: "provider", token: valid, want: "AccessDenied"},
		{reason: "a denial wins", role: "denied", token: valid, want: "AccessDenied"},
		{reason: "a denial for another subject", role: "denied", token: c.token(t, map[string]any{"sub": "system:serviceaccount:a:b"})},
		{reason: "there is no such role", role: "none", token: valid, want: "AccessDenied"},
		{reason: "no JSON Web Token", role: "exact", token: "token", want: "InvalidIdentityToken", says: "not a valid JWT"},
		{reason: "an issuer that is no provider", role: "exact", token: c.token(t, map[string]any{"iss": "https://example.com"}), want: "InvalidIdentityToken", says: "No OpenIDConnect provider found in your account for https://example.com"},
		{reason: "an issuer without its scheme", role: "exact", token: c.token(t, map[string]any{"iss": strings.TrimPrefix(issuerURL, "https://")}), want: "InvalidIdentityToken"},
		{reason: "an audience that is no client id", role: "any", token: c.token(t, map[string]any{"aud": "vault"}), want: "InvalidIdentityToken", says: "Incorrect token audience"},
		{reason: "an authorized party that is no client id", role: "any", token: c.token(t, map[string]any{"azp": "vault"}), want: "InvalidIdentityToken", says: "Incorrect token audience"},
		{reason: "no subject", role: "any", token: c.token(t, map[string]any{"sub": nil}), want: "InvalidIdentityToken", says: "Missing a required claim: sub"},
		{reason: "no expiry", role: "any", token: c.token(t, map[string]any{"exp": nil}), want: "InvalidIdentityToken", says: "Missing a required claim: exp"},
		{reason: "an expired token", role: "exact", token: c.token(t, map[string]any{"exp": start.Unix()}), want: "ExpiredTokenException", says: "Token expired"},
		{reason: "a token of tomorrow", role: "exact", token: c.token(t, map[string]any{"nbf": start.Unix() + 60}), want: "InvalidIdentityToken"},
		{reason: "a forged token", role: "exact", token: stranger.token(t, nil), want: "InvalidIdentityToken"},
		{reason: "a key that is not published", role: "exact", token: newCluster(t, "key-2").token(t, nil), want: "InvalidIdentityToken", says: "Couldn't retrieve verification key"},
		{reason: "more time than the role gives", role: "exact", token: valid, seconds: 7200, want: "ValidationError"},
	}
	anonymous := e.config("")
	anonymous.Credentials = nil
	client := sts.NewFromConfig(anonymous)
	for _, row := range rows {
		in := &sts.AssumeRoleWithWebIdentityInput{RoleArn: aws.String("arn:aws:iam::" + account + ":role/" + row.role), RoleSessionName: aws.String("pod"), WebIdentityToken: &row.token}
		if row.seconds != 0 {
			in.DurationSeconds = &row.seconds
		}
		if _, err := client.AssumeRoleWithWebIdentity(t.Context(), in); code(err) != row.want || row.says != "" && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: got %v, want %q %q", row.reason, err, row.want, row.says)
		}
	}
	if err := e.SetIssuer(awssim.Issuer{URL: issuerURL, Unreachable: true}); err != nil {
		t.Fatal(err)
	}
	_, err := client.AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: aws.String("arn:aws:iam::" + account + ":role/exact"), RoleSessionName: aws.String("pod"), WebIdentityToken: &valid,
	})
	if code(err) != "IDPCommunicationError" {
		t.Errorf("an issuer that cannot be reached answers %v", err)
	}
}

// TestWebIdentitySessions holds what a session of a pod is and may do, and when it expires.
func TestWebIdentitySessions(t *testing.T) {
	t.Parallel()
	e, c := federated(t, map[string]string{"pods": trusting(onClaims("StringEquals", subject, "sts.amazonaws.com"))})
	admin := iam.NewFromConfig(e.config(key))
	must[*iam.PutRolePolicyOutput](t)(admin.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{
		RoleName: aws.String("pods"), PolicyName: aws.String("images"), PolicyDocument: aws.String(allowing("ec2:DescribeImages")),
	}))
	anonymous := e.config("")
	anonymous.Credentials = nil
	out := must[*sts.AssumeRoleWithWebIdentityOutput](t)(sts.NewFromConfig(anonymous).AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: aws.String("arn:aws:iam::" + account + ":role/pods"), RoleSessionName: aws.String("pod"), WebIdentityToken: aws.String(c.token(t, nil)),
	}))
	if *out.SubjectFromWebIdentityToken != subject || *out.Audience != "sts.amazonaws.com" || *out.Provider != providerARN || !out.Credentials.Expiration.Equal(start.Add(time.Hour)) {
		t.Errorf("the answer is %+v", out)
	}
	calls := e.Calls()
	if last := calls[len(calls)-1]; last.Action != "AssumeRoleWithWebIdentity" || last.Account != account || last.Principal != "anonymous" || last.Status != 200 {
		t.Errorf("the call log has %+v", last)
	}
	config := e.config("")
	config.Credentials = credentials.NewStaticCredentialsProvider(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
	who := must[*sts.GetCallerIdentityOutput](t)(sts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil))
	if *who.Arn != "arn:aws:sts::"+account+":assumed-role/pods/pod" || *who.Account != account {
		t.Errorf("the session is %s of %s", *who.Arn, *who.Account)
	}
	describe := func() error {
		_, err := ec2.NewFromConfig(config).DescribeImages(t.Context(), &ec2.DescribeImagesInput{})
		return err
	}
	if err := describe(); err != nil {
		t.Errorf("what the role's inline policy allows answers %v", err)
	}
	if _, err := ec2.NewFromConfig(config).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); code(err) != "UnauthorizedOperation" {
		t.Errorf("what it does not allow answers %v", err)
	}
	e.Clock().Step(time.Hour)
	if err := describe(); code(err) != "RequestExpired" && code(err) != "ExpiredToken" {
		t.Errorf("after an hour the session answers %v", err)
	}
}

// TestUnsignedRequests holds that an action that needs a signature is refused without one.
func TestUnsignedRequests(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	config := e.config("")
	config.Credentials = aws.AnonymousCredentials{}
	_, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil)
	if code(err) != "MissingAuthenticationToken" {
		t.Errorf("GetCallerIdentity without a signature answers %v", err)
	}
	var response *smithyhttp.ResponseError
	_, err = sts.NewFromConfig(config).AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: aws.String("nodes"), RoleSessionName: aws.String("pod"), WebIdentityToken: aws.String("token"),
	})
	if code(err) != "ValidationError" || !errors.As(err, &response) || response.HTTPStatusCode() != 400 {
		t.Errorf("an ARN that is none answers %v", err)
	}
}
