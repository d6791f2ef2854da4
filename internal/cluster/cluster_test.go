package cluster

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
)

// store is a client.Reader of the objects that a test put into it.
type store struct {
	client.Reader
	clusters      map[client.ObjectKey]*capav1.AWSCluster
	controlPlanes map[client.ObjectKey]*eksv1.AWSManagedControlPlane
	broken        error
}

func (s store) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s.broken != nil {
		return s.broken
	}
	switch into := into.(type) {
	case *capav1.AWSCluster:
		if found, ok := s.clusters[key]; ok {
			found.DeepCopyInto(into)
			return nil
		}
	case *eksv1.AWSManagedControlPlane:
		if found, ok := s.controlPlanes[key]; ok {
			found.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, key.Name)
}

var (
	selfManaged = client.ObjectKey{Namespace: "team", Name: "prod-aws"}
	managed     = client.ObjectKey{Namespace: "team", Name: "prod-control-plane"}
)

func clusterObject(mutate func(*clusterv1.Cluster)) *clusterv1.Cluster {
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "prod"},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: selfManaged.Name},
			ControlPlaneRef:   clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: "prod-kcp"},
		},
		Status: clusterv1.ClusterStatus{Initialization: clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true)}},
	}
	if mutate != nil {
		mutate(cluster)
	}
	return cluster
}

func onEKS(cluster *clusterv1.Cluster) {
	cluster.Spec.InfrastructureRef.Kind = "AWSManagedCluster"
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: eksv1.GroupVersion.Group, Kind: "AWSManagedControlPlane", Name: managed.Name,
	}
}

func network() capav1.NetworkSpec {
	return capav1.NetworkSpec{
		VPC: capav1.VPCSpec{ID: "vpc-1"},
		Subnets: capav1.Subnets{
			{ID: "prod-subnet-private-a", ResourceID: "subnet-1", AvailabilityZone: "us-east-1a"},
			{ID: "subnet-2", AvailabilityZone: "us-east-1a", IsPublic: true},
			{ID: "subnet-3", AvailabilityZone: "us-east-1-lax-1a", ZoneType: ptr.To(capav1.ZoneTypeLocalZone)},
			{ID: "subnet-4", AvailabilityZone: "us-east-1a", Tags: capav1.Tags{capav1.NameAWSSubnetAssociation: capav1.SecondarySubnetTagValue}},
		},
	}
}

func awsCluster(mutate func(*capav1.AWSCluster)) store {
	object := &capav1.AWSCluster{
		Spec: capav1.AWSClusterSpec{
			Region: "us-east-1", NetworkSpec: network(), SSHKeyName: ptr.To("ops"), AdditionalTags: capav1.Tags{"team": "infra"},
			ImageLookupOrg: "111122223333", ImageLookupFormat: "f", ImageLookupBaseOS: "b",
			IdentityRef: &capav1.AWSIdentityReference{Kind: capav1.ClusterRoleIdentityKind, Name: "tenant"},
		},
		Status: capav1.AWSClusterStatus{Network: capav1.NetworkStatus{SecurityGroups: map[capav1.SecurityGroupRole]capav1.SecurityGroup{
			capav1.SecurityGroupNode: {ID: "sg-node"}, capav1.SecurityGroupLB: {ID: "sg-lb"}, capav1.SecurityGroupControlPlane: {ID: "sg-cp"},
		}}},
	}
	object.Name = selfManaged.Name
	if mutate != nil {
		mutate(object)
	}
	return store{clusters: map[client.ObjectKey]*capav1.AWSCluster{selfManaged: object}}
}

func controlPlane(mutate func(*eksv1.AWSManagedControlPlane)) store {
	object := &eksv1.AWSManagedControlPlane{
		Spec: eksv1.AWSManagedControlPlaneSpec{Region: "us-east-1", NetworkSpec: network(), EKSClusterName: "team_prod"},
		Status: eksv1.AWSManagedControlPlaneStatus{Network: capav1.NetworkStatus{SecurityGroups: map[capav1.SecurityGroupRole]capav1.SecurityGroup{
			capav1.SecurityGroupNode: {ID: "sg-eks"}, capav1.SecurityGroupEKSNodeAdditional: {ID: "sg-extra"}, capav1.SecurityGroupLB: {ID: "sg-lb"},
		}}},
	}
	object.Name = managed.Name
	if mutate != nil {
		mutate(object)
	}
	return store{controlPlanes: map[client.ObjectKey]*eksv1.AWSManagedControlPlane{managed: object}}
}

