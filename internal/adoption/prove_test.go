package adoption_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/adoption"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

const (
	account      = "123456789012"
	otherAccount = "210987654321"
	region       = "us-east-1"
)

// world has a pool of Cluster prod in namespace team that claims a group, and a simulated AWS with
// two accounts.
type world struct {
	objects  []client.Object
	denied   string
	sim      *awssim.Simulator
	ec2      *ec2.Client
	adoption adoption.Adoption
}

// newWorld returns a world in which the claim is proven, except for what a change makes of its
// objects.
func newWorld(t *testing.T, change func(*world)) *world {
	t.Helper()
	object := metav1.ObjectMeta{Namespace: "team", Name: "prod"}
	machinePool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "workers", UID: "workers"}}
	machinePool.Spec.ClusterName = "prod"
	machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachinePool", Name: "pool"}
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: "workers", UID: "workers"},
	}}}
	w := &world{objects: append(namesake("team", region, ""), machinePool)}
	w.adoption = adoption.Adoption{Pool: pool, Kind: "AWSMachinePool", Resource: "Auto Scaling group pool", Facts: &cluster.Facts{Namespace: object.Namespace, Name: "prod", KubernetesName: "prod"}}
	if change != nil {
		change(w)
	}
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC), awssim.Options{})
	config := awssimtest.Config(url, region, account)
	w.sim, w.ec2 = sim, ec2.NewFromConfig(config)
	live := w.store(t)
	resolver := &identity.Resolver{Reader: live, Secrets: live, SecretNamespace: "system"}
	w.adoption.Live, w.adoption.Registry = live, clouds.NewRegistry(aws.NewSessions(config, aws.WithClock(clock), aws.WithLimits(nil)), resolver, clock, observe.Intervals{Rest: time.Minute, Motion: time.Second})
	var err error
	if w.adoption.Cloud, err = w.adoption.Registry.For(t.Context(), aws.Identity{}, "team", region); err != nil {
		t.Fatal(err)
	}
	return w
}

// store returns a client for the world's objects, which fails to read the denied kind.
func (w *world) store(t *testing.T) client.Client {
	t.Helper()
	scheme := reconciletest.Scheme(t, corev1.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme, eksv1.AddToScheme, infrav1.AddToScheme)
	broken := errors.New("the API server does not respond")
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(w.objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, clusters := list.(*clusterv1.ClusterList); clusters && w.denied == "Clusters" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "clusters"}, "", errors.New("one namespace only"))
			}
			if _, controlPlanes := list.(*eksv1.AWSManagedControlPlaneList); controlPlanes && w.denied == "AWSManagedControlPlanes" {
				return broken
			}
			return c.List(ctx, list, options...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, pools := object.(*clusterv1.MachinePool); pools && w.denied == "MachinePool" {
				return broken
			}
			return c.Get(ctx, key, object, options...)
		},
	}).Build()
}

// edit changes the world's object of a kind.
func edit[T client.Object](change func(T)) func(*world) {
	return func(w *world) {
		for _, object := range w.objects {
			if one, is := object.(T); is {
				change(one)
			}
		}
	}
}

// without leaves out the world's objects of a kind.
func without[T client.Object]() func(*world) {
	return func(w *world) {
		var rest []client.Object
		for _, object := range w.objects {
			if _, is := object.(T); !is {
				rest = append(rest, object)
			}
		}
		w.objects = rest
	}
}

func with(objects ...client.Object) func(*world) {
	return func(w *world) { w.objects = append(w.objects, objects...) }
}

// namesake returns a Cluster prod of a namespace, in a region, with a static identity if it has a name.
func namesake(namespace, where, identityName string) []client.Object {
	infrastructure := &capav1.AWSCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prod"}}
	infrastructure.Spec.Region = where
	if identityName != "" {
		infrastructure.Spec.IdentityRef = &capav1.AWSIdentityReference{Kind: capav1.ClusterStaticIdentityKind, Name: identityName}
	}
	object := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prod"}}
	object.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: "prod"}
	return []client.Object{object, infrastructure}
}

