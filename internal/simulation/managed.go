package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/managedmachinepool"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/watches"
)

const (
	// eksCluster is the name in EKS of the cluster of a managed pool.
	eksCluster = "edge-eks"
	// nodegroupTag is the tag by which EKS marks the instances of a node group.
	nodegroupTag = "eks:nodegroup-name"
)

// managed is the kind AWSManagedMachinePool, whose nodes EKS keeps in a managed node group.
var managed = poolKind{
	name: "AWSManagedMachinePool", controller: managedmachinepool.Name,
	empty:    func() client.Object { return &infrav1.AWSManagedMachinePool{} },
	template: func(pool client.Object) *infrav1.AWSLaunchTemplate { return managedPool(pool).Spec.AWSLaunchTemplate },

	createForeign: createForeignNodegroup, describeForeign: describeForeignNodegroup,
	create: createManaged, register: registerManaged,
	groups: func(cloud *clouds.Cloud) *observe.Sweep[autoscalinggroup.Group] { return cloud.SeenManagedGroups },
	deeds:  managedDeeds, steeredDeeds: slices.Concat(managedDeeds, steeringDeeds), answers: answers,

	changed: func(o *observer, object client.Object) {
		pool := managedPool(object)
		wanted, leaving, _ := ownership.ReplacedNodegroups(pool)
		o.facts.managed.recorded = []string{ownership.RecordedNodegroup(pool), wanted, leaving}
		o.countsLeaving(pool.Status.Instances, pool.Status.Replicas, pool.Status.ReadyReplicas)
		versionsAreTrue(o, &pool.Status)
	},
	owns: ownsManaged, happened: happenedManaged, ended: endedManaged, afterCall: afterCallManaged, unsettled: unsettledManaged, left: leftManaged,
}

// managedDeeds lists what users and operators may do to a pool of this kind.
var managedDeeds = []deed{
	changeInstanceType, changeInstanceType, changeVolume, scaleManaged, scaleManaged, rotateToken, rotateToken, label,
	changeAndTakeBack, changeAndTakeBack, terminateInstance, terminateInstance, deleteLaunchConfig, deletePool,
	labelNodes, taintNodes, changeUpdateConfig, deleteNodegroup, deleteTemplate, failUpdate,
}

// managedNames are the names of the AWSManagedMachinePool of a schedule.
var managedNames = poolNames{name: "nodes", cluster: "edge", secret: "nodes-bootstrap"}

func managedPool(pool client.Object) *infrav1.AWSManagedMachinePool {
	return pool.(*infrav1.AWSManagedMachinePool)
}

// managedFacts holds what an observer records about a managed pool in addition to facts.
type managedFacts struct {
	// autoscaled is true if an external autoscaler decides the size, and scaled is the size that it
	// set last; nil while the node group has another one, because it was created again.
	autoscaled bool
	scaled     *int32
	// recorded are the names of node groups that the pool has recorded, empty for none.
	recorded []string
	// rolls are the updates that replaced the nodes of the pool's node groups.
	rolls []roll
	// condemned are the node groups whose nodes terminate for a reason that is not Slipway's: their
	// template or they themselves were deleted, or EKS could not create them.
	condemned map[string]bool
	// lost are the launch templates that were deleted outside Slipway.
	lost map[string]bool
	// foreignRoles are the roles of another owner.
	foreignRoles []string
}

func newManagedFacts() managedFacts {
	return managedFacts{condemned: map[string]bool{}, lost: map[string]bool{}}
}

// roll is an update that replaces the nodes of a node group.
type roll struct {
	group string
	began time.Time
	// ended is zero while it is under way.
	ended time.Time
}

