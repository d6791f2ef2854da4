package preflight

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-project/slipway/internal/permissions/simulator"
)

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const hookHost = "slipway-webhook.slipway-system.svc"

// authority signs serving certificates.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return authority{key: key, certificate: certificate}
}

func (a authority) bundle() []byte { return encode(a.certificate.Raw) }

func encode(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}

// serving returns a certificate for a host, signed by the authority, with the authority behind it.
func (a authority) serving(t *testing.T, host string, from, to time.Time) []byte {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{host}, NotBefore: from, NotAfter: to, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, a.certificate, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return append(encode(encoded), a.bundle()...)
}

// sound returns what is observed where nothing is wrong.
func sound(t *testing.T) Observed {
	t.Helper()
	signer := newAuthority(t, "authority")
	definitions := map[string]Definition{}
	for _, name := range slices.Concat(clusterAPIDefinitions, sharedDefinitions, ownDefinitions) {
		definitions[name] = Definition{Served: []string{"v1beta1", "v1beta2"}, Storage: "v1beta2", Fields: []string{"launchConfigRef"}}
	}
	return Observed{
		Now: now, Namespace: "slipway-system",
		Cluster: Cluster{
			Version: "v1.36.3-eks-1a2b3c4", Definitions: definitions,
			ClusterAPI: []Deployment{{Namespace: "capi-system", Name: "capi-controller-manager", Replicas: 1, Args: []string{"--feature-gates=MachinePool=true,ClusterTopology=false"}}},
			CAPA:       []Deployment{capaWith("--feature-gates=MachinePool=false,MachinePoolMachines=false")},
			Manager:    &Deployment{Namespace: "slipway-system", Name: "slipway-manager", Replicas: 1},
			Hooks:      []Hook{{Configuration: WebhookConfiguration, Name: "warning", Host: hookHost, Ignored: true, CABundle: signer.bundle()}},
			Certificates: []Certificate{{
				Secret: "slipway-system/slipway-webhook-certificate", PEM: signer.serving(t, hookHost, now.Add(-time.Hour), now.Add(500*time.Hour)),
			}},
		},
		Account: Account{
			Region: "eu-central-1", Caller: "arn:aws:iam::111122223333:user/admin",
			Permissions: Permissions{Principal: "arn:aws:iam::111122223333:user/admin", Command: "slipway iam policy", Requests: 60},
			Quota:       Quota{Groups: 10, MaxGroups: 500},
		},
	}
}

func capaWith(args ...string) Deployment {
	return Deployment{Namespace: "capa-system", Name: "capa-controller-manager", Replicas: 1, Args: args}
}

// notInstalled removes Slipway from what is observed.
func notInstalled(o *Observed) {
	for _, name := range slices.Concat(sharedDefinitions, ownDefinitions) {
		delete(o.Cluster.Definitions, name)
	}
	o.Cluster.Manager, o.Cluster.Hooks, o.Cluster.Certificates = nil, nil, nil
}

// ofCAPA gives the shared definitions CAPA's schema.
func ofCAPA(o *Observed) {
	for _, name := range sharedDefinitions {
		o.Cluster.Definitions[name] = Definition{Served: []string{"v1beta1", "v1beta2"}, Storage: "v1beta2", Fields: []string{"awsLaunchTemplate", "minSize"}}
	}
}

// row is a change of a sound cluster or account, and the finding that follows. Checks that are not
// named keep their result.
type row struct {
	reason string
	change func(*testing.T, *Observed)
	check  string
	result Result
	// message, nodes, and remedy are parts of the finding's texts.
	message, nodes, remedy string
}

func gates(args ...string) func(*testing.T, *Observed) {
	return func(_ *testing.T, o *Observed) { o.Cluster.CAPA = []Deployment{capaWith(args...)} }
}

var (
	denied = &Unread{Denied: true, Text: "it is forbidden"}
	broken = &Unread{Text: "the connection broke"}
)

