package lab

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // CAPA's kinds are made of its types
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

// controllerIdentityName is the identity that CAPA creates by itself and that clusters have by
// default.
const controllerIdentityName = "default"

// createControllerIdentity creates what CAPA's AutoControllerIdentityCreator does: the controllers'
// own credentials, usable from every namespace.
func (l *Lab) createControllerIdentity(ctx context.Context) error {
	identity := &capav1.AWSClusterControllerIdentity{
		ObjectMeta: metav1.ObjectMeta{Name: controllerIdentityName},
		Spec: capav1.AWSClusterControllerIdentitySpec{
			AWSClusterIdentitySpec: capav1.AWSClusterIdentitySpec{AllowedNamespaces: &capav1.AllowedNamespaces{}},
		},
	}
	if err := l.client.Create(ctx, identity); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the default AWSClusterControllerIdentity: %w", err)
	}
	return nil
}

// TagNetwork tags the private subnets and the nodes' security group of the default world for a cluster, as
// the creator of a cluster does.
func TagNetwork(ctx context.Context, client *ec2.Client, cluster string) error {
	_, err := client.CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: []string{"subnet-0b2000000000000aa", "subnet-0b2000000000000ab", "subnet-0b2000000000000ac", "sg-0c1000000000000ab"},
		Tags:      []ec2types.Tag{{Key: ptr.To("kubernetes.io/cluster/" + cluster), Value: ptr.To("owned")}},
	})
	if err != nil {
		return fmt.Errorf("tagging the network of cluster %s: %w", cluster, err)
	}
	return nil
}

func controllerIdentity() *capav1.AWSIdentityReference {
	return &capav1.AWSIdentityReference{Name: controllerIdentityName, Kind: capav1.ControllerIdentityKind}
}

// selfManaged creates an AWSCluster and a KubeadmControlPlane as their controllers leave them.
func (l *Lab) selfManaged(ctx context.Context, opts ClusterOptions) (infrastructure, controlPlane client.Object, err error) {
	network := opts.Cloud.network()
	host, port := l.Workload.Address()
	awsCluster := &capav1.AWSCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: opts.Namespace, Name: opts.Name},
		Spec: capav1.AWSClusterSpec{
			Region:               opts.Cloud.Region(),
			Partition:            "aws",
			SSHKeyName:           ptr.To("default"),
			NetworkSpec:          network.spec,
			ControlPlaneEndpoint: clusterv1beta1.APIEndpoint{Host: host, Port: port},
			AdditionalTags:       opts.AdditionalTags,
			IdentityRef:          controllerIdentity(),
			Bastion:              capav1.Bastion{AllowedCIDRBlocks: []string{"0.0.0.0/0"}},
		},
	}
	if opts.Bucket != "" {
		awsCluster.Spec.S3Bucket = &capav1.S3Bucket{Name: opts.Bucket, NodesIAMInstanceProfiles: []string{"nodes.cluster-api-provider-aws.sigs.k8s.io"}}
	}
	awsCluster.Status = capav1.AWSClusterStatus{
		Ready:          true,
		FailureDomains: network.failureDomains,
		Network: capav1.NetworkStatus{
			SecurityGroups: network.groups(capav1.SecurityGroupNode, capav1.SecurityGroupLB, capav1.SecurityGroupControlPlane, capav1.SecurityGroupAPIServerLB),
			APIServerELB: capav1.LoadBalancer{
				Name: opts.Name + "-apiserver", DNSName: net.JoinHostPort(host, strconv.Itoa(int(port))),
				Scheme: capav1.ELBSchemeInternetFacing, LoadBalancerType: capav1.LoadBalancerTypeNLB,
			},
		},
		Conditions: trueConditions(
			clusterv1beta1.ReadyCondition, capav1.VpcReadyCondition, capav1.SubnetsReadyCondition,
			capav1.ClusterSecurityGroupsReadyCondition, capav1.LoadBalancerReadyCondition,
		),
	}
	if err := l.createWithStatus(ctx, awsCluster, func() client.Object { return awsCluster.DeepCopy() }); err != nil {
		return nil, nil, err
	}
	kubeadm := &controlplanev1.KubeadmControlPlane{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: opts.Namespace, Name: opts.Name + "-control-plane",
			Labels: map[string]string{clusterv1.ClusterNameLabel: opts.Name},
		},
		Spec: controlplanev1.KubeadmControlPlaneSpec{
			Replicas: ptr.To[int32](1),
			Version:  opts.KubernetesVersion,
			MachineTemplate: controlplanev1.KubeadmControlPlaneMachineTemplate{
				Spec: controlplanev1.KubeadmControlPlaneMachineTemplateSpec{
					InfrastructureRef: clusterv1.ContractVersionedObjectReference{
						APIGroup: capav1.GroupVersion.Group, Kind: "AWSMachineTemplate", Name: opts.Name + "-control-plane",
					},
				},
			},
		},
	}
	kubeadm.Status = controlplanev1.KubeadmControlPlaneStatus{
		Initialization: controlplanev1.KubeadmControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(true)},
		Versions:       []clusterv1.StatusVersion{{Version: opts.KubernetesVersion, Replicas: 1}},
		Replicas:       ptr.To[int32](1), ReadyReplicas: ptr.To[int32](1), AvailableReplicas: ptr.To[int32](1), UpToDateReplicas: ptr.To[int32](1),
		Conditions: []metav1.Condition{
			trueCondition(controlplanev1.KubeadmControlPlaneInitializedCondition, controlplanev1.KubeadmControlPlaneInitializedReason),
			trueCondition(controlplanev1.KubeadmControlPlaneAvailableCondition, controlplanev1.KubeadmControlPlaneAvailableReason),
		},
	}
	if err := l.createWithStatus(ctx, kubeadm, func() client.Object { return kubeadm.DeepCopy() }); err != nil {
		return nil, nil, err
	}
	return awsCluster, kubeadm, nil
}

