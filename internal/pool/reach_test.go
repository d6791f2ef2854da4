package pool_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
)

const (
	ownAccount   = "123456789012"
	otherAccount = "210987654321"
)

// reaching returns a registry of a simulated AWS, in which the manager's own account is ownAccount,
// and which has identities.
func reaching(t *testing.T, faults []awssim.Fault, identities ...client.Object) pool.Registry {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), awssim.Options{})
	for _, fault := range faults {
		if _, err := sim.AddFault(fault); err != nil {
			t.Fatal(err)
		}
	}
	known := scheme(t)
	for _, add := range []func() error{func() error { return corev1.AddToScheme(known) }, func() error { return capav1.AddToScheme(known) }} {
		if err := add(); err != nil {
			t.Fatal(err)
		}
	}
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	reader := fake.NewClientBuilder().WithScheme(known).WithObjects(identities...).WithObjects(team).Build()
	resolver := &identity.Resolver{Reader: reader, Secrets: reader, SecretNamespace: "system"}
	sessions := aws.NewSessions(awssimtest.Config(url, "us-east-1", ownAccount), aws.WithClock(clock), aws.WithLimits(nil))
	return pool.Registry{Registry: clouds.NewRegistry(sessions, resolver, clock, observe.DefaultIntervals), Reader: reader}
}

// staticIdentity returns an identity with the keys of an account, which every namespace may use.
func staticIdentity(name, account string) []client.Object {
	object := &capav1.AWSClusterStaticIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}}
	object.Spec.AllowedNamespaces, object.Spec.SecretRef = &capav1.AllowedNamespaces{}, name+"-keys"
	return []client.Object{object, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name + "-keys"}, Data: map[string][]byte{
		"AccessKeyID": []byte("AKIATEST" + account), "SecretAccessKey": []byte("secret"),
	}}}
}

// ownIdentity returns the object that says that namespaces of a list may use the manager's own
// credentials, and all may if the list has none.
func ownIdentity(namespaces ...string) client.Object {
	object := &capav1.AWSClusterControllerIdentity{ObjectMeta: metav1.ObjectMeta{Name: capav1.AWSClusterControllerIdentityName}}
	object.Spec.AllowedNamespaces = &capav1.AllowedNamespaces{NamespaceList: namespaces}
	return object
}

// TestReachForDeletion holds as whom the resources of a pool are deleted whose cluster objects are
// gone: as the identity that was recorded, or as the manager itself if the ARN is in its account and
// the namespace may use it. In any other case a user has to say it, and nothing is taken for
// deleted.
func TestReachForDeletion(t *testing.T) {
	t.Parallel()
	const ownARN, otherARN = "arn:aws:autoscaling:us-east-1:" + ownAccount + ":autoScalingGroup:1:autoScalingGroupName/pool", "arn:aws:autoscaling:us-east-1:" + otherAccount + ":autoScalingGroup:1:autoScalingGroupName/pool"
	recorded := func(identity, account string) map[string]string {
		return map[string]string{ownership.RegionAnnotation: "us-east-1", ownership.IdentityAnnotation: identity, ownership.AccountAnnotation: account}
	}
	for _, row := range []struct {
		reason      string
		annotations map[string]string
		arn         string
		identities  []client.Object
		faults      []awssim.Fault
		// account is where it is reached, refused the reason why it is not, and says a part of its message.
		account, refused, says string
		nothing                bool
	}{
		{reason: "nothing says where it is: nothing was created", nothing: true},
		{reason: "an ID that is no ARN says nothing", arn: "aws:///us-east-1a/i-1", nothing: true},
		{reason: "an ARN in the manager's account, which no identity restricts", arn: ownARN, account: ownAccount},
		{reason: "an ARN in the manager's account, which the namespace may use", arn: ownARN, identities: []client.Object{ownIdentity("team")}, account: ownAccount},
		{reason: "an ARN in the manager's account, which the namespace may not use", arn: ownARN, identities: []client.Object{ownIdentity("other")},
			refused: infrav1.IdentityUnknownReason, says: "the identity of the manager is not allowed"},
		{reason: "an ARN in another account", arn: otherARN, refused: infrav1.IdentityUnknownReason, says: "are in AWS account " + otherAccount},
		{reason: "a region without an account", annotations: map[string]string{ownership.RegionAnnotation: "us-east-1"}, refused: infrav1.IdentityUnknownReason, says: "Set annotation " + ownership.IdentityAnnotation},
		{reason: "an identity that was recorded with its account", annotations: recorded("AWSClusterStaticIdentity/tenant", otherAccount), identities: staticIdentity("tenant", otherAccount), account: otherAccount},
		{reason: "an identity that was recorded counts more than the ARN", annotations: recorded("AWSClusterStaticIdentity/tenant", otherAccount), arn: ownARN, identities: staticIdentity("tenant", otherAccount), account: otherAccount},
		{reason: "an identity that leads to another account by now", annotations: recorded("AWSClusterStaticIdentity/tenant", otherAccount), identities: staticIdentity("tenant", ownAccount),
			refused: infrav1.IdentityInOtherAccountReason, says: "the existing resources of this object are in account " + otherAccount},
		{reason: "an identity that is gone", annotations: recorded("AWSClusterStaticIdentity/tenant", otherAccount), refused: infrav1.IdentityNotFoundReason, says: "or set annotation " + ownership.IdentityAnnotation},
		{reason: "the manager's own identity, with another account recorded", annotations: recorded("AWSClusterControllerIdentity", otherAccount), refused: infrav1.IdentityInOtherAccountReason},
		{reason: "an identity of an unknown kind", annotations: recorded("Unknown/name", ownAccount), refused: infrav1.IdentityInvalidReason},
		{reason: "the account of the manager cannot be found out", arn: ownARN, refused: "credentials", faults: []awssim.Fault{{Action: "GetCallerIdentity", Code: "AccessDenied", Status: 403, Message: "denied"}}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object := machinePool(row.annotations)
			object.Namespace = "team"
			cloud, access, err := reaching(t, row.faults, row.identities...).ReachForDeletion(t.Context(), object, nil, row.arn)
			if err != nil || access.NothingMade != row.nothing || (cloud != nil) != (row.account != "") {
				t.Fatalf("reached %v with %+v, %v", cloud, access, err)
			}
			if row.account != "" {
				if account, err := cloud.AccountID(t.Context()); err != nil || account != row.account {
					t.Errorf("it is reached in account %s, %v", account, err)
				}
				if got := object.Annotations[ownership.AccountAnnotation]; got != row.account {
					t.Errorf("the account that is recorded for what is deleted with it is %q", got)
				}
				return
			}
			var refused *identity.Error
			var credentials *aws.CredentialsError
			switch {
			case row.nothing:
			case row.refused == "credentials":
				if !errors.As(access.Err, &credentials) {
					t.Errorf("the error is %v", access.Err)
				}
			case !errors.As(access.Err, &refused) || refused.Reason != row.refused || !strings.Contains(refused.Message, row.says):
				t.Errorf("the error is %v, want %s: … %s", access.Err, row.refused, row.says)
			}
		})
	}
}

