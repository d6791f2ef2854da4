package managertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/lab"
)

const (
	// webIdentityRate keeps the session of the role valid for as long as the test runs: the SDK
	// renews it by the clock of the machine, and it expires in AWS after a simulated hour.
	webIdentityRate = 10
	managerRole     = "slipway"
	managerAccount  = "slipway-manager"
	stsAudience     = "sts.amazonaws.com"
)

// tryWebIdentity runs the program as a pod of EKS with an IAM role for its service account: the API
// server issues the token, AWS trusts the API server, and the role has the policies that slipway
// prints.
func tryWebIdentity(t *testing.T, path string) {
	t.Helper()
	w := newWorldAt(t, lab.ClusterOptions{}, webIdentityRate)
	roleARN := w.trustServiceAccount()
	file := filepath.Join(t.TempDir(), "token")
	token, err := w.Lab.Management.ServiceAccountToken(w.Context(), w.Namespace, managerAccount, stsAudience)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	process, output := command(t, path, []string{
		"KUBECONFIG=" + w.Lab.Kubeconfig(), "AWS_ENDPOINT_URL=" + w.Cloud.Endpoint, "AWS_ENDPOINT_URL_STS=" + w.Cloud.Endpoint,
		"AWS_REGION=" + w.Cloud.Region(), "AWS_ROLE_ARN=" + roleARN, "AWS_WEB_IDENTITY_TOKEN_FILE=" + file,
	}, "--namespace", w.Namespace, "--health-addr", w.freeAddress(), "--observe-interval-in-motion", "500ms", "-v", "1")
	ended := start(t, process)
	w.ApplyFile(example)
	w.Eventually("the pool has its nodes", func() error { return errors.Join(w.settled(poolName), running(ended, output)) })
	w.allCallsBy("assumed-role/" + managerRole + "/")
	if text := output.String(); strings.Contains(text, "AccessDenied") || strings.Contains(text, "UnauthorizedOperation") {
		t.Errorf("AWS refused a call:\n%s", text)
	}
}

// trustServiceAccount creates what an operator creates for a role of a service account, and returns
// the ARN of the role.
func (w *world) trustServiceAccount() string {
	w.Helper()
	issuer := w.publishIssuer()
	client := iam.NewFromConfig(w.ManagerEnv().AWSConfig())
	provider, err := client.CreateOpenIDConnectProvider(w.Context(), &iam.CreateOpenIDConnectProviderInput{Url: &issuer, ClientIDList: []string{stsAudience}})
	if err != nil {
		w.Fatal(err)
	}
	host := strings.TrimPrefix(issuer, "https://")
	trust := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Federated":%q},"Action":"sts:AssumeRoleWithWebIdentity",`+
		`"Condition":{"StringEquals":{"%s:sub":"system:serviceaccount:%s:%s","%s:aud":%q}}}]}`, *provider.OpenIDConnectProviderArn, host, w.Namespace, managerAccount, host, stsAudience)
	role, err := client.CreateRole(w.Context(), &iam.CreateRoleInput{RoleName: aws.String(managerRole), AssumeRolePolicyDocument: &trust})
	if err != nil {
		w.Fatal(err)
	}
	scope := permissions.Scope{Partition: "aws", Account: w.Account, Region: w.Cloud.Region(), Clusters: []string{"capa"}}
	documents, err := permissions.Policies(scope, permissions.Defaults(scope)...)
	if err != nil {
		w.Fatal(err)
	}
	for i, document := range documents {
		policy, err := client.CreatePolicy(w.Context(), &iam.CreatePolicyInput{PolicyName: aws.String(fmt.Sprintf("slipway-%d", i)), PolicyDocument: aws.String(document.String())})
		if err != nil {
			w.Fatal(err)
		}
		if _, err := client.AttachRolePolicy(w.Context(), &iam.AttachRolePolicyInput{RoleName: aws.String(managerRole), PolicyArn: policy.Policy.Arn}); err != nil {
			w.Fatal(err)
		}
	}
	return *role.Role.Arn
}

// publishIssuer has AWS know the keys by which the API server signs tokens of service accounts, and
// returns its issuer.
func (w *world) publishIssuer() string {
	w.Helper()
	clients, err := kubernetes.NewForConfig(w.Lab.RESTConfig())
	if err != nil {
		w.Fatal(err)
	}
	get := func(path string) []byte {
		answer, err := clients.Discovery().RESTClient().Get().AbsPath(path).DoRaw(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		return answer
	}
	var configuration struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(get("/.well-known/openid-configuration"), &configuration); err != nil {
		w.Fatal(err)
	}
	if err := w.Cloud.AWS.SetIssuer(awssim.Issuer{URL: configuration.Issuer, KeySet: get("/openid/v1/jwks")}); err != nil {
		w.Fatal(err)
	}
	return configuration.Issuer
}

// allCallsBy fails unless all calls that create a pool's resources came from a principal whose ARN
// has some words, and there were some.
func (w *world) allCallsBy(words string) {
	w.Helper()
	created := map[string]bool{}
	for _, call := range w.Cloud.AWS.Calls() {
		if call.Service != "ec2" && call.Service != "autoscaling" {
			continue
		}
		if !strings.Contains(call.Principal, words) {
			w.Errorf("%s was called by %s", call.Action, call.Principal)
		}
		created[call.Action] = true
	}
	for _, action := range []string{"CreateLaunchTemplate", "CreateAutoScalingGroup"} {
		if !created[action] {
			w.Errorf("%s was not called", action)
		}
	}
}
