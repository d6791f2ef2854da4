// Package cluster owns what a pool needs to know about its Cluster: where it is in AWS, its
// network, and the settings that pools inherit. It reads CAPA's cluster kinds, AWSCluster for
// self-managed control planes and AWSManagedControlPlane for EKS, and turns either into the same
// Facts, so that no other package knows that there are two.
package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
)

// The kinds that are read, and what Cluster API calls them.
const (
	kindAWSCluster             = "AWSCluster"
	kindAWSManagedControlPlane = "AWSManagedControlPlane"
)

// Facts is a Cluster as its pools see it.
type Facts struct {
	// Namespace and Name of the Cluster object.
	Namespace, Name string
	// KubernetesName is the cluster's name in AWS tags: the Cluster's name, or the EKS cluster's.
	KubernetesName string
	Region         string
	VPCID          string
	// Subnets of the cluster's network, in the order of the cluster's spec.
	Subnets []Subnet
	// NodeSecurityGroupIDs are the groups that every node must be in: the nodes' own and the one
	// that the cloud provider adds load balancer rules to; with EKS the cluster's and CAPA's
	// additional group for nodes.
	NodeSecurityGroupIDs []string
	// AdditionalTags are put on everything that belongs to the cluster. A pool's own tags win over them.
	AdditionalTags map[string]string
	// SSHKeyName is nil where the cluster does not say; an empty name means no key.
	SSHKeyName *string
	// ImageLookup is used for what a pool does not say itself.
	ImageLookup ImageLookup
	// EKS is true if the control plane is Amazon EKS.
	EKS bool
	// ControlPlane is the name of the object that stands for an EKS control plane, and
	// ControlPlaneVersion the Kubernetes version that it has, such as 1.34. Both are empty for a
	// self-managed one.
	ControlPlane, ControlPlaneVersion string
	// BastionSecurityGroupID is the security group of the cluster's bastion host, empty if it has
	// none.
	BastionSecurityGroupID string
	// ClusterSecurityGroupID is the security group that EKS created for the cluster, empty for a
	// self-managed control plane.
	ClusterSecurityGroupID string
	// Bucket is the cluster's own in S3. It is empty for a cluster without one.
	Bucket string
	// Identity is the one that the cluster names; the zero Identity if it names none.
	Identity aws.Identity
}

// Subnet is one of the cluster's subnets.
type Subnet struct {
	// ID is AWS's id.
	ID               string
	AvailabilityZone string
	// Public subnets route to an internet gateway.
	Public bool
	// Edge subnets are in a Local Zone or Wavelength Zone, where not every instance type exists:
	// pools are only placed there when they name the zone.
	Edge bool
	Tags map[string]string
}

// Secondary says that the subnet belongs to the pods' network, and nodes are not launched into it.
func (s Subnet) Secondary() bool {
	return s.Tags[infrav1.TagSubnetAssociation] == infrav1.TagValueSecondary
}

// ImageLookup says how machine images are found by name. Empty fields have the defaults of package
// discovery.
type ImageLookup struct {
	// Format is the pattern of the image's name, with {{.BaseOS}} and {{.K8sVersion}}; * and ? are wildcards.
	Format string
	// Org is the account that owns the images.
	Org string
	// BaseOS is what {{.BaseOS}} stands for, such as ubuntu-24.04.
	BaseOS string
}

// Or returns the lookup with what it leaves out taken from another.
func (l ImageLookup) Or(fallback ImageLookup) ImageLookup {
	if l.Format == "" {
		l.Format = fallback.Format
	}
	if l.Org == "" {
		l.Org = fallback.Org
	}
	if l.BaseOS == "" {
		l.BaseOS = fallback.BaseOS
	}
	return l
}

// Location is as whom and where to call AWS for a cluster.
type Location struct {
	Region   string
	Identity aws.Identity
}

// LoadNamed reads a Cluster and its facts, as Load does. The Cluster is nil if it could not be read.
func LoadNamed(ctx context.Context, reader client.Reader, namespace, name string) (*clusterv1.Cluster, *Facts, error) {
	owner := &clusterv1.Cluster{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, owner); err != nil {
		return nil, nil, fmt.Errorf("reading Cluster %q: %w", name, err)
	}
	facts, err := Load(ctx, reader, owner)
	if err != nil {
		return owner, nil, fmt.Errorf("reading the infrastructure of Cluster %q: %w", name, err)
	}
	return owner, facts, nil
}

// Load reads the facts of a cluster whose infrastructure is ready.
// The error is a *NotReadyError while something is still missing, an *UnsupportedError if the
// cluster is not CAPA's.
func Load(ctx context.Context, reader client.Reader, cluster *clusterv1.Cluster) (*Facts, error) {
	// The objects first, the signal last: which object is missing is the better message.
	source, err := load(ctx, reader, cluster)
	if err != nil {
		return nil, err
	}
	if !ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) {
		return nil, &NotReadyError{
			Reason:  ReasonWaitingForClusterInfrastructure,
			Message: fmt.Sprintf("the infrastructure of Cluster %q is not provisioned yet", cluster.Name),
		}
	}
	return source.facts(cluster)
}