// TestOneAccount holds that a pool whose cluster is given another identity goes on only if that is
// in the account that holds what was made so far: everything would be made a second time, and the
// first forgotten.
func TestOneAccount(t *testing.T) {
	t.Parallel()
	static := aws.Identity{Kind: aws.IdentityStatic, Name: "tenant"}
	for _, row := range []struct {
		reason      string
		annotations map[string]string
		now         aws.Identity
		identities  []client.Object
		refused     string
	}{
		{reason: "nothing was made yet", now: static, identities: staticIdentity("tenant", otherAccount)},
		{reason: "the manager's own, as before", annotations: map[string]string{ownership.IdentityAnnotation: "AWSClusterControllerIdentity"}},
		{reason: "the manager's own, by its name now", annotations: map[string]string{ownership.IdentityAnnotation: "AWSClusterControllerIdentity"},
			now: aws.Identity{Kind: aws.IdentityController, Name: "default"}, identities: []client.Object{ownIdentity("team")}},
		{reason: "another identity of the manager's account", annotations: map[string]string{ownership.IdentityAnnotation: "AWSClusterControllerIdentity"},
			now: static, identities: staticIdentity("tenant", ownAccount)},
		{reason: "an identity of another account", annotations: map[string]string{ownership.IdentityAnnotation: "AWSClusterControllerIdentity"},
			now: static, identities: staticIdentity("tenant", otherAccount), refused: infrav1.IdentityInOtherAccountReason},
		{reason: "back to the manager's own, from another account", annotations: map[string]string{ownership.IdentityAnnotation: "AWSClusterStaticIdentity/tenant", ownership.AccountAnnotation: otherAccount},
			refused: infrav1.IdentityInOtherAccountReason},
		{reason: "the same identity with keys of another account", annotations: map[string]string{ownership.IdentityAnnotation: "AWSClusterStaticIdentity/tenant", ownership.AccountAnnotation: ownAccount},
			now: static, identities: staticIdentity("tenant", otherAccount), refused: infrav1.IdentityInOtherAccountReason},
		{reason: "an identity that the namespace may not use", now: aws.Identity{Kind: aws.IdentityController, Name: "default"}, identities: []client.Object{ownIdentity("other")},
			refused: infrav1.IdentityNotAllowedReason},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object := machinePool(row.annotations)
			facts := &cluster.Facts{Namespace: "team", Name: "blue", Region: "us-east-1", Identity: row.now}
			cloud, access := reaching(t, nil, row.identities...).ReachFrom(t.Context(), object, facts, "blue")
			if (cloud == nil) != (row.refused != "") {
				t.Fatalf("reached %v, %v", cloud, access.Err)
			}
			var refused *identity.Error
			if row.refused != "" && (!errors.As(access.Err, &refused) || refused.Reason != row.refused) {
				t.Errorf("the error is %v, want %s", access.Err, row.refused)
			}
			if row.refused == "" && (access.Location.Region != "us-east-1" || access.Location.Identity != row.now || access.Location.Cluster != "blue") {
				t.Errorf("the location that is recorded is %+v", access.Location)
			}
		})
	}
}