func clusterRows() []row {
	return []row{
		{"the oldest supported version", func(_ *testing.T, o *Observed) { o.Cluster.Version = "v1.34.0" }, KubernetesVersion, OK, "1.34.0", "", ""},
		{"a version before it", func(_ *testing.T, o *Observed) { o.Cluster.Version = "v1.33.9" }, KubernetesVersion, Failed, "runs Kubernetes 1.33.9", "keep running", "1.34 or later"},
		{"a version that was not tested", func(_ *testing.T, o *Observed) { o.Cluster.Version = "v1.37.0" }, KubernetesVersion, Warning, "1.34 to 1.36", "not tested", "newer release"},
		{"a version that is none", func(_ *testing.T, o *Observed) { o.Cluster.Version = "\x1b[31m" }, KubernetesVersion, Warning, `"\x1b[31m"`, "", ""},
		{"the version may not be read", func(_ *testing.T, o *Observed) { o.Cluster.Version, o.Cluster.VersionUnread = "", denied }, KubernetesVersion, Warning, "forbidden", "not affected", "--skip"},
		{"credentials that the API server refuses", func(_ *testing.T, o *Observed) {
			o.Cluster = Cluster{Unreachable: &Unread{Text: "Unauthorized", Err: apierrors.NewUnauthorized("expired")}}
		}, KubernetesVersion, Failed, "did not accept the credentials: Unauthorized", "keep running", "kubeconfig"},
		{"other checks with these credentials", func(_ *testing.T, o *Observed) {
			o.Cluster = Cluster{Unreachable: &Unread{Text: "Unauthorized", Err: apierrors.NewUnauthorized("expired")}}
		}, ClusterAPI, Skipped, "did not accept the credentials", "", ""},
		{"definitions may not be read", func(_ *testing.T, o *Observed) { o.Cluster.DefinitionsUnread = denied }, ClusterAPI, Warning, "forbidden", "not affected", "--skip"},
		{"definitions cannot be read", func(_ *testing.T, o *Observed) { o.Cluster.DefinitionsUnread = broken }, SlipwayCRDs, Failed, "broke", "not affected", "again"},
		{"no MachinePool", func(_ *testing.T, o *Observed) { delete(o.Cluster.Definitions, "machinepools.cluster.x-k8s.io") }, ClusterAPI, Failed, "machinepools.cluster.x-k8s.io", "does not start", "clusterctl init"},
		{"an old Cluster API", func(_ *testing.T, o *Observed) {
			o.Cluster.Definitions["machines.cluster.x-k8s.io"] = Definition{Served: []string{"v1beta1"}, Storage: "v1beta1"}
		}, ClusterAPI, Failed, "v1beta2 of machines.cluster.x-k8s.io", "does not start", "upgrade"},
		{"Cluster API without machine pools", func(_ *testing.T, o *Observed) {
			o.Cluster.ClusterAPI[0].Args = []string{"--feature-gates=MachinePool=false"}
		}, ClusterAPI, Failed, "capi-system/capi-controller-manager", "refuses", "EXP_MACHINE_POOL=true"},
		{"Deployments may not be read", func(_ *testing.T, o *Observed) { o.Cluster.DeploymentsUnread = denied }, CAPAControllers, Warning, "Deployments", "", ""},
		{"no CAPA", func(_ *testing.T, o *Observed) { o.Cluster.CAPA = nil }, CAPAControllers, Skipped, "not installed", "", ""},
		{"CAPA's definitions, and no Deployment", func(_ *testing.T, o *Observed) {
			o.Cluster.CAPA, o.Cluster.Definitions[capaDefinitions[0]] = nil, Definition{}
		}, CAPAControllers, Warning, "CAPA's definitions exist (awsclusters.infrastructure.cluster.x-k8s.io)", "replaces nodes", "set the label"},
		{"CAPA without arguments", gates(), CAPAControllers, Failed, "capa-system/capa-controller-manager", "replaces nodes", "MachinePool=false"},
		{"CAPA's controllers are on", gates("--leader-elect", "--feature-gates=EKS=true,MachinePool=true"), CAPAControllers, Failed, "are on", "replaces nodes", "beside-capa"},
		{"the last word on a gate counts", gates("--feature-gates=MachinePool=true", "--feature-gates=MachinePool=false"), CAPAControllers, OK, "are off", "", ""},
		{"another gate in the last flag", gates("--feature-gates=MachinePool=false", "--feature-gates=EKS=true"), CAPAControllers, OK, "are off", "", ""},
		{"the value in an argument of its own", gates("-feature-gates", " MachinePool = False "), CAPAControllers, OK, "are off", "", ""},
		{"all beta gates off", gates("--feature-gates=AllBeta=false"), CAPAControllers, OK, "are off", "", ""},
		{"all beta gates off but this one", gates("--feature-gates=AllBeta=false,MachinePool=true"), CAPAControllers, Failed, "are on", "", ""},
		{"a variable of clusterctl that nothing replaced", gates("--feature-gates=MachinePool=${EXP_MACHINE_POOL:=false}"), CAPAControllers, Warning, "neither true nor false", "replaces nodes", ""},
		{"a gate without a value", gates("--feature-gates=MachinePool"), CAPAControllers, Warning, "neither", "", ""},
		{"a flag without gates at the end", gates("--feature-gates"), CAPAControllers, Failed, "are on", "", ""},
		{"words that look like the flag", gates("feature-gates", "MachinePool=false"), CAPAControllers, Failed, "are on", "", ""},
		{"arguments that are garbage", gates("", "=", ",", "--feature-gates=,,=,\x00", strings.Repeat("x", 1<<20)), CAPAControllers, Failed, "are on", "", ""},
		{"CAPA is scaled to zero", func(_ *testing.T, o *Observed) {
			o.Cluster.CAPA = []Deployment{{Namespace: "capa-system", Name: "capa-controller-manager"}}
		}, CAPAControllers, OK, "are off", "", ""},
		{"very many Deployments", func(_ *testing.T, o *Observed) { o.Cluster.CAPA = slices.Repeat([]Deployment{capaWith()}, 1000) }, CAPAControllers, Failed, "and 980 more", "", ""},
		{"webhooks may not be read", func(_ *testing.T, o *Observed) { o.Cluster.HooksUnread = denied }, CAPAWebhooks, Warning, "Webhook configurations", "", ""},
		{"CAPA's webhooks for pools", func(_ *testing.T, o *Observed) { o.Cluster.CAPAHooks = []string{"capa/validation.awsmachinepool"} }, CAPAWebhooks, Failed, "validation.awsmachinepool", "refuses every edit", "beside-capa"},
	}
}

