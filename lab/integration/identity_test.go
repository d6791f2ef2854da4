package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	awsworld "github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/lab"
)

const (
	hubAccount, tenantAccount, strangerAccount = "222222222222", "333333333333", "444444444444"
	hubRole, tenantRole                        = "arn:aws:iam::" + hubAccount + ":role/hub", "arn:aws:iam::" + tenantAccount + ":role/tenant"
	externalID                                 = "agreed"
)

// newTenancy returns a world where any caller may become the hub, and only the hub, with an
// external ID, the tenant.
func newTenancy(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, options{roles: []awsworld.Role{
		{Name: "hub", TrustedPrincipals: []string{"*"}}, {Name: "tenant", TrustedPrincipals: []string{hubRole}, ExternalID: externalID},
	}})
}

// in is the world seen from another account.
func (w *world) in(account string) *world {
	env, other := *w.Env, *w
	env.Account, other.Env = account, &env
	return &other
}

// identityName is the test's own: identities have no namespace.
func (w *world) identityName(name string) string { return w.Namespace + "-" + name }

// haveIdentity creates an identity, and deletes it when the test finishes.
func (w *world) haveIdentity(object client.Object) {
	w.Helper()
	if err := w.Client.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

func here(w *world) *capav1.AllowedNamespaces {
	return &capav1.AllowedNamespaces{NamespaceList: []string{w.Namespace}}
}

// role creates the identity of a role.
func (w *world) role(name, arn, external string, allowed *capav1.AllowedNamespaces, source *capav1.AWSIdentityReference) {
	w.Helper()
	object := &capav1.AWSClusterRoleIdentity{ObjectMeta: metav1.ObjectMeta{Name: w.identityName(name)}}
	object.Spec.RoleArn, object.Spec.ExternalID, object.Spec.AllowedNamespaces, object.Spec.SourceIdentityRef = arn, external, allowed, source
	w.haveIdentity(object)
}

// tenant creates the chain from the manager by the hub to the tenant.
func (w *world) tenant(allowed *capav1.AllowedNamespaces) {
	w.Helper()
	w.role("hub", hubRole, "", here(w), &capav1.AWSIdentityReference{Kind: capav1.ControllerIdentityKind, Name: "default"})
	w.role("tenant", tenantRole, externalID, allowed, &capav1.AWSIdentityReference{Kind: capav1.ClusterRoleIdentityKind, Name: w.identityName("hub")})
}

// useIdentity has the cluster name an identity.
func (w *world) useIdentity(kind capav1.AWSIdentityKind, name string) {
	w.Helper()
	edited(w, &capav1.AWSCluster{}, "capa", func(cluster *capav1.AWSCluster) {
		cluster.Spec.IdentityRef = &capav1.AWSIdentityReference{Kind: kind, Name: w.identityName(name)}
	})
}

// haveTenantPool has a pool at rest in the tenant's account.
func (w *world) haveTenantPool(allowed *capav1.AllowedNamespaces) {
	w.Helper()
	w.tenant(allowed)
	w.useIdentity(capav1.ClusterRoleIdentityKind, "tenant")
	w.in(tenantAccount).havePool()
}

// editIdentity changes an identity as its owner would.
func editIdentity[T client.Object](w *world, object T, name string, edit func(T)) {
	w.Helper()
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: w.identityName(name)}, object); err != nil {
		w.Fatal(err)
	}
	before := object.DeepCopyObject().(client.Object)
	edit(object)
	if err := w.Client.Patch(w.Context(), object, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// outside are the manager's calls, other than to STS, in any account but one.
func (w *world) outside(account string) []string {
	var calls []string
	for _, call := range w.calls() {
		if call.Service != "sts" && call.Account != account {
			calls = append(calls, fmt.Sprintf("%s in %s", call.Action, call.Account))
		}
	}
	return calls
}

// untouched fails the test if the manager calls AWS while time goes by.
func (w *world) untouched(why string) {
	w.Helper()
	w.Cloud.AWS.ClearCalls()
	w.pass(15 * time.Minute)
	for _, call := range w.calls() {
		w.Errorf("%s: the manager called %s in %s", why, call.Action, call.Account)
	}
}

// TestRoleChain runs a pool in another account, by a role that is assumed with another role, for
// longer than a session lasts; and deletes it when the objects that say so are gone.
func TestRoleChain(t *testing.T) {
	t.Parallel()
	w := newTenancy(t)
	w.haveTenantPool(here(w))
	there := w.in(tenantAccount)
	if pool := w.mustPool(); pool.Annotations[ownership.AccountAnnotation] != tenantAccount || pool.Annotations[ownership.IdentityAnnotation] != "AWSClusterRoleIdentity/"+w.identityName("tenant") {
		t.Errorf("annotations are %v", pool.Annotations)
	}
	w.pass(2 * time.Hour)
	instances := there.running()
	there.editType("m6i.large")
	w.Eventually("the pool rolls", func() error { return there.replaced(instances, 2) })
	if len(instances) != 2 || len(w.running()) != 0 {
		t.Errorf("instances are %q there and %q here", instances, w.running())
	}
	// The manager, a new one, knows from the pool's annotations.
	w.stopManager()
	w.forceAway(&capav1.AWSCluster{}, "capa")
	w.forceAway(&clusterv1.Cluster{}, "capa")
	w.wipeStatus()
	w.startManager()
	w.remove(&infrav1.AWSMachinePool{}, poolName)
	w.Eventually("the pool is gone", func() error {
		if _, err := w.pool(); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
	if err := there.remains(); err != nil {
		t.Error(err)
	}
	if calls := w.outside(tenantAccount); len(calls) != 0 {
		t.Errorf("the manager called %q", calls)
	}
}

// TestForbiddenNamespace follows a pool whose namespace may not use its identity, then may, then no
// longer may.
func TestForbiddenNamespace(t *testing.T) {
	t.Parallel()
	w := newTenancy(t)
	there := w.in(tenantAccount)
	label := map[string]string{"tenant": w.Namespace}
	setLabel := func(labels map[string]string) {
		namespace := &corev1.Namespace{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: w.Namespace}, namespace); err != nil {
			t.Fatal(err)
		}
		before := namespace.DeepCopy()
		delete(namespace.Labels, "tenant")
		for key, value := range labels {
			namespace.Labels[key] = value
		}
		if err := w.Client.Patch(t.Context(), namespace, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	w.tenant(&capav1.AllowedNamespaces{Selector: metav1.LabelSelector{MatchLabels: label}})
	w.useIdentity(capav1.ClusterRoleIdentityKind, "tenant")
	w.applyExample()
	condition := w.awaitCondition(infrav1.ClusterInfrastructureReadyCondition, metav1.ConditionFalse, infrav1.IdentityNotAllowedReason)
	if !strings.Contains(condition.Message, "allowedNamespaces") {
		t.Errorf("the message is %q", condition.Message)
	}
	w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.IdentityNotAllowedReason)
	if calls := w.calls(); len(calls) != 0 {
		t.Errorf("AWS was called: %v", calls)
	}

	setLabel(label)
	w.Eventually("the pool has its two nodes, its namespace being allowed", func() error { return there.settled(2) })
	w.rest()

	setLabel(nil)
	w.awaitCondition(infrav1.ClusterInfrastructureReadyCondition, metav1.ConditionFalse, infrav1.IdentityNotAllowedReason)
	w.awaitConfigCondition(infrav1.ClusterInfrastructureReadyCondition, metav1.ConditionFalse, infrav1.IdentityNotAllowedReason)
	w.editType("m6i.large")
	w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.IdentityNotAllowedReason)
	w.Eventually("what was found for the edit is written", func() error {
		if pool := w.mustPool(); pool.Status.ObservedGeneration != pool.Generation {
			return fmt.Errorf("generation %d is observed of %d", pool.Status.ObservedGeneration, pool.Generation)
		}
		return nil
	})
	before := w.mustPool()
	w.untouched("the identity was withdrawn")
	// Each pass looks, and says what the one before said.
	if diff := cmp.Diff(before.Status, w.mustPool().Status); diff != "" {
		t.Errorf("the pool is written to while nothing happens (-before +after):\n%s", diff)
	}

	w.deletePool()
	w.awaitCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.IdentityNotAllowedReason)
	w.untouched("the identity was withdrawn from a pool that is deleted")
	if running := there.running(); len(running) != 2 {
		t.Errorf("instances are %q", running)
	}
	setLabel(label)
	w.Eventually("the objects are gone", w.gone)
	w.Eventually("AWS holds nothing of it", func() error { return there.remains() })
}

// TestSecretRotated changes the key of a static identity, as its owner should, and in ways that are
// mistakes.
func TestSecretRotated(t *testing.T) {
	t.Parallel()
	w := newTenancy(t)
	there := w.in(tenantAccount)
	oldKey, newKey := "AKIAOLD0"+tenantAccount, "AKIANEW0"+tenantAccount
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: identity.DefaultSecretNamespace}}
	if err := w.Client.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	secret := func() *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: identity.DefaultSecretNamespace, Name: w.identityName("keys")}}
	}
	setKey := func(key string) {
		object := secret()
		if err := client.IgnoreNotFound(w.Client.Delete(t.Context(), object)); err != nil {
			t.Fatal(err)
		}
		if key == "" {
			return
		}
		object = secret()
		object.StringData = map[string]string{"AccessKeyID": key, "SecretAccessKey": lab.SecretAccessKey}
		if err := w.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	static := &capav1.AWSClusterStaticIdentity{ObjectMeta: metav1.ObjectMeta{Name: w.identityName("keys")}}
	static.Spec.AllowedNamespaces, static.Spec.SecretRef = here(w), w.identityName("keys")
	w.haveIdentity(static)
	w.useIdentity(capav1.ClusterStaticIdentityKind, "keys")
	w.applyExample()
	w.awaitCondition(infrav1.ClusterInfrastructureReadyCondition, metav1.ConditionFalse, infrav1.IdentityNotFoundReason)
	setKey(oldKey)
	w.Eventually("the pool has its two nodes", func() error { return there.settled(2) })
	w.rest()

	by := func(key string) int {
		return len(slices.DeleteFunc(slices.Clone(w.Cloud.AWS.Calls()), func(call awssim.Call) bool { return !strings.HasSuffix(call.Principal, key) }))
	}
	setKey(newKey)
	w.Eventually("the new key is used", func() error {
		if by(newKey) == 0 {
			return fmt.Errorf("it is not")
		}
		return there.settled(2)
	})
	w.pass(5 * time.Minute) // until the Secret has been polled
	// Its owner takes the old one away.
	if _, err := w.Cloud.AWS.AddFault(awssim.Fault{Principal: oldKey, Code: "AuthFailure", Status: 401}); err != nil {
		t.Fatal(err)
	}
	w.Cloud.AWS.ClearCalls()
	instances := there.running()
	w.editType("m6i.large")
	w.Eventually("the pool rolls by the new key", func() error { return there.replaced(instances, 2) })
	w.pass(10 * time.Minute)
	if calls := by(oldKey); calls != 0 {
		t.Errorf("the old key was used %d times", calls)
	}

	// A key of another account is a mistake: everything would be created a second time there.
	setKey("AKIANEW0" + strangerAccount)
	condition := w.awaitCondition(infrav1.ClusterInfrastructureReadyCondition, metav1.ConditionFalse, infrav1.IdentityInOtherAccountReason)
	if !strings.Contains(condition.Message, strangerAccount) || !strings.Contains(condition.Message, tenantAccount) {
		t.Errorf("the message is %q", condition.Message)
	}
	w.awaitConfigCondition(infrav1.ClusterInfrastructureReadyCondition, metav1.ConditionFalse, infrav1.IdentityInOtherAccountReason)
	w.untouched("the key is of another account")
	w.deletePool()
	w.awaitCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.IdentityInOtherAccountReason)
	setKey(newKey)
	w.Eventually("the objects are gone", w.gone)
	w.Eventually("AWS holds nothing of it", func() error { return there.remains() })
	if err := w.in(strangerAccount).remains(); err != nil {
		t.Error(err)
	}
}

