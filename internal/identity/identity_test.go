package identity_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/identity"
)

const team = "team"

var allNamespaces = &capav1.AllowedNamespaces{}

func resolver(t *testing.T, objects ...client.Object) *identity.Resolver {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, capav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team, Labels: map[string]string{"tier": "gold"}}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(slices.Clone(objects), namespace)...).Build()
	return &identity.Resolver{Reader: verbatim{c, objects}, Secrets: c, SecretNamespace: "system"}
}

// verbatim reads roles as they were written: an API server keeps an empty list and an empty map,
// which the fake client takes for none.
type verbatim struct {
	client.Reader
	objects []client.Object
}

func (v verbatim) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	for _, object := range v.objects {
		written, is := object.(*capav1.AWSClusterRoleIdentity)
		if wanted, asked := into.(*capav1.AWSClusterRoleIdentity); is && asked && written.Name == key.Name {
			written.DeepCopyInto(wanted)
			return nil
		}
	}
	return v.Reader.Get(ctx, key, into, options...)
}

func controller(name string, allowed *capav1.AllowedNamespaces) *capav1.AWSClusterControllerIdentity {
	object := &capav1.AWSClusterControllerIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}}
	object.Spec.AllowedNamespaces = allowed
	return object
}

func static(name string, allowed *capav1.AllowedNamespaces) *capav1.AWSClusterStaticIdentity {
	object := &capav1.AWSClusterStaticIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}}
	object.Spec.AllowedNamespaces, object.Spec.SecretRef = allowed, name+"-keys"
	return object
}

func role(name string, allowed *capav1.AllowedNamespaces, source *capav1.AWSIdentityReference) *capav1.AWSClusterRoleIdentity {
	object := &capav1.AWSClusterRoleIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}}
	object.Spec.AllowedNamespaces, object.Spec.SourceIdentityRef = allowed, source
	object.Spec.RoleArn = "arn:aws:iam::222222222222:role/" + name
	return object
}

func ref(kind capav1.AWSIdentityKind, name string) *capav1.AWSIdentityReference {
	return &capav1.AWSIdentityReference{Kind: kind, Name: name}
}

func secret(name string, data map[string]string) *corev1.Secret {
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		object.Data[key] = []byte(value)
	}
	return object
}

var goodKeys = map[string]string{"AccessKeyID": "AKIA", "SecretAccessKey": "secret"}

// reasonOf is the reason of an error that a condition shows.
func reasonOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var unusable *identity.Error
	if !errors.As(err, &unusable) {
		t.Fatalf("got %v", err)
	}
	if fate := aws.FateOf(err); fate.Kind != aws.WaitForUser {
		t.Errorf("its fate is %v", fate)
	}
	return unusable.Reason
}

