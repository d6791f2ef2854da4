package machinepool

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/ownership"
)

// TestRevokedIdentity holds that a pool whose identity its namespace may no longer use, or whose identity is gone, has
// nothing read or changed in AWS, at rest and while it is deleted, that it says why and what to do, and that it
// goes on once it may.
func TestRevokedIdentity(t *testing.T) {
	t.Parallel()
	const name = "tenants"
	allow := func(r *rig, namespaces ...string) {
		object := &capav1.AWSClusterStaticIdentity{}
		if err := r.Get(r.Context(), client.ObjectKey{Name: name}, object); err != nil {
			r.Fatal(err)
		}
		object.Spec.AllowedNamespaces = &capav1.AllowedNamespaces{NamespaceList: namespaces}
		if err := r.Update(r.Context(), object); err != nil {
			r.Fatal(err)
		}
	}
	created := func() *capav1.AWSClusterStaticIdentity {
		object := &capav1.AWSClusterStaticIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}}
		object.Spec.SecretRef, object.Spec.AllowedNamespaces = "keys", &capav1.AllowedNamespaces{NamespaceList: []string{victim}}
		return object
	}
	keys := func() *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "keys"}, Data: map[string][]byte{
			"AccessKeyID": []byte("AKIATEST123456789012"), "SecretAccessKey": []byte("secret"),
		}}
	}
	for _, row := range []struct {
		reason         string
		revoke, permit func(*rig)
		want           string
		says           []string
	}{
		{"the namespace is removed from the list", func(r *rig) { allow(r, attacker) }, func(r *rig) { allow(r, victim) }, infrav1.IdentityNotAllowedReason, []string{`"victim"`, "spec.allowedNamespaces"}},
		{"no namespace is listed", func(r *rig) { allow(r, "") }, func(r *rig) { allow(r, victim) }, infrav1.IdentityNotAllowedReason, []string{`"victim"`, "spec.allowedNamespaces"}},
		{"the identity is deleted", func(r *rig) {
			if err := r.Delete(r.Context(), created()); err != nil {
				r.Fatal(err)
			}
		}, func(r *rig) {
			if err := r.Create(r.Context(), created()); err != nil {
				r.Fatal(err)
			}
		}, infrav1.IdentityNotFoundReason, []string{"AWSClusterStaticIdentity/tenants does not exist"}},
		{"the keys are deleted", func(r *rig) {
			if err := r.Delete(r.Context(), keys()); err != nil {
				r.Fatal(err)
			}
		}, func(r *rig) {
			if err := r.Create(r.Context(), keys()); err != nil {
				r.Fatal(err)
			}
		}, infrav1.IdentityNotFoundReason, []string{`Secret "keys"`}},
	} {
		for _, gone := range []bool{false, true} {
			t.Run(row.reason+map[bool]string{true: ", and the cluster's objects are gone"}[gone], func(t *testing.T) {
				t.Parallel()
				objects := append(clusterIn(victim), created(), keys(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: victim}})
				for _, object := range objects {
					if cluster, is := object.(*capav1.AWSCluster); is {
						cluster.Spec.IdentityRef = &capav1.AWSIdentityReference{Kind: capav1.ClusterStaticIdentityKind, Name: name}
					}
				}
				r := newRig(t, objects...)
				pool := poolIn(victim, r.group(poolName, r.template(poolName, slipwayTags(victim), nil), 2, slipwayTags(victim)))
				pool.Spec.NodeDrain = &infrav1.NodeDrain{Disable: true}
				if err := r.Create(t.Context(), pool); err != nil {
					t.Fatal(err)
				}
				if pool = r.pass(victim); pool.Annotations[ownership.IdentityAnnotation] != "AWSClusterStaticIdentity/"+name {
					t.Fatalf("the pool has %v", pool.Annotations)
				}
				row.revoke(r)
				untouched := func(condition string, says ...string) {
					t.Helper()
					r.sim.ClearCalls()
					for range 10 {
						pool = r.pass(victim)
						r.pools.kind.Clouds.Sweep(t.Context())
						r.clock.Step(10 * time.Minute)
					}
					r.condition(pool, condition, row.want, append(says, row.says...)...)
					if calls := r.sim.Calls(); len(calls) > 0 {
						t.Errorf("calls to AWS: %+v", calls)
					}
				}
				untouched(infrav1.ClusterInfrastructureReadyCondition)
				if gone {
					for _, object := range clusterIn(victim) {
						if err := r.Delete(t.Context(), object); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := r.Delete(t.Context(), pool); err != nil {
					t.Fatal(err)
				}
				untouched(infrav1.DeletingCondition, ownership.IdentityAnnotation)
				row.permit(r)
				if pool = r.pass(victim); r.find(poolName) != nil {
					t.Errorf("once it may, the group is not deleted: %+v", pool)
				}
			})
		}
	}
}