// eksNamesake returns the control plane of an EKS cluster prod in a namespace and region.
func eksNamesake(namespace, where string) client.Object {
	controlPlane := &eksv1.AWSManagedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "any"}}
	controlPlane.Spec.EKSClusterName, controlPlane.Spec.Region = "prod", where
	return controlPlane
}

// keysOf returns a static identity with the keys of an account.
func keysOf(name, account string) []client.Object {
	static := &capav1.AWSClusterStaticIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}}
	static.Spec.AllowedNamespaces, static.Spec.SecretRef = &capav1.AllowedNamespaces{}, name+"-keys"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name + "-keys"}, Data: map[string][]byte{
		"AccessKeyID": []byte("AKIATEST" + account), "SecretAccessKey": []byte("secret"),
	}}
	return []client.Object{static, secret, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}}
}

// TestProve holds which pools may adopt a resource without instances: the pool is one of its
// cluster, and no other cluster of the account may have the same tags.
func TestProve(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*world)
		// refused is part of the refusal's message, and fails is part of another error's message.
		refused, fails string
	}{
		{reason: "the only cluster of the name"},
		{reason: "nothing owns the pool", change: func(w *world) { w.adoption.Pool.SetOwnerReferences(nil) }, refused: "no MachinePool owns it"},
		{reason: "a MachinePool of another API group owns it", change: func(w *world) {
			w.adoption.Pool.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "MachinePool", Name: "workers", UID: "workers"}})
		}, refused: "no MachinePool owns it"},
		{reason: "its MachinePool is gone", change: without[*clusterv1.MachinePool](), refused: "no MachinePool owns it"},
		{reason: "its MachinePool was created again", change: edit(func(m *clusterv1.MachinePool) { m.UID = "another" }), refused: "names an earlier MachinePool workers"},
		{reason: "the MachinePool refers to another pool", change: edit(func(m *clusterv1.MachinePool) { m.Spec.Template.Spec.InfrastructureRef.Name = "other" }), refused: "does not refer to it"},
		{reason: "the MachinePool refers to a pool of another kind", change: edit(func(m *clusterv1.MachinePool) { m.Spec.Template.Spec.InfrastructureRef.Kind = "AWSManagedMachinePool" }), refused: "does not refer to it"},
		{reason: "the MachinePool is of another cluster", change: edit(func(m *clusterv1.MachinePool) { m.Spec.ClusterName = "stage" }), refused: "names Cluster stage"},
		{reason: "the MachinePool is being deleted", change: edit(func(m *clusterv1.MachinePool) {
			m.Finalizers, m.DeletionTimestamp = []string{"keep"}, &metav1.Time{Time: time.Now()}
		}), refused: "MachinePool workers is being deleted"},
		{reason: "the Cluster is gone", change: without[*clusterv1.Cluster](), refused: "Cluster prod does not exist"},
		{reason: "the Cluster is being deleted", change: edit(func(c *clusterv1.Cluster) {
			c.Finalizers, c.DeletionTimestamp = []string{"keep"}, &metav1.Time{Time: time.Now()}
		}), refused: "Cluster prod is being deleted"},
		{reason: "the MachinePool cannot be read", change: func(w *world) { w.denied = "MachinePool" }, fails: `reading MachinePool "workers"`},
		{reason: "another namespace has the cluster, in the same account and region", change: with(namesake("other", region, "")...), refused: "another namespace has, or may have, a cluster named prod"},
		{reason: "another namespace has the cluster, in another region", change: with(namesake("other", "eu-west-1", "")...)},
		{reason: "another namespace has the cluster, in another account", change: with(append(namesake("other", region, "other"), keysOf("other", otherAccount)...)...)},
		{reason: "another namespace has the cluster, by other keys of the account", change: with(append(namesake("other", region, "other"), keysOf("other", account)...)...), refused: "another namespace has"},
		{reason: "another namespace has the cluster, and its account cannot be found out", change: with(namesake("other", region, "gone")...), refused: "another namespace has"},
		{reason: "another namespace has the cluster, and its region cannot be found out", change: with(namesake("other", region, "")[0]), refused: "another namespace has"},
		{reason: "another namespace has the cluster, and names no region", change: with(namesake("other", "", "")...), refused: "another namespace has"},
		{reason: "an EKS cluster of the name in another namespace", change: with(eksNamesake("other", region)), refused: "another namespace has"},
		{reason: "an EKS cluster of the name in another region", change: with(eksNamesake("other", "eu-west-1"))},
		{reason: "an EKS cluster of the name in this namespace", change: with(eksNamesake("team", region))},
		{reason: "the clusters of other namespaces are hidden", change: func(w *world) { w.denied = "Clusters" }, refused: "another namespace has, or may have"},
		{reason: "EKS control planes cannot be listed", change: func(w *world) { w.denied = "AWSManagedControlPlanes" }, fails: "listing AWSManagedControlPlanes"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			err := newWorld(t, row.change).adoption.Prove(t.Context())
			var refused *adoption.Error
			switch is := errors.As(err, &refused); {
			case row.refused != "" && (!is || refused.Reason != infrav1.AdoptionBlockedReason || !strings.Contains(err.Error(), row.refused)):
				t.Errorf("the error is %v, want a refusal: %s", err, row.refused)
			case row.fails != "" && (is || err == nil || !strings.Contains(err.Error(), row.fails)):
				t.Errorf("the error is %v, want %s", err, row.fails)
			case row.refused+row.fails == "" && err != nil:
				t.Errorf("it is not proven: %v", err)
			}
		})
	}
}