// TestAllowedNamespaces holds that every shape of allowedNamespaces decides as CAPA does.
func TestAllowedNamespaces(t *testing.T) {
	t.Parallel()
	selects := func(labels map[string]string) metav1.LabelSelector { return metav1.LabelSelector{MatchLabels: labels} }
	for _, row := range []struct {
		reason  string
		allowed *capav1.AllowedNamespaces
		want    string
		// roleAlone is for what the fake client does not keep.
		roleAlone bool
	}{
		{reason: "absent: no namespace is allowed", allowed: nil, want: infrav1.IdentityNotAllowedReason},
		{reason: "present and empty: all namespaces are allowed", allowed: &capav1.AllowedNamespaces{}, want: ""},
		{reason: "a list that is there and empty selects nothing", allowed: &capav1.AllowedNamespaces{NamespaceList: []string{}}, want: infrav1.IdentityNotAllowedReason, roleAlone: true},
		{reason: "named", allowed: &capav1.AllowedNamespaces{NamespaceList: []string{"other", team}}, want: ""},
		{reason: "others are named", allowed: &capav1.AllowedNamespaces{NamespaceList: []string{"other", "team-2"}}, want: infrav1.IdentityNotAllowedReason},
		{reason: "selected", allowed: &capav1.AllowedNamespaces{Selector: selects(map[string]string{"tier": "gold"})}, want: ""},
		{reason: "others are selected", allowed: &capav1.AllowedNamespaces{Selector: selects(map[string]string{"tier": "lead"})}, want: infrav1.IdentityNotAllowedReason},
		{reason: "a selector that is there and empty selects nothing", allowed: &capav1.AllowedNamespaces{Selector: selects(map[string]string{})}, want: infrav1.IdentityNotAllowedReason, roleAlone: true},
		{reason: "not named but selected", allowed: &capav1.AllowedNamespaces{NamespaceList: []string{"other"}, Selector: selects(map[string]string{"tier": "gold"})}, want: ""},
		{reason: "named but not selected", allowed: &capav1.AllowedNamespaces{NamespaceList: []string{team}, Selector: selects(map[string]string{"tier": "lead"})}, want: ""},
		{reason: "an expression", allowed: &capav1.AllowedNamespaces{Selector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "tier", Operator: metav1.LabelSelectorOpExists},
		}}}, want: ""},
		{reason: "an expression that is none", allowed: &capav1.AllowedNamespaces{Selector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "tier", Operator: "Near"},
		}}}, want: infrav1.IdentityInvalidReason},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := resolver(t, controller("default", row.allowed), static("keys", row.allowed), role("role", row.allowed, nil), secret("keys-keys", goodKeys))
			// A cluster that names no identity has the manager's own, which the
			// AWSClusterControllerIdentity lends.
			identities := []aws.Identity{{}, {Kind: aws.IdentityController, Name: "default"}, {Kind: aws.IdentityStatic, Name: "keys"}, {Kind: aws.IdentityRole, Name: "role"}}
			if row.roleAlone {
				identities = identities[3:]
			}
			for _, of := range identities {
				_, err := r.Resolve(t.Context(), of, team)
				if got := reasonOf(t, err); got != row.want {
					t.Errorf("%s: %q, want %q: %v", of, got, row.want, err)
				}
			}
		})
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	full := role("full", allNamespaces, ref(capav1.ClusterStaticIdentityKind, "keys"))
	full.Spec.AWSRoleSpec = capav1.AWSRoleSpec{
		RoleArn: "arn:aws:iam::1:role/full", SessionName: "team", DurationSeconds: 900, InlinePolicy: "{}", PolicyARNs: []string{"arn:aws:iam::aws:policy/A"},
	}
	full.Spec.ExternalID = "id"
	objects := []client.Object{
		controller("default", allNamespaces), controller("another", allNamespaces),
		static("keys", allNamespaces), secret("keys-keys", map[string]string{"AccessKeyID": "AKIA", "SecretAccessKey": "secret", "SessionToken": "token"}),
		static("unlucky", allNamespaces), static("half", allNamespaces), secret("half-keys", map[string]string{"AccessKeyID": "AKIA"}),
		static("private", nil), secret("private-keys", goodKeys),
		full,
		role("plain", allNamespaces, nil), role("onDefault", allNamespaces, ref(capav1.ControllerIdentityKind, "default")),
		role("two", allNamespaces, ref(capav1.ClusterRoleIdentityKind, "full")),
		role("onPrivate", allNamespaces, ref(capav1.ClusterStaticIdentityKind, "private")),
		role("onNothing", allNamespaces, ref(capav1.ClusterRoleIdentityKind, "nothing")),
		role("self", allNamespaces, ref(capav1.ClusterRoleIdentityKind, "self")),
		role("ring1", allNamespaces, ref(capav1.ClusterRoleIdentityKind, "ring2")), role("ring2", allNamespaces, ref(capav1.ClusterRoleIdentityKind, "ring1")),
	}
	keys := &aws.Keys{AccessKeyID: "AKIA", SecretAccessKey: "secret", SessionToken: "token"}
	fullRole := aws.Role{ARN: "arn:aws:iam::1:role/full", SessionName: "team", ExternalID: "id", InlinePolicy: "{}", PolicyARNs: []string{"arn:aws:iam::aws:policy/A"}, Duration: 15 * time.Minute}
	plain := func(name string) aws.Role { return aws.Role{ARN: "arn:aws:iam::222222222222:role/" + name} }
	of := func(kind aws.IdentityKind, name string) aws.Identity { return aws.Identity{Kind: kind, Name: name} }
	for _, row := range []struct {
		reason   string
		identity aws.Identity
		want     aws.Principal
		refused  string
		says     string
	}{
		{reason: "a cluster that names none has the controller's own"},
		{reason: "the controller's own by name", identity: of(aws.IdentityController, "default")},
		{reason: "there is one of it", identity: of(aws.IdentityController, "another"), refused: infrav1.IdentityInvalidReason, says: `"default"`},
		{reason: "keys", identity: of(aws.IdentityStatic, "keys"), want: aws.Principal{Keys: keys}},
		{reason: "keys without their Secret", identity: of(aws.IdentityStatic, "unlucky"), refused: infrav1.IdentityNotFoundReason, says: `namespace "system"`},
		{reason: "half a key", identity: of(aws.IdentityStatic, "half"), refused: infrav1.IdentityInvalidReason, says: "SecretAccessKey"},
		{reason: "a role assumed by the controller", identity: of(aws.IdentityRole, "plain"), want: aws.Principal{Roles: []aws.Role{plain("plain")}}},
		{reason: "the same, said", identity: of(aws.IdentityRole, "onDefault"), want: aws.Principal{Roles: []aws.Role{plain("onDefault")}}},
		{reason: "a role with everything that a role has", identity: of(aws.IdentityRole, "full"), want: aws.Principal{Keys: keys, Roles: []aws.Role{fullRole}}},
		{reason: "a role by a role by keys, the nearest to the keys first", identity: of(aws.IdentityRole, "two"), want: aws.Principal{Keys: keys, Roles: []aws.Role{fullRole, plain("two")}}},
		{reason: "no link of a chain may be out of bounds", identity: of(aws.IdentityRole, "onPrivate"), refused: infrav1.IdentityNotAllowedReason, says: "AWSClusterStaticIdentity/private"},
		{reason: "a chain that ends in nothing", identity: of(aws.IdentityRole, "onNothing"), refused: infrav1.IdentityNotFoundReason, says: "AWSClusterRoleIdentity/nothing"},
		{reason: "a role by itself", identity: of(aws.IdentityRole, "self"), refused: infrav1.IdentityInvalidReason, says: "sourceIdentityRef"},
		{reason: "a ring", identity: of(aws.IdentityRole, "ring1"), refused: infrav1.IdentityInvalidReason, says: "ring1 → AWSClusterRoleIdentity/ring2"},
		{reason: "nothing of the name", identity: of(aws.IdentityRole, "none"), refused: infrav1.IdentityNotFoundReason, says: "Create it"},
		{reason: "a kind that is none", identity: of("AWSClusterOtherIdentity", "default"), refused: infrav1.IdentityInvalidReason, says: "AWSClusterOtherIdentity"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			got, err := resolver(t, objects...).Resolve(t.Context(), row.identity, team)
			if reason := reasonOf(t, err); reason != row.refused || err != nil && !strings.Contains(err.Error(), row.says) {
				t.Fatalf("refused for %q, want %q saying %q: %v", reason, row.refused, row.says, err)
			}
			if err == nil {
				row.want.Identity = row.identity
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("principal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeysAreNotShown(t *testing.T) {
	t.Parallel()
	got, err := resolver(t, static("keys", allNamespaces), secret("keys-keys", goodKeys)).Resolve(t.Context(), aws.Identity{Kind: aws.IdentityStatic, Name: "keys"}, team)
	if err != nil {
		t.Fatal(err)
	}
	if text := got.Keys.String() + got.Keys.GoString(); strings.Contains(text, "secret") {
		t.Errorf("the secret is in %q", text)
	}
}

func TestInstanceProfiles(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:iam::222222222222:instance-profile/teams/nodes"
	for _, row := range []struct {
		reason     string
		annotation *string
		profile    string
		want       string
	}{
		{"an identity that says nothing", nil, "admin", ""},
		{"named", ptr("other, nodes"), "nodes", ""},
		{"not named", ptr("other, nodes"), "admin", infrav1.InstanceProfileNotAllowedReason},
		{"a pattern", ptr("nodes-*"), "nodes-gpu", ""},
		{"a pattern that matches the beginning alone", ptr("nodes"), "nodes-gpu", infrav1.InstanceProfileNotAllowedReason},
		{"an ARN by its name", ptr("nodes"), arn, ""},
		{"an ARN", ptr(arn), arn, ""},
		{"another path is another ARN", ptr(strings.Replace(arn, "teams", "admins", 1)), arn, infrav1.InstanceProfileNotAllowedReason},
		{"no profile at all lends nothing", ptr(""), "", ""},
		{"nothing is allowed", ptr(""), "nodes", infrav1.InstanceProfileNotAllowedReason},
		{"a pattern that is none matches nothing", ptr("[nodes"), "nodes", infrav1.InstanceProfileNotAllowedReason},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object := role("role", allNamespaces, nil)
			if row.annotation != nil {
				object.Annotations = map[string]string{identity.InstanceProfilesAnnotation: *row.annotation}
			}
			err := resolver(t, object).AllowsInstanceProfile(t.Context(), aws.Identity{Kind: aws.IdentityRole, Name: "role"}, row.profile)
			if got := reasonOf(t, err); got != row.want {
				t.Errorf("%q, want %q: %v", got, row.want, err)
			}
		})
	}
}

// TestUnnamedIdentity holds that a cluster that names no identity never has more rights than one
// that names the AWSClusterControllerIdentity, and all of them where there is none.
func TestUnnamedIdentity(t *testing.T) {
	t.Parallel()
	limited := controller("default", &capav1.AllowedNamespaces{NamespaceList: []string{"platform"}})
	limited.Annotations = map[string]string{identity.InstanceProfilesAnnotation: "nodes"}
	for _, row := range []struct {
		reason            string
		objects           []client.Object
		resolve, profiles string
	}{
		{reason: "nothing limits the manager's own credentials"},
		{
			reason: "they are limited to other namespaces and to one profile", objects: []client.Object{limited},
			resolve: infrav1.IdentityNotAllowedReason, profiles: infrav1.InstanceProfileNotAllowedReason,
		},
		{reason: "every namespace may use them", objects: []client.Object{controller("default", allNamespaces)}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := resolver(t, row.objects...)
			if _, err := r.Resolve(t.Context(), aws.Identity{}, team); reasonOf(t, err) != row.resolve {
				t.Errorf("resolving: %v, want reason %q", err, row.resolve)
			}
			if err := r.AllowsInstanceProfile(t.Context(), aws.Identity{}, "admin"); reasonOf(t, err) != row.profiles {
				t.Errorf("launching with a profile: %v, want reason %q", err, row.profiles)
			}
		})
	}
}

func ptr(text string) *string { return &text }