// Changed reports whether the facts of a cluster, and whether it is ready or paused, may have
// changed with an update of one of its objects: the Cluster, or one that Load reads. Core Cluster
// API counts the replicas of all pools in the Cluster's status. If each of those writes concerned
// every pool, creating pools would cost the square of their number.
func Changed(before, after client.Object) bool {
	// Deletion is another generation too (Kubernetes: API concepts, "resource deletion").
	if before.GetGeneration() != after.GetGeneration() || before.GetUID() != after.GetUID() ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) || !maps.Equal(before.GetLabels(), after.GetLabels()) {
		return true
	}
	return !equality.Semantic.DeepEqual(statusRead(before), statusRead(after))
}

// statusRead returns the part of an object's status that is read.
func statusRead(object client.Object) any {
	switch object := object.(type) {
	case *clusterv1.Cluster:
		return object.Status.Initialization
	case *capav1.AWSCluster:
		return object.Status.Network
	case *eksv1.AWSManagedControlPlane:
		return []any{object.Status.Network, object.Status.Version}
	}
	return object.GetResourceVersion()
}

// Locate finds out where a cluster is, without requiring that it is ready: deleting a pool needs
// only its location. It returns the same errors as Load.
func Locate(ctx context.Context, reader client.Reader, cluster *clusterv1.Cluster) (Location, error) {
	source, err := load(ctx, reader, cluster)
	if err != nil {
		return Location{}, err
	}
	return Location{Region: source.region, Identity: source.identity()}, nil
}

// LocationOf returns where an EKS control plane is.
func LocationOf(controlPlane *eksv1.AWSManagedControlPlane) Location {
	source := fromManagedControlPlane(controlPlane)
	return Location{Region: source.region, Identity: source.identity()}
}

// IsEKS reports whether the Cluster's control plane is Amazon EKS.
func IsEKS(cluster *clusterv1.Cluster) bool {
	return cluster.Spec.ControlPlaneRef.Kind == kindAWSManagedControlPlane
}

// source holds what AWSCluster and AWSManagedControlPlane have in common, in CAPA's own types.
type source struct {
	object         string
	region         string
	network        capav1.NetworkSpec
	status         capav1.NetworkStatus
	identityRef    *capav1.AWSIdentityReference
	sshKeyName     *string
	additionalTags capav1.Tags
	lookup         ImageLookup
	eks            bool
	eksName        string
	controlPlane   string
	version        string
	bastion        bool
	bucket         string
}

func load(ctx context.Context, reader client.Reader, cluster *clusterv1.Cluster) (*source, error) {
	if ref := cluster.Spec.ControlPlaneRef; IsEKS(cluster) {
		controlPlane := &eksv1.AWSManagedControlPlane{}
		if err := get(ctx, reader, cluster, ref, controlPlane); err != nil {
			return nil, err
		}
		return fromManagedControlPlane(controlPlane), nil
	}
	ref := cluster.Spec.InfrastructureRef
	switch {
	case !ref.IsDefined():
		return nil, &NotReadyError{
			Reason:  ReasonWaitingForClusterInfrastructure,
			Message: fmt.Sprintf("Cluster %q has no spec.infrastructureRef yet", cluster.Name),
		}
	case ref.Kind != kindAWSCluster:
		return nil, &UnsupportedError{Cluster: cluster.Name, Kind: ref.Kind}
	}
	awsCluster := &capav1.AWSCluster{}
	if err := get(ctx, reader, cluster, ref, awsCluster); err != nil {
		return nil, err
	}
	return fromAWSCluster(awsCluster), nil
}

func get(
	ctx context.Context, reader client.Reader, cluster *clusterv1.Cluster,
	ref clusterv1.ContractVersionedObjectReference, into client.Object,
) error {
	err := reader.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, into)
	if apierrors.IsNotFound(err) {
		return &NotReadyError{
			Reason:  ReasonClusterInfrastructureMissing,
			Message: fmt.Sprintf("%s %q, which Cluster %q refers to, does not exist", ref.Kind, ref.Name, cluster.Name),
		}
	}
	if err != nil {
		return fmt.Errorf("reading %s %q of Cluster %q: %w", ref.Kind, ref.Name, cluster.Name, err)
	}
	return nil
}