func definitionRows() []row {
	return []row{
		{"before the installation", func(_ *testing.T, o *Observed) { notInstalled(o) }, SlipwayCRDs, Skipped, "not installed", "", ""},
		{"before the installation beside CAPA", func(_ *testing.T, o *Observed) { notInstalled(o); ofCAPA(o) }, SlipwayCRDs, Skipped, "replaces CAPA's definitions of awsmachinepools", "", ""},
		{"CAPA's definitions after an upgrade of CAPA", func(_ *testing.T, o *Observed) { ofCAPA(o) }, SlipwayCRDs, Failed, "those of CAPA", "can replace nodes", "--force-conflicts"},
		{"a definition is missing", func(_ *testing.T, o *Observed) { delete(o.Cluster.Definitions, ownDefinitions[0]) }, SlipwayCRDs, Failed, "awslaunchconfigs", "does not start", "Do not delete"},
		{"only the manager is there", func(_ *testing.T, o *Observed) {
			manager := o.Cluster.Manager
			notInstalled(o)
			o.Cluster.Manager = manager
		}, SlipwayCRDs, Failed, "missing", "", ""},
		{"an older version is stored", func(_ *testing.T, o *Observed) {
			o.Cluster.Definitions[sharedDefinitions[0]] = Definition{Served: []string{"v1beta2"}, Storage: "v1beta1", Fields: []string{"launchConfigRef"}}
		}, SlipwayCRDs, Failed, "v1beta2 of awsmachinepools", "", ""},
		{"a definition of an earlier release", func(_ *testing.T, o *Observed) {
			o.Cluster.Definitions[sharedDefinitions[0]] = Definition{Served: []string{"v1beta2"}, Storage: "v1beta2", Fields: []string{"launchConfigRef"}, Lacking: []string{"spec.newest"}}
		}, SlipwayCRDs, Warning, "lack fields: spec.newest of awsmachinepools.", "can replace nodes", "upgrade Slipway"},
		{"the version is not served", func(_ *testing.T, o *Observed) {
			o.Cluster.Definitions[ownDefinitions[1]] = Definition{Served: []string{"v1beta1"}, Storage: "v1beta2"}
		}, SlipwayCRDs, Failed, "v1beta2 of awslaunchconfigtemplates", "", ""},
	}
}

// certified has the webhook served with a certificate that an authority signs.
func certified(host string, from, to time.Duration) func(*testing.T, *Observed) {
	return func(t *testing.T, o *Observed) {
		signer := newAuthority(t, "authority")
		o.Cluster.Hooks[0].CABundle = signer.bundle()
		o.Cluster.Certificates[0].PEM = signer.serving(t, host, now.Add(from), now.Add(to))
	}
}