// TestIdentityGoneBeforeItsPool deletes a pool whose identity was deleted first. It waits for
// another one of the account.
func TestIdentityGoneBeforeItsPool(t *testing.T) {
	t.Parallel()
	w := newTenancy(t)
	there := w.in(tenantAccount)
	w.haveTenantPool(here(w))
	if err := w.Client.Delete(t.Context(), &capav1.AWSClusterRoleIdentity{ObjectMeta: metav1.ObjectMeta{Name: w.identityName("tenant")}}); err != nil {
		t.Fatal(err)
	}
	w.awaitCondition(infrav1.ClusterInfrastructureReadyCondition, metav1.ConditionFalse, infrav1.IdentityNotFoundReason)
	w.forceAway(&capav1.AWSCluster{}, "capa")
	w.deletePool()
	condition := w.awaitCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.IdentityNotFoundReason)
	if !strings.Contains(condition.Message, ownership.IdentityAnnotation) {
		t.Errorf("the message is %q", condition.Message)
	}
	w.untouched("the identity is gone")
	if running := there.running(); len(running) != 2 {
		t.Errorf("instances are %q", running)
	}
	w.role("successor", tenantRole, externalID, here(w), &capav1.AWSIdentityReference{Kind: capav1.ClusterRoleIdentityKind, Name: w.identityName("hub")})
	name := func(object client.Object) {
		annotations := object.GetAnnotations()
		annotations[ownership.IdentityAnnotation] = "AWSClusterRoleIdentity/" + w.identityName("successor")
		object.SetAnnotations(annotations)
	}
	edited(w, &infrav1.AWSLaunchConfig{}, poolName, func(config *infrav1.AWSLaunchConfig) { name(config) })
	w.editPool(func(pool *infrav1.AWSMachinePool) { name(pool) })
	w.Eventually("the objects are gone", w.gone)
	w.Eventually("AWS holds nothing of it", func() error { return there.remains() })
}