func fromAWSCluster(c *capav1.AWSCluster) *source {
	bucket := ""
	if c.Spec.S3Bucket != nil {
		bucket = c.Spec.S3Bucket.Name
	}
	return &source{
		bucket:         bucket,
		object:         fmt.Sprintf("%s %q", kindAWSCluster, c.Name),
		region:         c.Spec.Region,
		network:        c.Spec.NetworkSpec,
		status:         c.Status.Network,
		identityRef:    c.Spec.IdentityRef,
		sshKeyName:     c.Spec.SSHKeyName,
		additionalTags: c.Spec.AdditionalTags,
		lookup:         ImageLookup{Format: c.Spec.ImageLookupFormat, Org: c.Spec.ImageLookupOrg, BaseOS: c.Spec.ImageLookupBaseOS},
	}
}

func fromManagedControlPlane(c *eksv1.AWSManagedControlPlane) *source {
	return &source{
		object:         fmt.Sprintf("%s %q", kindAWSManagedControlPlane, c.Name),
		region:         c.Spec.Region,
		network:        c.Spec.NetworkSpec,
		status:         c.Status.Network,
		identityRef:    c.Spec.IdentityRef,
		sshKeyName:     c.Spec.SSHKeyName,
		additionalTags: c.Spec.AdditionalTags,
		lookup:         ImageLookup{Format: c.Spec.ImageLookupFormat, Org: c.Spec.ImageLookupOrg, BaseOS: c.Spec.ImageLookupBaseOS},
		eks:            true,
		eksName:        c.Spec.EKSClusterName,
		controlPlane:   c.Name,
		version:        cmp.Or(ptr.Deref(c.Status.Version, ""), ptr.Deref(c.Spec.Version, "")),
		bastion:        c.Spec.Bastion.Enabled,
	}
}

func (s *source) identity() aws.Identity {
	if s.identityRef == nil {
		return aws.Identity{}
	}
	return aws.Identity{Kind: aws.IdentityKind(s.identityRef.Kind), Name: s.identityRef.Name}
}

func (s *source) facts(cluster *clusterv1.Cluster) (*Facts, error) {
	groups, err := s.nodeSecurityGroupIDs()
	if err != nil {
		return nil, err
	}
	name := cluster.Name
	if s.eks {
		name = s.eksName
	}
	if name == "" {
		return nil, s.lacks("a name in EKS")
	}
	if s.network.VPC.ID == "" {
		return nil, s.lacks("a VPC")
	}
	return &Facts{
		Namespace:            cluster.Namespace,
		Name:                 cluster.Name,
		KubernetesName:       name,
		Region:               s.region,
		VPCID:                s.network.VPC.ID,
		Subnets:              subnets(s.network.Subnets),
		NodeSecurityGroupIDs: groups,
		AdditionalTags:       withoutReserved(s.additionalTags),
		SSHKeyName:           s.sshKeyName,
		ImageLookup:          s.lookup,
		EKS:                  s.eks,
		ControlPlane:         s.controlPlane,
		ControlPlaneVersion:  s.version,

		BastionSecurityGroupID: s.bastionSecurityGroupID(),
		ClusterSecurityGroupID: s.status.SecurityGroups[eksv1.SecurityGroupCluster].ID,

		Bucket:   s.bucket,
		Identity: s.identity(),
	}, nil
}

// nodeSecurityGroupIDs reads the IDs from the status, where CAPA puts the groups that it created
// and the groups that spec.network.securityGroupOverrides gives; an override that is not there yet
// is taken from the spec.
func (s *source) nodeSecurityGroupIDs() ([]string, error) {
	roles := []capav1.SecurityGroupRole{capav1.SecurityGroupNode, capav1.SecurityGroupLB}
	if s.eks {
		roles = []capav1.SecurityGroupRole{capav1.SecurityGroupNode, capav1.SecurityGroupEKSNodeAdditional}
	}
	var ids []string
	for _, role := range roles {
		id := s.status.SecurityGroups[role].ID
		if id == "" {
			id = s.network.SecurityGroupOverrides[role]
		}
		if id == "" {
			return nil, s.lacks(fmt.Sprintf("a security group for role %q", role))
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (s *source) bastionSecurityGroupID() string {
	if !s.bastion {
		return ""
	}
	return s.status.SecurityGroups[capav1.SecurityGroupBastion].ID
}

func (s *source) lacks(what string) error {
	return &NotReadyError{
		Reason:  ReasonWaitingForClusterInfrastructure,
		Message: fmt.Sprintf("%s does not have %s yet", s.object, what),
	}
}

func subnets(specs capav1.Subnets) []Subnet {
	found := make([]Subnet, 0, len(specs))
	for i := range specs {
		found = append(found, Subnet{
			ID:               specs[i].GetResourceID(),
			AvailabilityZone: specs[i].AvailabilityZone,
			Public:           specs[i].IsPublic,
			Edge:             specs[i].IsEdge(),
			Tags:             merged(specs[i].Tags),
		})
	}
	return found
}