// createManaged creates what Cluster API and CAPA would have created, and the pool.
func createManaged(ctx context.Context, w *World, o *observer) error {
	o.facts.managed.autoscaled = w.chance.happens(0.3)
	network := &eksv1.AWSManagedControlPlane{ObjectMeta: named(o.cluster)}
	network.Spec = eksv1.AWSManagedControlPlaneSpec{
		EKSClusterName: eksCluster, Region: region, Version: ptr.To("v1.34"),
		NetworkSpec: capav1.NetworkSpec{VPC: capav1.VPCSpec{ID: "vpc-0a10000000000000a"}, Subnets: capav1.Subnets{{ID: subnet, AvailabilityZone: region + "a"}}},
	}
	setStatus := func() {
		network.Status.Ready = true
		network.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{
			capav1.SecurityGroupNode: {ID: securityGroup}, capav1.SecurityGroupEKSNodeAdditional: {ID: securityGroup},
		}
	}
	cluster := &clusterv1.Cluster{ObjectMeta: named(o.cluster)}
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: eksv1.GroupVersion.Group, Kind: "AWSManagedControlPlane", Name: o.cluster}
	machinePool := o.machinePool(1+w.chance.Int32N(2), "v1.34.1")
	if o.facts.managed.autoscaled {
		machinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "cluster-autoscaler"}
	}
	if w.chance.happens(0.7) {
		machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To(o.secret)
	}
	if err := w.createOwners(ctx, o, network, setStatus, cluster, machinePool); err != nil {
		return err
	}
	pool := &infrav1.AWSManagedMachinePool{ObjectMeta: o.ownedBy(machinePool)}
	pool.Spec.AMIType, pool.Spec.SubnetIDs = ptr.To(infrav1.AMITypeAL2023X86), []string{subnet}
	pool.Spec.AdditionalTags = map[string]string{"team": "blue"}
	pool.Spec.VersionsToKeep = pick(w.chance, nil, ptr.To[int32](1), ptr.To[int32](2))
	pool.Spec.TemplateLossPolicy = pick(w.chance, "", infrav1.TemplateLossReplace)
	if o.facts.managed.autoscaled || w.chance.happens(0.5) {
		pool.Spec.Scaling = &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](5)}
	}
	pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	if err := w.user.Create(ctx, pool); err != nil {
		return fmt.Errorf("creating the pool: %w", err)
	}
	return nil
}

// startEKS creates the EKS cluster, in which nodes may not join, or may keep their pods, for as long
// as there are faults.
func (p *pools) startEKS() error {
	w, behavior := p.world, p.world.sim.Behavior()
	nodes := pick(w.chance,
		awssim.NodeRule{}, awssim.NodeRule{}, awssim.NodeRule{DrainTime: 20 * time.Second}, awssim.NodeRule{DrainTime: 2 * time.Minute},
		awssim.NodeRule{NeverDrained: true}, awssim.NodeRule{NeverReady: true},
	)
	p.outage = nodes.NeverReady && w.chance.happens(0.5)
	behavior.Nodes = []awssim.NodeRule{nodes}
	w.sim.SetBehavior(behavior)
	return w.sim.Region(account, region).SetCluster(awssim.Cluster{Name: eksCluster, Version: "1.34", Subnets: []string{subnet}})
}

// outage is for how long nodes do not join in schedules in which EKS gives up on a node group: it waits for
// nodes for 15 minutes.
const outage = 40 * time.Minute

// calmEKS has nodes join and drain from now on, or after an outage.
func (p *pools) calmEKS(ctx context.Context) error {
	if p.outage {
		if err := p.world.pass(ctx, outage); err != nil {
			return err
		}
	}
	behavior := p.world.sim.Behavior()
	if len(behavior.Nodes) > 0 {
		behavior.Nodes = []awssim.NodeRule{{DrainTime: 20 * time.Second}}
		p.world.sim.SetBehavior(behavior)
	}
	return nil
}

// registerManaged adds the controller of AWSManagedMachinePools to a process.
func registerManaged(p *poolProcess, o *observer, gate *gate, settings watches.Settings) error {
	pools := managedmachinepool.New(&managedmachinepool.Kind{
		Client: p.manager.client, Live: p.manager.live, Clouds: p.registry, Clock: o.clock,
		Settings: managedmachinepool.Settings{SettleWindow: settleWindow},
	}, report.Reporter{Recorder: recorder{gate.world}})
	return pools.Register(p.manager, settings, networks())
}

// ownedNodegroups returns the owner's node groups.
func (h holdings) ownedNodegroups() []awssim.Nodegroup {
	return slices.DeleteFunc(h.Nodegroups(), func(group awssim.Nodegroup) bool { return group.Tags[infrav1.TagManagedMachinePool] != h.owner })
}

// autoScalingGroup returns the name of the Auto Scaling group of a node group, empty for none.
func autoScalingGroup(group awssim.Nodegroup) string {
	if groups := group.Resources.AutoScalingGroups; len(groups) > 0 {
		return *groups[0].Name
	}
	return ""
}

// ownedRoles returns the names of the owner's node roles.
func (w *World) ownedRoles(ctx context.Context, owner string) ([]string, error) {
	listed, err := w.person.iam.ListRoles(ctx, &iam.ListRolesInput{})
	if err != nil {
		return nil, fmt.Errorf("listing roles: %w", err)
	}
	var names []string
	for _, role := range listed.Roles {
		if !strings.HasSuffix(*role.RoleName, infrav1.NodeRoleSuffix) {
			continue
		}
		found, err := w.person.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: role.RoleName})
		if err != nil {
			return nil, fmt.Errorf("reading role %s: %w", *role.RoleName, err)
		}
		for _, tag := range found.Role.Tags {
			if *tag.Key == infrav1.TagManagedMachinePool && *tag.Value == owner {
				names = append(names, *role.RoleName)
			}
		}
	}
	return names, nil
}