// TestInstancesProve holds that the tag of instances says whose they are, whatever clusters there
// are, and that what cannot be read proves nothing.
func TestInstancesProve(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		tag    string
		change func(*world)
		fault  *awssim.Fault
		proven bool
	}{
		{reason: "instances of the namespace, though another has the cluster", tag: "team/data", change: with(namesake("other", region, "")...), proven: true},
		{reason: "instances of another namespace, though only this one has the cluster", tag: "other/data"},
		{reason: "instances of a namespace whose name begins with this one's", tag: "team-b/data"},
		{reason: "instances without the tag, of the only cluster", proven: true},
		{reason: "instances without the tag, and another namespace has the cluster", change: with(namesake("other", region, "")...)},
		{reason: "instances cannot be described", tag: "team/data", fault: &awssim.Fault{Action: "DescribeInstances", Code: "UnauthorizedOperation", Status: 403, Message: "denied"}},
		{reason: "the account cannot be found out", fault: &awssim.Fault{Action: "GetCallerIdentity", Code: "AccessDenied", Status: 403, Message: "denied"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, row.change)
			w.adoption.Instances = []string{w.launch(t, row.tag)}
			if row.fault != nil {
				if _, err := w.sim.AddFault(*row.fault); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.adoption.Prove(t.Context()); (err == nil) != row.proven {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// launch launches an instance with CAPA's tag, if the value is not empty, and returns its ID.
func (w *world) launch(t *testing.T, secret string) string {
	t.Helper()
	images, err := w.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.36.3-*"}}, {Name: awssdk.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) != 1 {
		t.Fatalf("finding an image: %v", err)
	}
	input := &ec2.RunInstancesInput{ImageId: images.Images[0].ImageId, InstanceType: "m5.large", MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), SubnetId: awssdk.String("subnet-0b2000000000000aa")}
	if secret != "" {
		input.TagSpecifications = []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: []ec2types.Tag{{Key: awssdk.String(infrav1.TagBootstrapDataSecret), Value: &secret}}}}
	}
	out, err := w.ec2.RunInstances(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	return *out.Instances[0].InstanceId
}