// secondRelease adds a release in the same namespace, whose webhook has the same name and another host.
func secondRelease(to time.Duration) func(*testing.T, *Observed) {
	return func(t *testing.T, o *Observed) {
		signer := newAuthority(t, "second")
		const host = "second-webhook.slipway-system.svc"
		o.Cluster.Hooks = append(o.Cluster.Hooks, Hook{Configuration: "second", Name: o.Cluster.Hooks[0].Name, Namespace: "slipway-system", Host: host, Ignored: true, CABundle: signer.bundle()})
		o.Cluster.Certificates = append(o.Cluster.Certificates, Certificate{Secret: "slipway-system/second", PEM: signer.serving(t, host, now.Add(-time.Hour), now.Add(to-time.Hour))})
	}
}

func certificateRows() []row {
	return []row{
		{"before the installation", func(_ *testing.T, o *Observed) { notInstalled(o) }, WebhookCertificate, Skipped, "not installed", "", ""},
		{"an installation without a webhook", func(_ *testing.T, o *Observed) { o.Cluster.Hooks = nil }, WebhookCertificate, Skipped, "without its webhook", "", ""},
		{"webhooks may not be read", func(_ *testing.T, o *Observed) { o.Cluster.HooksUnread = denied }, WebhookCertificate, Warning, "forbidden", "", ""},
		{"no CA bundle yet", func(_ *testing.T, o *Observed) { o.Cluster.Hooks[0].CABundle = nil }, WebhookCertificate, Failed, "no CA bundle", "nodes are not affected", "cert-manager"},
		{"a CA bundle that is garbage", func(_ *testing.T, o *Observed) { o.Cluster.Hooks[0].CABundle = []byte("\x00") }, WebhookCertificate, Failed, "holds no certificate", "", ""},
		{"the Secret may not be read", func(_ *testing.T, o *Observed) { o.Cluster.Certificates[0].Unread = denied }, WebhookCertificate, Warning, "Secret", "", ""},
		{"the manager is in another namespace", func(_ *testing.T, o *Observed) { o.Cluster.Certificates = nil }, WebhookCertificate, Warning, "namespace slipway-system", "", "--namespace"},
		{"the Secret is missing", func(_ *testing.T, o *Observed) { o.Cluster.Certificates[0].Missing = true }, WebhookCertificate, Failed, "does not exist", "", ""},
		{"the Secret is empty", func(_ *testing.T, o *Observed) { o.Cluster.Certificates[0].PEM = nil }, WebhookCertificate, Failed, "no certificate in tls.crt", "", ""},
		{"an expired certificate", certified(hookHost, -time.Hour, -time.Minute), WebhookCertificate, Failed, "expired at 2026-11-01T11:59:00Z", "", ""},
		{"a certificate of the future", certified(hookHost, time.Hour, 2*time.Hour), WebhookCertificate, Failed, "not valid before", "", ""},
		{"a certificate that expires soon", certified(hookHost, -84*24*time.Hour, 6*24*time.Hour), WebhookCertificate, Warning, "overdue", "nodes are not affected", "cert-manager"},
		{"a certificate for a year that expires soon", certified(hookHost, -359*24*time.Hour, 6*24*time.Hour), WebhookCertificate, Warning, "overdue", "", ""},
		{"a certificate for a day that is renewed every 16 hours", certified(hookHost, -15*time.Hour, 9*time.Hour), WebhookCertificate, OK, "valid until", "", ""},
		{"a certificate for a day that was not renewed", certified(hookHost, -23*time.Hour, time.Hour), WebhookCertificate, Warning, "overdue", "", ""},
		{"Deployments may not be read", func(_ *testing.T, o *Observed) { o.Cluster.Certificates, o.Cluster.DeploymentsUnread = nil, denied }, WebhookCertificate, Warning, "Deployments could not be read", "", "--skip"},
		{"a release in another namespace", func(t *testing.T, o *Observed) {
			other := newAuthority(t, "other")
			o.Cluster.Hooks[0].Namespace = "slipway-system"
			o.Cluster.Hooks = append(o.Cluster.Hooks, Hook{Configuration: "other", Name: "warning", Namespace: "other", Host: "other-webhook.other.svc", CABundle: other.bundle()})
		}, WebhookCertificate, OK, "Webhooks of Slipway in other namespaces were not checked", "", ""},
		{"only a release in another namespace", func(_ *testing.T, o *Observed) {
			o.Cluster.Hooks[0].Namespace, o.Cluster.Certificates, o.Cluster.Manager = "other", nil, nil
		}, WebhookCertificate, Warning, "no Deployment of Slipway in namespace slipway-system", "", "--namespace"},
		{"two releases in a namespace", secondRelease(500 * time.Hour), WebhookCertificate, OK, now.Add(499 * time.Hour).Format(time.RFC3339), "", ""},
		{"two releases in a namespace, one with an expired certificate", secondRelease(0), WebhookCertificate, Failed, "slipway-system/second expired", "", ""},
		{"two releases in a namespace, and a webhook of neither", func(t *testing.T, o *Observed) {
			secondRelease(500*time.Hour)(t, o)
			o.Cluster.Hooks[1].Host = "third-webhook.slipway-system.svc"
		}, WebhookCertificate, Failed, "does not match", "", ""},
		{"a certificate for another host", certified("elsewhere.svc", -time.Hour, 500*time.Hour), WebhookCertificate, Failed, "does not match", "", ""},
		{"a certificate of another authority", func(t *testing.T, o *Observed) {
			o.Cluster.Hooks[0].CABundle = newAuthority(t, "another").bundle()
		}, WebhookCertificate, Failed, "does not match", "nodes are not affected", ""},
		{"a webhook that refuses edits while it cannot be called", func(_ *testing.T, o *Observed) { o.Cluster.Hooks[0].Ignored, o.Cluster.Hooks[0].CABundle = false, nil }, WebhookCertificate, Failed, "no CA bundle", "refuses edits", ""},
	}
}

