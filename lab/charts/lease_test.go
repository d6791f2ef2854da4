package charts_test

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slipway-project/slipway/internal/manager"
)

// tryLeases installs and upgrades releases in one namespace, and compares their leases as the Deployment
// and the Role in the cluster have them.
func tryLeases(t *testing.T, c *cluster) {
	inner := *c
	inner.T = t
	c = &inner
	const (
		earlier = "crds: {install: false}\nleaderElection: {id: slipway-leader-election}\n" // what earlier charts gave all releases
		current = "crds: {install: false}\n"
	)
	refused := func(reason string, err error) {
		t.Helper()
		const want = "has the leader election lease slipway-leader-election, so only one of them would work: set leaderElection.id to another name"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", reason, err, want)
		}
	}
	succeeds := func(reason string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
	}

	succeeds("a release with a name of its own by an earlier chart", c.release("blue", earlier, true))
	succeeds("its upgrade", c.release("blue", current, false))
	c.wantLease("blue", "slipway-leader-election")
	refused("a release that would wait for it", c.release("slipway-manager", current, true))

	succeeds("a second release with a name of its own", c.release("green", current, true))
	c.wantLease("green", "slipway-leader-election-green")
	succeeds("its upgrade", c.release("green", current, false))
	c.wantLease("green", "slipway-leader-election-green")
	refused("an upgrade to the lease of another release", c.release("green", earlier, false))

	// Of two releases that earlier charts gave one lease, the one that is upgraded first gets another.
	role := &rbacv1.Role{}
	succeeds("reading a Role", c.Get(t.Context(), client.ObjectKey{Namespace: releaseNamespace, Name: "green-leader-election"}, role))
	role.Rules[1].ResourceNames = []string{"slipway-leader-election"}
	succeeds("writing a Role as an earlier chart", c.Update(t.Context(), role))
	succeeds("an upgrade of the first", c.release("blue", current, false))
	c.wantLease("blue", "slipway-leader-election-blue")
	succeeds("an upgrade of the second", c.release("green", current, false))
	c.wantLease("green", "slipway-leader-election")
	for _, name := range []string{"blue", "green"} {
		c.uninstallRelease(name)
	}

	succeeds("a release with the default name", c.release("slipway-manager", current, true))
	c.wantLease("slipway-manager", "slipway-leader-election")
	succeeds("its upgrade", c.release("slipway-manager", current, false))
	c.wantLease("slipway-manager", "slipway-leader-election")
	c.uninstallRelease("slipway-manager")
}

// release installs or upgrades a release of the manager's chart, named as its objects are.
func (c *cluster) release(name, values string, first bool) error {
	c.Helper()
	parsed := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &parsed); err != nil {
		c.Fatal(err)
	}
	parsed["fullnameOverride"] = name
	if first {
		install := action.NewInstall(c.helm)
		install.ReleaseName, install.Namespace, install.WaitStrategy = name, releaseNamespace, kube.HookOnlyStrategy
		_, err := install.RunWithContext(c.Context(), load(c.T, "slipway"), parsed)
		return err
	}
	upgrade := action.NewUpgrade(c.helm)
	upgrade.Namespace, upgrade.WaitStrategy = releaseNamespace, kube.HookOnlyStrategy
	_, err := upgrade.RunWithContext(c.Context(), name, load(c.T, "slipway"), parsed)
	return err
}

func (c *cluster) uninstallRelease(name string) {
	c.Helper()
	uninstall := action.NewUninstall(c.helm)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	if _, err := uninstall.Run(name); err != nil {
		c.Fatalf("helm uninstall %s: %v", name, err)
	}
}

// wantLease holds that the pods of a release take a lease, and that they are permitted that one alone.
func (c *cluster) wantLease(name, want string) {
	c.Helper()
	deployment, role := &appsv1.Deployment{}, &rbacv1.Role{}
	if err := c.Get(c.Context(), client.ObjectKey{Namespace: releaseNamespace, Name: name}, deployment); err != nil {
		c.Fatal(err)
	}
	if err := c.Get(c.Context(), client.ObjectKey{Namespace: releaseNamespace, Name: name + "-leader-election"}, role); err != nil {
		c.Fatal(err)
	}
	got := manager.LeaderElectionID
	for _, argument := range deployment.Spec.Template.Spec.Containers[0].Args {
		if id, found := strings.CutPrefix(argument, "--leader-election-id="); found {
			got = id
		}
	}
	var permitted []string
	for _, rule := range role.Rules {
		permitted = append(permitted, rule.ResourceNames...)
	}
	if got != want || !slices.Equal(permitted, []string{want}) {
		c.Errorf("release %s has the lease %s and permission for %q, want %s", name, got, permitted, want)
	}
}
