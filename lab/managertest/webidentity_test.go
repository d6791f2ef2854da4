package managertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/lab"
)

const (
	// webIdentityRate keeps the session of the role valid for as long as the test runs: the SDK
	// renews it by the clock of the machine, and AWS ends it after a simulated hour.
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
	if err := os.WriteFile(file, []byte(w.serviceAccountToken()), 0o600); err != nil {
		t.Fatal(err)
	}
	process, output := command(t, path, []string{
		"KUBECONFIG=" + w.Lab.Kubeconfig(), "AWS_ENDPOINT_URL=" + w.Cloud.Endpoint, "AWS_ENDPOINT_URL_STS=" + w.Cloud.Endpoint,
		"AWS_REGION=" + w.Cloud.Region(), "AWS_ROLE_ARN=" + roleARN, "AWS_WEB_IDENTITY_TOKEN_FILE=" + file,
	}, "--namespace", w.Namespace, "--health-addr", w.freeAddress(), "--observe-interval-in-motion", "500ms", "-v", "1")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	t.Cleanup(func() { _ = process.Process.Kill() })
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
	get := func(path string) []byte {
		answer, err := w.kubernetes().Discovery().RESTClient().Get().AbsPath(path).DoRaw(w.Context())
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

// serviceAccountToken returns a token for AWS, as the kubelet projects it into the pod of the manager.
func (w *world) serviceAccountToken() string {
	w.Helper()
	accounts := w.kubernetes().CoreV1().ServiceAccounts(w.Namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: managerAccount}}
	if _, err := accounts.Create(w.Context(), account, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	lifetime := int64(24 * time.Hour / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{stsAudience}, ExpirationSeconds: &lifetime}}
	token, err := accounts.CreateToken(w.Context(), managerAccount, request, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return token.Status.Token
}

func (w *world) kubernetes() *kubernetes.Clientset {
	w.Helper()
	clients, err := kubernetes.NewForConfig(w.Lab.RESTConfig())
	if err != nil {
		w.Fatal(err)
	}
	return clients
}

// allCallsBy fails unless all calls that create what a pool has were made by a principal whose ARN
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
