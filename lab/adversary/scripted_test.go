package adversary

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"

	"github.com/slipway-project/slipway/internal/ownership"
)

// attack is a scripted attempt of one tenant to reach what belongs to another party.
type attack struct {
	name, reason string
	run          func(n *tenant) error
	// after checks what no single call shows; nil for nothing.
	after func(n *tenant) error
}

// target is a resource that an attack goes for, of the third cluster or of the other tenant.
type target struct {
	template, templateName, group, groupARN string
}

func (n *tenant) third() target {
	return target{n.victim.template, n.victim.templateName, n.victim.group, n.victim.groupARN}
}

// neighbor returns what belongs to a pool of the other tenant, and nothing while that has none.
func (n *tenant) neighbor() target {
	config, pool := &infrav1.AWSLaunchConfig{}, &infrav1.AWSMachinePool{}
	key := n.other().honest.Key(n.other().numbers[2])
	if errors.Join(n.Client.Get(n.Context(), key, config), n.Client.Get(n.Context(), key, pool)) != nil {
		return target{}
	}
	return target{config.Status.LaunchTemplateID, config.Status.LaunchTemplateName, nameOfGroup(pool.Spec.ProviderID), pool.Spec.ProviderID}
}

// nameOfGroup returns the name in an Auto Scaling group's ARN.
func nameOfGroup(arn string) string {
	_, name, _ := strings.Cut(arn, "autoScalingGroupName/")
	return name
}

// hijack has a launch config claim a template with the annotation of adoption and with its name,
// and deletes the config.
func hijack(n *tenant, victim target) error {
	config := n.config("hijack")
	config.Spec.LaunchTemplateName = victim.templateName
	config.Annotations = map[string]string{infrav1.AdoptTemplateAnnotation: victim.template}
	if err := n.create(config); err != nil {
		return err
	}
	n.pass(3 * time.Minute)
	return n.user.Delete(n.Context(), config)
}

// seize deletes a pool whose spec names the group, with the marks that Slipway itself would have left.
func seize(n *tenant, victim target, cluster string) error {
	pool, others := n.pool(victim.group)
	pool.Spec.ProviderID, pool.Annotations = victim.groupARN, n.located(cluster)
	withFinalizer(pool)
	if err := n.create(pool, others...); err != nil {
		return err
	}
	return n.user.Delete(n.Context(), pool)
}