// managed creates an AWSManagedCluster and an AWSManagedControlPlane as their controllers leave
// them.
func (l *Lab) managed(ctx context.Context, opts ClusterOptions) (infrastructure, controlPlane client.Object, err error) {
	network := opts.Cloud.network()
	host, port := l.Workload.Address()
	endpoint := clusterv1beta1.APIEndpoint{Host: host, Port: port}
	awsCluster := &capav1.AWSManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: opts.Namespace, Name: opts.Name},
		Spec:       capav1.AWSManagedClusterSpec{ControlPlaneEndpoint: endpoint},
	}
	awsCluster.Status = capav1.AWSManagedClusterStatus{Ready: true, FailureDomains: network.failureDomains}
	if err := l.createWithStatus(ctx, awsCluster, func() client.Object { return awsCluster.DeepCopy() }); err != nil {
		return nil, nil, err
	}
	// CAPA's versions of EKS clusters are minor ones.
	minor := opts.KubernetesVersion
	if parts := strings.SplitN(minor, ".", 3); len(parts) == 3 {
		minor = parts[0] + "." + parts[1]
	}
	if err := opts.Cloud.setCluster(opts, minor); err != nil {
		return nil, nil, err
	}
	eks := &eksv1.AWSManagedControlPlane{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: opts.Namespace, Name: opts.Name + "-control-plane",
			Labels: map[string]string{clusterv1.ClusterNameLabel: opts.Name},
		},
		Spec: eksv1.AWSManagedControlPlaneSpec{
			EKSClusterName:       opts.EKSName,
			Region:               opts.Cloud.Region(),
			Partition:            "aws",
			SSHKeyName:           ptr.To("default"),
			Version:              &minor,
			NetworkSpec:          network.spec,
			ControlPlaneEndpoint: endpoint,
			AdditionalTags:       opts.AdditionalTags,
			IdentityRef:          controllerIdentity(),
			Bastion:              capav1.Bastion{AllowedCIDRBlocks: []string{"0.0.0.0/0"}},
			TokenMethod:          ptr.To(eksv1.EKSTokenMethodIAMAuthenticator),
		},
	}
	eks.Status = eksv1.AWSManagedControlPlaneStatus{
		Ready: true, Initialized: true, ExternalManagedControlPlane: ptr.To(true),
		FailureDomains: network.failureDomains,
		Version:        &minor,
		Network: capav1.NetworkStatus{
			SecurityGroups: network.groups(capav1.SecurityGroupNode, capav1.SecurityGroupEKSNodeAdditional, capav1.SecurityGroupControlPlane),
		},
		Conditions: trueConditions(clusterv1beta1.ReadyCondition, eksv1.EKSControlPlaneReadyCondition, capav1.ClusterSecurityGroupsReadyCondition),
	}
	if err := l.createWithStatus(ctx, eks, func() client.Object { return eks.DeepCopy() }); err != nil {
		return nil, nil, err
	}
	return awsCluster, eks, nil
}