// TestRoleThatDeniesAssumption holds that AWS's refusal becomes a condition, costs few calls, and is
// resolved without a restart when the role is corrected in IAM.
func TestRoleThatDeniesAssumption(t *testing.T) {
	t.Parallel()
	w := newTenancy(t)
	there := w.in(tenantAccount)
	w.role("tenant", tenantRole, "guessed", here(w), nil)
	w.useIdentity(capav1.ClusterRoleIdentityKind, "tenant")
	w.applyExample()
	condition := w.awaitCondition(infrav1.ClusterInfrastructureReadyCondition, metav1.ConditionFalse, infrav1.CredentialsInvalidReason)
	for _, part := range []string{"not authorized to perform: sts:AssumeRole", tenantRole, "trust policy"} {
		if !strings.Contains(condition.Message, part) {
			t.Errorf("the message does not say %q: %q", part, condition.Message)
		}
	}
	w.Cloud.AWS.ClearCalls()
	w.pass(10 * time.Minute)
	if calls := len(w.calls()); calls > 10 {
		t.Errorf("AWS was asked %d times in ten minutes", calls)
	}
	policy := `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}}`
	if _, err := iam.NewFromConfig(there.awsConfig()).UpdateAssumeRolePolicy(t.Context(), &iam.UpdateAssumeRolePolicyInput{RoleName: aws.String("tenant"), PolicyDocument: &policy}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the pool has its two nodes", func() error { return there.settled(2) })
}

// TestInstanceProfilesOfAnIdentity holds that an identity lends no other roles than its owner says.
func TestInstanceProfilesOfAnIdentity(t *testing.T) {
	t.Parallel()
	w := newTenancy(t)
	there := w.in(tenantAccount)
	w.tenant(here(w))
	setProfiles := func(profiles string) {
		editIdentity(w, &capav1.AWSClusterRoleIdentity{}, "tenant", func(role *capav1.AWSClusterRoleIdentity) {
			role.Annotations = map[string]string{identity.InstanceProfilesAnnotation: profiles}
		})
	}
	setProfiles("nodes.*")
	w.useIdentity(capav1.ClusterRoleIdentityKind, "tenant")
	there.havePool("    sshKeyName:", "    iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io\n    sshKeyName:")
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.AWSLaunchTemplate.IamInstanceProfile = "control-plane.cluster-api-provider-aws.sigs.k8s.io"
	})
	w.awaitConfigCondition(infrav1.ResolvedCondition, metav1.ConditionFalse, infrav1.InstanceProfileNotAllowedReason)
	w.awaitCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.InstanceProfileNotAllowedReason)
	if writes := w.writes(); slices.Contains(writes, "CreateLaunchTemplateVersion") {
		t.Errorf("writes are %q", writes)
	}
	setProfiles("nodes.*, control-plane.*")
	w.Eventually("the pool has the profile", func() error { return there.settled(2) })
}