func accountRows() []row {
	lacking := []simulator.Denial{{Action: "ec2:CreateLaunchTemplate", Statement: "MakeTemplates", Reason: "no policy allows it"}, {Action: "ec2:CreateTags", Statement: "AdoptTemplates1", Reason: "no policy allows it"}, {Action: "ec2:CreateTags", Statement: "AdoptTemplates2", Reason: "no policy allows it"}}
	return []row{
		{"an identity without a policy", func(_ *testing.T, o *Observed) { o.Account.Permissions.Denied = lacking }, IAMPermissions, Failed, "deny 3 of 60 requests that Slipway sends: ec2:CreateLaunchTemplate (statement MakeTemplates; no policy allows it), ec2:CreateTags (statement AdoptTemplates; no policy allows it).", "condition", "`slipway iam policy`"},
		{"the account itself", func(_ *testing.T, o *Observed) { o.Account.Permissions.Principal = "" }, IAMPermissions, Warning, "neither a user nor a role", "", "--role-arn"},
		{"a role of another account", func(_ *testing.T, o *Observed) { o.Account.Permissions.Foreign = "444455556666" }, IAMPermissions, Warning, "in account 444455556666", "not affected", "credentials of account 444455556666"},
		{"a role that does not exist", func(_ *testing.T, o *Observed) { o.Account.Permissions.Missing = true }, IAMPermissions, Failed, "does not know", "", "--role-arn"},
		{"the simulation is not allowed", func(_ *testing.T, o *Observed) { o.Account.Permissions.Unread = denied }, IAMPermissions, Warning, "forbidden", "not affected", "--feature preflight"},
		{"the simulation fails", func(_ *testing.T, o *Observed) { o.Account.Permissions.Unread = broken }, IAMPermissions, Failed, "broke", "", ""},
		{"many denied actions", func(_ *testing.T, o *Observed) {
			for i := range 100 {
				o.Account.Permissions.Denied = append(o.Account.Permissions.Denied, simulator.Denial{Action: fmt.Sprint("ec2:Action", i), Statement: "Look"})
			}
		}, IAMPermissions, Failed, "and 80 more", "", ""},
		{"the quota is used up", func(_ *testing.T, o *Observed) { o.Account.Quota.Groups = 500 }, AutoScalingQuota, Failed, "500 of 500", "no nodes", "quota"},
		{"the quota is nearly used up", func(_ *testing.T, o *Observed) { o.Account.Quota.Groups = 450 }, AutoScalingQuota, Warning, "450 of 500", "", ""},
		{"a quota with room", func(_ *testing.T, o *Observed) { o.Account.Quota.Groups = 449 }, AutoScalingQuota, OK, "449 of 500", "", ""},
		{"the quota may not be read", func(_ *testing.T, o *Observed) { o.Account.Quota.Unread = denied }, AutoScalingQuota, Warning, "forbidden", "", "--feature preflight"},
		{"the quota cannot be read", func(_ *testing.T, o *Observed) { o.Account.Quota.Unread = broken }, AutoScalingQuota, Failed, "broke", "", ""},
	}
}