func factsSelfManaged(mutate func(*Facts)) *Facts {
	none := map[string]string{}
	facts := &Facts{
		Namespace: "team", Name: "prod", KubernetesName: "prod", Region: "us-east-1", VPCID: "vpc-1",
		Subnets: []Subnet{
			{ID: "subnet-1", AvailabilityZone: "us-east-1a", Tags: none},
			{ID: "subnet-2", AvailabilityZone: "us-east-1a", Public: true, Tags: none},
			{ID: "subnet-3", AvailabilityZone: "us-east-1-lax-1a", Edge: true, Tags: none},
			{ID: "subnet-4", AvailabilityZone: "us-east-1a", Tags: map[string]string{"sigs.k8s.io/cluster-api-provider-aws/association": "secondary"}},
		},
		NodeSecurityGroupIDs: []string{"sg-node", "sg-lb"},
		AdditionalTags:       map[string]string{"team": "infra"},
		SSHKeyName:           ptr.To("ops"),
		ImageLookup:          ImageLookup{Format: "f", Org: "111122223333", BaseOS: "b"},
		Identity:             aws.Identity{Kind: aws.IdentityRole, Name: "tenant"},
	}
	if mutate != nil {
		mutate(facts)
	}
	return facts
}

func factsEKS() *Facts {
	return factsSelfManaged(func(f *Facts) {
		f.KubernetesName, f.EKS = "team_prod", true
		f.ControlPlane = "prod-control-plane"
		f.NodeSecurityGroupIDs = []string{"sg-eks", "sg-extra"}
		f.AdditionalTags, f.SSHKeyName, f.ImageLookup, f.Identity = map[string]string{}, nil, ImageLookup{}, aws.Identity{}
	})
}

