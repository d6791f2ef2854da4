package aws

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
)

const (
	issuer         = "https://oidc.eks.us-east-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
	serviceAccount = "system:serviceaccount:slipway-system:slipway"
)

// podIdentity is a pod with IAM roles for service accounts (IRSA): the kubelet keeps a token in a file, and
// the environment names the file and the role.
type podIdentity struct {
	sim   *awssim.Simulator
	clock *simclock.Clock
	key   *ecdsa.PrivateKey
	file  string
}

// newPodIdentity returns a pod of the controller in a cluster that the account trusts. The
// simulated clock is an hour behind, so that the SDK, which uses the real one, takes every session
// for expired and reads the token again.
func newPodIdentity(t *testing.T) *podIdentity {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Now().Add(-2*time.Hour).Truncate(time.Second), awssim.Options{})
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &podIdentity{sim: sim, clock: clock, key: key, file: filepath.Join(t.TempDir(), "token")}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	keys := fmt.Sprintf(`{"keys":[{"kty":"EC","kid":"1","crv":"P-256","x":%q,"y":%q}]}`, encode(point[1:33]), encode(point[33:]))
	if err := sim.SetIssuer(awssim.Issuer{URL: issuer, KeySet: json.RawMessage(keys)}); err != nil {
		t.Fatal(err)
	}
	p.prepareAccount(t, url)
	for name, value := range map[string]string{
		// The SDK resolves credentials before it reads AWS_ENDPOINT_URL, so STS is named by itself.
		"AWS_ENDPOINT_URL": url, "AWS_ENDPOINT_URL_STS": url, "AWS_REGION": "us-east-1", "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/slipway", "AWS_WEB_IDENTITY_TOKEN_FILE": p.file,
		"AWS_ROLE_SESSION_NAME": "controller", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return p
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// prepareAccount creates what an operator creates for IRSA: the provider, and a role for the controller that
// may describe images and nothing else, and another role for another service account.
func (p *podIdentity) prepareAccount(t *testing.T, url string) {
	t.Helper()
	client := iam.New(iam.Options{
		Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("AKID123456789012", "secret", ""),
	})
	provider, err := client.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{Url: awssdk.String(issuer), ClientIDList: []string{"sts.amazonaws.com"}})
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(issuer, "https://")
	for role, account := range map[string]string{"slipway": serviceAccount, "other": "system:serviceaccount:default:other"} {
		trust := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":%q},"Action":"sts:AssumeRoleWithWebIdentity",`+
			`"Condition":{"StringEquals":{"%s:sub":%q,"%s:aud":"sts.amazonaws.com"}}}]}`, *provider.OpenIDConnectProviderArn, host, account, host)
		if _, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &role, AssumeRolePolicyDocument: &trust}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{
		RoleName: awssdk.String("slipway"), PolicyName: awssdk.String("images"),
		PolicyDocument: awssdk.String(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"ec2:DescribeImages","Resource":"*"}}`),
	}); err != nil {
		t.Fatal(err)
	}
}

// project writes a token into the file, as the kubelet does.
func (p *podIdentity) project(t *testing.T, subject string, lifetime time.Duration) {
	t.Helper()
	now := p.clock.Now()
	claims, err := json.Marshal(map[string]any{"iss": issuer, "sub": subject, "aud": []string{"sts.amazonaws.com"}, "iat": now.Unix(), "exp": now.Add(lifetime).Unix()})
	if err != nil {
		t.Fatal(err)
	}
	text := encode([]byte(`{"alg":"ES256","kid":"1"}`)) + "." + encode(claims)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	if err := os.WriteFile(p.file, []byte(text+"."+encode(signature)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// clients returns the clients of the controller itself, built from the environment as cmd/slipway
// builds them.
func (p *podIdentity) clients(t *testing.T) *Clients {
	t.Helper()
	base, err := LoadBase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clients, err := NewSessions(base, WithBackoff(time.Millisecond)).For(t.Context(), Principal{}, "")
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func describeImages(t *testing.T, clients *Clients) error {
	t.Helper()
	_, err := clients.EC2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{})
	return err
}

// TestRoleOfServiceAccount holds that the controller acts as the role of its service account, with the role's
// permissions and no others, and goes on with the token that the kubelet rotates in.
func TestRoleOfServiceAccount(t *testing.T) {
	p := newPodIdentity(t)
	p.project(t, serviceAccount, time.Hour)
	clients := p.clients(t)
	if err := describeImages(t, clients); err != nil {
		t.Fatalf("what the role may do answers %v", err)
	}
	calls := p.sim.Calls()
	if last := calls[len(calls)-1]; last.Action != "DescribeImages" || last.Principal != "arn:aws:sts::123456789012:assumed-role/slipway/controller" {
		t.Errorf("%s was called as %s", last.Action, last.Principal)
	}
	if _, err := clients.EC2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); Code(err) != "UnauthorizedOperation" || !strings.Contains(err.Error(), "assumed-role/slipway/controller") {
		t.Errorf("what the role may not do answers %v", err)
	}
	// The sum stays below the two hours that the simulated clock is behind.
	p.clock.Step(61 * time.Minute)
	if err := describeImages(t, clients); Code(err) != "ExpiredTokenException" || !IsAccessDenied(err) {
		t.Errorf("with a token that has expired the answer is %v", err)
	}
	p.project(t, serviceAccount, time.Hour)
	if err := describeImages(t, clients); err != nil {
		t.Errorf("with a token that was rotated the answer is %v", err)
	}
}

// TestRoleOfAnotherServiceAccount holds that the controller does not get the role of another service account,
// and that the error names the cause.
func TestRoleOfAnotherServiceAccount(t *testing.T) {
	p := newPodIdentity(t)
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/other")
	p.project(t, serviceAccount, time.Hour)
	err := describeImages(t, p.clients(t))
	if Code(err) != "AccessDenied" || !strings.Contains(err.Error(), "Not authorized to perform sts:AssumeRoleWithWebIdentity") {
		t.Errorf("the answer is %v", err)
	}
	if fate := FateOf(err); fate.Kind != WaitForUser || !IsAccessDenied(err) {
		t.Errorf("a refused role is handled as %+v, want one that waits for a user", fate)
	}
	for _, call := range p.sim.Calls() {
		if call.Action == "DescribeImages" {
			t.Errorf("a call was sent without credentials: %+v", call)
		}
	}
}

// TestIdentityProviderFailures holds how the controller handles tokens that AWS cannot check.
func TestIdentityProviderFailures(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1") // the SDK rests in real time before it asks STS again
	p := newPodIdentity(t)
	p.project(t, serviceAccount, time.Hour)
	for _, row := range []struct {
		reason string
		issuer awssim.Issuer
		code   string
		fate   FateKind
	}{
		{"the issuer cannot be reached", awssim.Issuer{URL: issuer, Unreachable: true}, "IDPCommunicationError", RetrySoon},
		{"the issuer has other keys", awssim.Issuer{URL: issuer, KeySet: otherKeys(t)}, "InvalidIdentityToken", WaitForUser},
	} {
		if err := p.sim.SetIssuer(row.issuer); err != nil {
			t.Fatal(err)
		}
		if err := describeImages(t, p.clients(t)); Code(err) != row.code || FateOf(err).Kind != row.fate {
			t.Errorf("%s: the answer is %v, handled as %+v", row.reason, err, FateOf(err))
		}
	}
}

func otherKeys(t *testing.T) json.RawMessage {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(fmt.Sprintf(`{"keys":[{"kty":"EC","kid":"1","crv":"P-256","x":%q,"y":%q}]}`, encode(point[1:33]), encode(point[33:])))
}