var attacks = []attack{
	{
		name: "a launch config adopts the template of the third cluster", reason: "tags of Cluster API Provider AWS prove that it is a cluster's, not this cluster's",
		run: func(n *tenant) error { return hijack(n, n.third()) },
	},
	{
		name: "a launch config adopts the template of the other tenant", reason: "the template has another owner",
		run: func(n *tenant) error { return hijack(n, n.neighbor()) },
	},
	{
		name: "a launch config with an invented controller adopts the template of the third cluster", reason: "the pool that would prove the adoption does not exist",
		run: func(n *tenant) error {
			config := n.config("hijack")
			config.Spec.LaunchTemplateName = n.victim.templateName
			config.Annotations = map[string]string{infrav1.AdoptTemplateAnnotation: n.victim.template}
			config.OwnerReferences = append(config.OwnerReferences, invented("AWSMachinePool", "hijack"))
			if err := n.create(config); err != nil {
				return err
			}
			n.pass(3 * time.Minute)
			return client.IgnoreNotFound(n.user.Delete(n.Context(), config))
		},
	},
	{
		name: "a pool of the attacker's controls a launch config that adopts the template of the third cluster", reason: "the pool's group does not launch from that template",
		run: func(n *tenant) error {
			pool, others := n.pool("hijack")
			if err := n.create(pool, others...); err != nil {
				return err
			}
			n.pass(2 * time.Minute)
			return change(n, &infrav1.AWSLaunchConfig{}, "hijack", func(config *infrav1.AWSLaunchConfig) {
				config.Annotations[infrav1.AdoptTemplateAnnotation] = n.victim.template
				config.Status.LaunchTemplateID = n.victim.template
			})
		},
	},
	{
		name: "a launch config that was never ready is deleted", reason: "nothing is deleted without the owner tag",
		run: func(n *tenant) error {
			config := n.config("unready")
			config.Spec.ClusterName, config.Spec.LaunchTemplateName = "absent", n.victim.templateName
			config.Annotations = n.located("absent")
			config.Annotations[infrav1.AdoptTemplateAnnotation] = n.victim.template
			withFinalizer(config)
			if err := n.create(config); err != nil {
				return err
			}
			return n.user.Delete(n.Context(), config)
		},
	},
	{
		name: "a pool that names the group of the third cluster is deleted", reason: "nothing is adopted in order to be deleted",
		run: func(n *tenant) error { return seize(n, n.third(), third) },
	},
	{
		name: "a pool that names the group of the third cluster is deleted, with a cluster that exists", reason: "the group belongs to another cluster",
		run: func(n *tenant) error { return seize(n, n.third(), rogue) },
	},
	{
		name: "a pool that names the group of the other tenant is deleted", reason: "the group has another owner",
		run: func(n *tenant) error { return seize(n, n.neighbor(), self) },
	},
	{
		name: "a pool adopts the group of the third cluster", reason: "the group belongs to another cluster",
		run: func(n *tenant) error {
			pool, others := n.pool(n.victim.group)
			pool.Spec.ProviderID = n.victim.groupARN
			pool.Annotations = map[string]string{infrav1.AdoptAnnotation: n.victim.groupARN, infrav1.RollAdoptedAnnotation: "true"}
			return n.create(pool, others...)
		},
	},
	{
		name: "a launch config follows the template of the third cluster", reason: "user data of another cluster is not read",
		run: func(n *tenant) error {
			config := &infrav1.AWSLaunchConfig{ObjectMeta: n.meta("follower", rogue)}
			config.Spec.ClusterName, config.Spec.Existing = rogue, &infrav1.ExistingLaunchTemplate{ID: n.victim.template}
			return n.create(config)
		},
	},
	{
		name: "a pool launches from the template of the other tenant", reason: "user data of another tenant is not read",
		run: func(n *tenant) error {
			victim := n.neighbor()
			config := &infrav1.AWSLaunchConfig{ObjectMeta: n.meta("follower", rogue)}
			config.Spec.ClusterName, config.Spec.Existing = rogue, &infrav1.ExistingLaunchTemplate{Name: victim.templateName}
			if err := n.create(config); err != nil {
				return err
			}
			pool, others := n.pool("follower-pool")
			pool.Spec.AWSLaunchTemplate, pool.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: "follower"}
			return n.create(pool, others...)
		},
	},
	{
		name: "a status names the template of the other tenant", reason: "any user of the namespace can write status",
		run: func(n *tenant) error {
			config := n.config("status")
			if err := n.create(config); err != nil {
				return err
			}
			n.pass(2 * time.Minute)
			victim := n.neighbor()
			if err := report(n, config, "status", func(config *infrav1.AWSLaunchConfig) {
				config.Status.LaunchTemplateID, config.Status.LaunchTemplateName, config.Status.Version = victim.template, victim.templateName, 1
			}); err != nil {
				return err
			}
			n.pass(2 * time.Minute)
			return n.user.Delete(n.Context(), config)
		},
	},
	{
		name: "a machine stands for an instance of the third cluster", reason: "an instance is terminated for its group, not for what an object says",
		run: func(n *tenant) error {
			machine := &infrav1.AWSMachinePoolMachine{ObjectMeta: n.meta("stand-in", rogue), Spec: infrav1.AWSMachinePoolMachineSpec{InstanceID: n.victim.instances[0]}}
			machine.Labels[clusterv1.MachinePoolNameLabel] = n.victim.group
			machine.Spec.ProviderID = "aws:///us-east-1a/" + n.victim.instances[0]
			machine.Annotations = n.located(third)
			pool, others := n.pool(n.victim.group)
			if err := n.create(pool, others...); err != nil {
				return err
			}
			machine.OwnerReferences = append(machine.OwnerReferences, owned(infrav1.GroupVersion.WithKind("AWSMachinePool"), pool))
			withFinalizer(machine)
			if err := n.create(machine); err != nil {
				return err
			}
			return n.user.Delete(n.Context(), machine)
		},
	},
	{
		name: "a managed pool names the node group of the third cluster", reason: "the node group has no owner tag of this pool's",
		run: func(n *tenant) error {
			pool, others := n.managedPool("takeover")
			pool.Spec.EKSNodegroupName, pool.Spec.ProviderIDList = n.victim.nodegroup, []string{"aws:///us-east-1a/" + n.victim.instances[0]}
			pool.Annotations = n.located(rogueManaged)
			pool.Annotations[ownership.EKSClusterAnnotation], pool.Annotations[ownership.NodegroupsAnnotation] = n.victim.cluster, n.victim.nodegroup
			withFinalizer(pool)
			if err := n.create(pool, others...); err != nil {
				return err
			}
			return n.user.Delete(n.Context(), pool)
		},
	},
	{
		name: "a managed pool names the node group and the role of the other tenant", reason: "the node group and the role have another owner",
		run: func(n *tenant) error {
			theirs := &infrav1.AWSManagedMachinePool{}
			n.must(n.Client.Get(n.Context(), n.other().managed.Key(managedPool), theirs))
			eksCluster := fmt.Sprintf("%s_%s-control-plane", n.other().namespace, managed)
			pool, others := n.managedPool("takeover")
			pool.Spec.EKSNodegroupName = theirs.Status.Nodegroup.Name
			pool.Annotations = n.located(rogueManaged)
			pool.Annotations[ownership.EKSClusterAnnotation] = eksCluster
			pool.Annotations[ownership.NodegroupsAnnotation] = theirs.Status.Nodegroup.Name
			withFinalizer(pool)
			if err := n.create(pool, others...); err != nil {
				return err
			}
			n.pass(2 * time.Minute)
			if err := n.user.Delete(n.Context(), pool); err != nil {
				return err
			}
			return nil
		},
	},
	{
		name: "a pool is deleted with the identity of the other tenant", reason: "the namespace may not use that identity",
		run: func(n *tenant) error {
			victim := n.neighbor()
			pool, others := n.pool(victim.group)
			pool.Spec.ProviderID, pool.Annotations = victim.groupARN, n.other().located(self)
			withFinalizer(pool)
			if err := n.create(pool, others...); err != nil {
				return err
			}
			return n.user.Delete(n.Context(), pool)
		},
	},
	{
		name: "a pool is deleted with the manager's own credentials", reason: "the namespace may not use them where allowedNamespaces leaves it out",
		run: func(n *tenant) error {
			pool, others := n.pool(n.victim.group)
			pool.Spec.ProviderID, pool.Annotations = n.victim.groupARN, n.located(third)
			pool.Annotations[ownership.IdentityAnnotation] = "AWSClusterControllerIdentity"
			delete(pool.Annotations, ownership.AccountAnnotation)
			withFinalizer(pool)
			if err := n.create(pool, others...); err != nil {
				return err
			}
			return n.user.Delete(n.Context(), pool)
		},
	},
	{
		name: "a template without an owner lends an instance profile that the identity may not", reason: "allowed-instance-profiles holds for existing templates too",
		run: func(n *tenant) error {
			n.limitProfiles("nodes.*")
			n.createTemplateOf("platform-admin", "control-plane.cluster-api-provider-aws.sigs.k8s.io")
			config := &infrav1.AWSLaunchConfig{ObjectMeta: n.meta("follower", rogue)}
			config.Spec.ClusterName, config.Spec.Existing = rogue, &infrav1.ExistingLaunchTemplate{Name: "platform-admin"}
			if err := n.create(config); err != nil {
				return err
			}
			pool, others := n.pool("follower-pool")
			pool.Spec.AWSLaunchTemplate, pool.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: "follower"}
			return n.create(pool, others...)
		},
		after: func(n *tenant) error {
			if tags := groupTags(n.Context(), tester(n.AWSConfig(), n.account), "follower-pool"); len(tags) > 0 {
				return errors.New("a group launches instances with the profile of the control plane")
			}
			return nil
		},
	},
	{
		name: "another program removes the owner tag of the other tenant's group", reason: "nothing is created a second time while the first one exists",
		run: func(n *tenant) error {
			groups := n.other().groupsCreated()
			if err := n.removeOwnerTag(n.neighbor().group); err != nil {
				return err
			}
			n.pass(10 * time.Minute)
			if now := n.other().groupsCreated(); now != groups {
				return fmt.Errorf("%d groups were created while the first one exists", now-groups)
			}
			return nil
		},
		after: func(n *tenant) error { return n.restoreOwnerTag(n.neighbor().group, n.other().numbers[2]) },
	},
	{
		name: "a cluster takes the name of the third cluster", reason: "the tags of Cluster API Provider AWS name a cluster, and no namespace",
		run: func(n *tenant) error {
			if err := n.impersonate(); err != nil {
				return err
			}
			pool, others := n.pool(n.victim.group)
			for _, object := range append(others, pool) {
				object.SetLabels(map[string]string{clusterv1.ClusterNameLabel: third, hostile: "true"})
				if machinePool, is := object.(*clusterv1.MachinePool); is {
					machinePool.Spec.ClusterName, machinePool.Spec.Template.Spec.ClusterName = third, third
				}
			}
			pool.Spec.ProviderID, pool.Annotations = n.victim.groupARN, map[string]string{infrav1.AdoptAnnotation: n.victim.groupARN}
			return n.create(pool, others...)
		},
	},
	{
		name: "a launch config of a cluster with the name of the third cluster follows its template", reason: "the tags of Cluster API Provider AWS name a cluster, and no namespace",
		run: func(n *tenant) error {
			if err := n.impersonate(); err != nil {
				return err
			}
			config := &infrav1.AWSLaunchConfig{ObjectMeta: n.meta("follower", third)}
			config.Spec.ClusterName, config.Spec.Existing = third, &infrav1.ExistingLaunchTemplate{ID: n.victim.template}
			return n.create(config)
		},
	},
}