func TestLoad(t *testing.T) {
	t.Parallel()
	waiting := func(message string) error {
		return &NotReadyError{Reason: ReasonWaitingForClusterInfrastructure, Message: message}
	}
	cases := []struct {
		name, reason string
		objects      store
		cluster      func(*clusterv1.Cluster)
		want         *Facts
		err          error
	}{
		{name: "self-managed", reason: "Everything comes from the AWSCluster.", objects: awsCluster(nil), want: factsSelfManaged(nil)},
		{name: "EKS", reason: "Everything comes from the control plane; the name in tags is EKS's.", objects: controlPlane(nil), cluster: onEKS, want: factsEKS()},
		{
			name: "the controller's identity by name", reason: "CAPA's webhook writes it where the user says nothing; whether it may be used is asked of it.",
			objects: awsCluster(func(c *capav1.AWSCluster) {
				c.Spec.IdentityRef = &capav1.AWSIdentityReference{Kind: capav1.ControllerIdentityKind, Name: "default"}
			}),
			want: factsSelfManaged(func(f *Facts) { f.Identity = aws.Identity{Kind: aws.IdentityController, Name: "default"} }),
		},
		{
			name: "override not in status yet", reason: "The user has said which group it is.",
			objects: awsCluster(func(c *capav1.AWSCluster) {
				delete(c.Status.Network.SecurityGroups, capav1.SecurityGroupLB)
				c.Spec.NetworkSpec.SecurityGroupOverrides = map[capav1.SecurityGroupRole]string{capav1.SecurityGroupLB: "sg-own"}
			}),
			want: factsSelfManaged(func(f *Facts) { f.NodeSecurityGroupIDs = []string{"sg-node", "sg-own"} }),
		},
		{
			name: "one group in two roles", reason: "EC2 refuses a group that is named twice.",
			objects: awsCluster(func(c *capav1.AWSCluster) {
				c.Status.Network.SecurityGroups[capav1.SecurityGroupLB] = capav1.SecurityGroup{ID: "sg-node"}
			}),
			want: factsSelfManaged(func(f *Facts) { f.NodeSecurityGroupIDs = []string{"sg-node"} }),
		},
		{
			name: "not provisioned", reason: "CAPA's status is not whole before.", objects: awsCluster(nil),
			cluster: func(c *clusterv1.Cluster) { c.Status.Initialization.InfrastructureProvisioned = nil },
			err:     waiting(`the infrastructure of Cluster "prod" is not provisioned yet`),
		},
		{
			name: "no reference", reason: "A Cluster may be created before its parts.", objects: awsCluster(nil),
			cluster: func(c *clusterv1.Cluster) {
				c.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{}
			},
			err: waiting(`Cluster "prod" has no spec.infrastructureRef yet`),
		},
		{
			name: "missing object", reason: "It may come, and the user sees what is missing.", objects: store{},
			err: &NotReadyError{Reason: ReasonClusterInfrastructureMissing, Message: `AWSCluster "prod-aws", which Cluster "prod" refers to, does not exist`},
		},
		{
			name: "missing control plane", reason: "The same.", objects: awsCluster(nil), cluster: onEKS,
			err: &NotReadyError{Reason: ReasonClusterInfrastructureMissing, Message: `AWSManagedControlPlane "prod-control-plane", which Cluster "prod" refers to, does not exist`},
		},
		{
			name: "no VPC", reason: "Filters would look everywhere.", objects: awsCluster(func(c *capav1.AWSCluster) { c.Spec.NetworkSpec.VPC.ID = "" }),
			err: waiting(`AWSCluster "prod-aws" does not have a VPC yet`),
		},
		{
			name: "no group for nodes", reason: "Nodes could not be reached.", objects: awsCluster(func(c *capav1.AWSCluster) { c.Status.Network.SecurityGroups = nil }),
			err: waiting(`AWSCluster "prod-aws" does not have a security group for role "node" yet`),
		},
		{
			name: "no additional group for EKS nodes", reason: "CAPA waits for it too.", cluster: onEKS,
			objects: controlPlane(func(c *eksv1.AWSManagedControlPlane) {
				delete(c.Status.Network.SecurityGroups, capav1.SecurityGroupEKSNodeAdditional)
			}),
			err: waiting(`AWSManagedControlPlane "prod-control-plane" does not have a security group for role "node-eks-additional" yet`),
		},
		{
			name: "no name in EKS", reason: "Tags would be wrong for good.", cluster: onEKS,
			objects: controlPlane(func(c *eksv1.AWSManagedControlPlane) { c.Spec.EKSClusterName = "" }),
			err:     waiting(`AWSManagedControlPlane "prod-control-plane" does not have a name in EKS yet`),
		},
		{
			name: "another cloud", reason: "Waiting would not help.", objects: awsCluster(nil),
			cluster: func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef.Kind = "AzureCluster" },
			err:     &UnsupportedError{Cluster: "prod", Kind: "AzureCluster"},
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Load(t.Context(), tc.objects, clusterObject(tc.cluster))
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Fatalf("%s error (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLoadFailsIfReadingFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("the API server is gone")
	_, err := Load(t.Context(), store{broken: broken}, clusterObject(nil))
	var notReady *NotReadyError
	if !errors.Is(err, broken) || errors.As(err, &notReady) {
		t.Errorf("a failure is not a cluster that is not ready: %v", err)
	}
}

func TestLocateNeedsNoReadiness(t *testing.T) {
	t.Parallel()
	bare := awsCluster(func(c *capav1.AWSCluster) {
		c.Spec.NetworkSpec, c.Status = capav1.NetworkSpec{}, capav1.AWSClusterStatus{}
	})
	got, err := Locate(t.Context(), bare, clusterObject(func(c *clusterv1.Cluster) { c.Status = clusterv1.ClusterStatus{} }))
	if err != nil {
		t.Fatal(err)
	}
	want := Location{Region: "us-east-1", Identity: aws.Identity{Kind: aws.IdentityRole, Name: "tenant"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("location (-want +got):\n%s", diff)
	}
}

// TestTagsAreCAPAs holds that the tags equal the ones of CAPA's own functions, which define what is
// recognized as a cluster's.
func TestTagsAreCAPAs(t *testing.T) {
	t.Parallel()
	facts := &Facts{Name: "prod", KubernetesName: "team_prod", AdditionalTags: map[string]string{"team": "infra", "cost": "1"}}
	for _, name := range []string{"", "mine"} {
		own := map[string]string{
			"cost": "2", "kubernetes.io/cluster/team_prod": "stolen",
			"sigs.k8s.io/cluster-api-provider-aws/cluster/team_prod": "stolen", "sigs.k8s.io/cluster-api-provider-aws/role": "stolen",
		}
		if name != "" {
			own["Name"] = name
		}
		additional := capav1.Tags{}
		additional.Merge(facts.AdditionalTags)
		additional.Merge(own)
		additional[capav1.ClusterAWSCloudProviderTagKey("team_prod")] = string(capav1.ResourceLifecycleOwned)
		want := capav1.Build(capav1.BuildParams{
			ClusterName: "team_prod", Lifecycle: capav1.ResourceLifecycleOwned, Name: ptr.To("pool"), Role: ptr.To("node"), Additional: additional,
		})
		got := facts.OwnedTags("pool", own)
		if diff := cmp.Diff(map[string]string(want), got); diff != "" {
			t.Errorf("tags (-CAPA's +ours):\n%s", diff)
		}
		if !capav1.Tags(got).HasOwned("team_prod") || !capav1.Tags(got).HasAWSCloudProviderOwned("team_prod") {
			t.Errorf("CAPA does not recognize %v as owned", got)
		}
	}
	if diff := cmp.Diff(map[string]string{"team": "infra", "cost": "1"}, facts.AdditionalTags); diff != "" {
		t.Errorf("the facts have changed (-want +got):\n%s", diff)
	}
}

func TestImageLookupOr(t *testing.T) {
	t.Parallel()
	got := ImageLookup{Org: "pool"}.Or(ImageLookup{Format: "cluster", Org: "cluster"})
	if diff := cmp.Diff(ImageLookup{Format: "cluster", Org: "pool"}, got); diff != "" {
		t.Errorf("each field for itself (-want +got):\n%s", diff)
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	network := func(id string) capav1.NetworkStatus {
		return capav1.NetworkStatus{SecurityGroups: map[capav1.SecurityGroupRole]capav1.SecurityGroup{capav1.SecurityGroupNode: {ID: id}}}
	}
	meta := func(generation int64, labels ...string) metav1.ObjectMeta {
		meta := metav1.ObjectMeta{Name: "prod", Generation: generation, ResourceVersion: "1", Labels: map[string]string{}}
		for _, label := range labels {
			meta.Labels[label] = ""
		}
		return meta
	}
	for _, row := range []struct {
		reason        string
		before, after client.Object
		want          bool
	}{
		{
			"core counts the replicas of all pools", &clusterv1.Cluster{ObjectMeta: meta(1)},
			&clusterv1.Cluster{ObjectMeta: meta(1), Status: clusterv1.ClusterStatus{Workers: &clusterv1.WorkersStatus{DesiredReplicas: ptr.To[int32](3)}}}, false,
		},
		{"it is paused, or to be deleted", &clusterv1.Cluster{ObjectMeta: meta(1)}, &clusterv1.Cluster{ObjectMeta: meta(2)}, true},
		{
			"its infrastructure is ready", &clusterv1.Cluster{ObjectMeta: meta(1)},
			clusterObject(func(cluster *clusterv1.Cluster) { cluster.ObjectMeta = meta(1) }), true,
		},
		{
			"CAPA looked again", &capav1.AWSCluster{ObjectMeta: meta(1)},
			&capav1.AWSCluster{ObjectMeta: meta(1), Status: capav1.AWSClusterStatus{Ready: true}}, false,
		},
		{
			"CAPA made a security group", &capav1.AWSCluster{ObjectMeta: meta(1)},
			&capav1.AWSCluster{ObjectMeta: meta(1), Status: capav1.AWSClusterStatus{Network: network("sg-1")}}, true,
		},
		{"it belongs to a Cluster now", &capav1.AWSCluster{ObjectMeta: meta(1)}, &capav1.AWSCluster{ObjectMeta: meta(1, clusterv1.ClusterNameLabel)}, true},
		{
			"the control plane was upgraded", &eksv1.AWSManagedControlPlane{ObjectMeta: meta(1)},
			&eksv1.AWSManagedControlPlane{ObjectMeta: meta(1), Status: eksv1.AWSManagedControlPlaneStatus{Version: ptr.To("1.34")}}, true,
		},
		{
			"an add-on of the control plane is there", &eksv1.AWSManagedControlPlane{ObjectMeta: meta(1)},
			&eksv1.AWSManagedControlPlane{ObjectMeta: meta(1), Status: eksv1.AWSManagedControlPlaneStatus{Addons: []eksv1.AddonState{{Name: "coredns"}}}}, false,
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			row.after.SetResourceVersion("2")
			if got := Changed(row.before, row.after); got != row.want {
				t.Errorf("it is %v, want %v", got, row.want)
			}
		})
	}
}

// TestReservedTags holds that the tags of a cluster cannot say that its nodes are another namespace's.
func TestReservedTags(t *testing.T) {
	t.Parallel()
	got := withoutReserved(map[string]string{"team": "infra", infrav1.TagLaunchConfig: "blue/prod/pool", infrav1.TagMachinePool: "blue/prod/pool"})
	if diff := cmp.Diff(map[string]string{"team": "infra"}, got); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}