// TestDecide changes one thing of a sound cluster and account at a time.
func TestDecide(t *testing.T) {
	t.Parallel()
	for _, row := range slices.Concat(clusterRows(), definitionRows(), certificateRows(), accountRows()) {
		t.Run(row.check+"/"+row.reason, func(t *testing.T) {
			t.Parallel()
			observed := sound(t)
			row.change(t, &observed)
			report := Decide(observed, nil)
			found := report.Findings[slices.Index(Names(), row.check)]
			if found.Name != row.check || found.Result != row.result {
				t.Errorf("the finding is %+v, want %s", found, row.result)
			}
			for _, part := range []struct{ text, want string }{{found.Message, row.message}, {found.Nodes, row.nodes}, {found.Remedy, row.remedy}} {
				if !strings.Contains(part.text, part.want) {
					t.Errorf("%q lacks %q", part.text, part.want)
				}
			}
			if problem := found.Result == Warning || found.Result == Failed; problem != (found.Nodes != "") || problem != (found.Remedy != "") {
				t.Errorf("the finding has nodes %q and remedy %q", found.Nodes, found.Remedy)
			}
		})
	}
}

// results returns the results of a report, by check.
func results(report Report) map[string]Result {
	found := map[string]Result{}
	for _, finding := range report.Findings {
		found[finding.Name] = finding.Result
	}
	return found
}

// TestReport holds which checks depend on others, and what all findings together result in.
func TestReport(t *testing.T) {
	t.Parallel()
	all := func(result Result, others map[string]Result) map[string]Result {
		want := map[string]Result{}
		for _, name := range Names() {
			want[name] = result
		}
		for name, result := range others {
			want[name] = result
		}
		return want
	}
	for _, row := range []struct {
		reason   string
		change   func(*Observed)
		skip     []string
		want     map[string]Result
		result   Result
		failures int
	}{
		{"nothing is wrong", func(*Observed) {}, nil, all(OK, nil), OK, 0},
		{"everything is skipped", func(*Observed) {}, Names(), all(Skipped, nil), OK, 0},
		{"a problem is skipped", func(o *Observed) { o.Cluster.CAPA = []Deployment{capaWith()} }, []string{CAPAControllers}, all(OK, map[string]Result{CAPAControllers: Skipped}), OK, 0},
		{"a warning", func(o *Observed) { o.Account.Quota.Groups = 499 }, nil, all(OK, map[string]Result{AutoScalingQuota: Warning}), Warning, 0},
		{"a failure and a warning", func(o *Observed) { o.Account.Quota.Groups, o.Cluster.CAPA = 499, []Deployment{capaWith()} }, nil, all(OK, map[string]Result{AutoScalingQuota: Warning, CAPAControllers: Failed}), Failed, 1},
		{"an API server that does not answer", func(o *Observed) { o.Cluster = Cluster{Unreachable: broken} }, nil, all(Skipped, map[string]Result{
			KubernetesVersion: Failed, AWSCredentials: OK, IAMPermissions: OK, AutoScalingQuota: OK,
		}), Failed, 1},
		{"credentials that AWS refuses", func(o *Observed) { o.Account = Account{Region: "eu-central-1", Unreachable: denied} }, nil, all(OK, map[string]Result{
			AWSCredentials: Failed, IAMPermissions: Skipped, AutoScalingQuota: Skipped,
		}), Failed, 1},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			observed := sound(t)
			row.change(&observed)
			report := Decide(observed, row.skip)
			if diff := cmp.Diff(row.want, results(report)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if report.Result != row.result || report.Failures() != row.failures {
				t.Errorf("the report is %s with %d failures, want %s with %d", report.Result, report.Failures(), row.result, row.failures)
			}
		})
	}
}

// TestNeeds holds that nothing is read for checks that are skipped.
func TestNeeds(t *testing.T) {
	t.Parallel()
	ofAWS := []string{AWSCredentials, IAMPermissions, AutoScalingQuota}
	if NeedsAccount(ofAWS) || !NeedsCluster(ofAWS) || !NeedsAccount(ofAWS[:2]) || NeedsCluster(Names()) {
		t.Error("what is skipped is read, or what is not skipped is not")
	}
}