// TestScriptedAttacks plays each attack on both the third cluster and a neighbor, and holds that no
// call crosses the border.
func TestScriptedAttacks(t *testing.T) {
	w := newWorld(t, roles)
	for _, n := range w.tenants {
		n.createHonest()
	}
	w.EventuallyWithin(5*time.Minute, "the honest pools are as wanted", w.converged)
	w.report(t)
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			attacker := w.tenants[0]
			if err := attack.run(attacker); err != nil {
				t.Fatal(err)
			}
			w.pass(3 * time.Minute)
			if attack.after != nil {
				if err := attack.after(attacker); err != nil {
					t.Error(err)
				}
			}
			attacker.clear()
			w.pass(time.Minute)
			w.report(t)
			if t.Failed() {
				t.Logf("the attack must fail because %s; the latest calls were\n%s", attack.reason, w.oracle.lately())
				w.createVictim()
			}
		})
	}
	w.Eventually("the honest pools are as wanted", w.converged)
	w.report(t)
}

// report fails a test for every call that crossed the border, and for a manager that did not withstand.
func (w *world) report(t *testing.T) {
	t.Helper()
	const most = 10
	for i, violation := range w.oracle.found() {
		if t.Error(violation); i == most {
			break
		}
	}
	for _, text := range w.journal.panicked() {
		t.Error("a reconcile panicked: " + text)
	}
	select {
	case <-w.manager.Done():
		t.Fatalf("the manager ended: %v", w.manager.Stop())
	default:
	}
	if err := w.victim.unchanged(); err != nil {
		t.Error(err)
	}
}