// EKSClusterName returns CAPA's default name for the EKS cluster of a Cluster (its webhook).
func EKSClusterName(namespace, name string) string { return namespace + "_" + name + "-control-plane" }

// setCluster creates the EKS cluster of a control plane in the simulated AWS, or gives it another
// version.
func (c *Cloud) setCluster(opts ClusterOptions, minor string) error {
	cluster := awssim.Cluster{Name: opts.EKSName, Version: strings.TrimPrefix(minor, "v")}
	for _, subnet := range c.network().spec.Subnets {
		cluster.Subnets = append(cluster.Subnets, subnet.ID)
	}
	return c.AWS.Region(opts.Account, c.Region()).SetCluster(cluster)
}

// createWithStatus creates an object and then its status. The copy is what carries the status past
// the creation, whose answer has none.
func (l *Lab) createWithStatus(ctx context.Context, object client.Object, snapshot func() client.Object) error {
	withStatus := snapshot()
	kind := l.reference(object).Kind
	if err := l.client.Create(ctx, object); err != nil {
		return fmt.Errorf("creating %s %q: %w", kind, object.GetName(), err)
	}
	withStatus.SetResourceVersion(object.GetResourceVersion())
	withStatus.SetUID(object.GetUID())
	if err := l.client.Status().Update(ctx, withStatus); err != nil {
		return fmt.Errorf("reporting the status of %s %q: %w", kind, object.GetName(), err)
	}
	object.SetResourceVersion(withStatus.GetResourceVersion())
	return nil
}

// network describes a region of the world for CAPA's specs.
type network struct {
	region         *world.Region
	spec           capav1.NetworkSpec
	failureDomains clusterv1beta1.FailureDomains
}

// network describes the first VPC of the first region as an unmanaged one: given by its ID, not
// created by CAPA.
func (c *Cloud) network() network {
	region := c.AWS.World().Region(c.Region())
	n := network{region: region, failureDomains: clusterv1beta1.FailureDomains{}}
	if len(region.VPCs) == 0 {
		return n
	}
	vpc := region.VPCs[0]
	n.spec.VPC = capav1.VPCSpec{ID: vpc.ID, CidrBlock: vpc.CIDR, Tags: vpc.Tags}
	for _, subnet := range region.Subnets {
		if subnet.VPC != vpc.ID {
			continue
		}
		n.spec.Subnets = append(n.spec.Subnets, capav1.SubnetSpec{
			ID: subnet.ID, ResourceID: subnet.ID, CidrBlock: subnet.CIDR, AvailabilityZone: subnet.Zone,
			IsPublic: subnet.MapPublicIPOnLaunch, Tags: subnet.Tags, ZoneType: ptr.To(capav1.ZoneTypeAvailabilityZone),
		})
		n.failureDomains[subnet.Zone] = clusterv1beta1.FailureDomainSpec{ControlPlane: true}
	}
	return n
}

// roleTag is the tag by which CAPA marks the purpose of a security group.
const roleTag = "sigs.k8s.io/cluster-api-provider-aws/role"

// groups finds the security groups of roles by CAPA's tag; a role that the world has no group for
// gets the VPC's default one.
func (n network) groups(roles ...capav1.SecurityGroupRole) map[capav1.SecurityGroupRole]capav1.SecurityGroup {
	found := map[capav1.SecurityGroupRole]capav1.SecurityGroup{}
	for _, role := range roles {
		for _, group := range n.region.SecurityGroups {
			if group.VPC != n.spec.VPC.ID || group.Name != "default" && group.Tags[roleTag] != string(role) {
				continue
			}
			if group.Name != "default" || found[role].ID == "" {
				found[role] = capav1.SecurityGroup{ID: group.ID, Name: group.Name, Tags: group.Tags}
			}
		}
	}
	return found
}

func trueCondition(kind, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(time.Now())}
}

func trueConditions(kinds ...clusterv1beta1.ConditionType) clusterv1beta1.Conditions {
	var list clusterv1beta1.Conditions
	for _, kind := range kinds {
		list = append(list, clusterv1beta1.Condition{Type: kind, Status: "True", LastTransitionTime: metav1.NewTime(time.Now())})
	}
	return list
}
