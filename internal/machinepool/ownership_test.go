package machinepool

import (
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/ownership"
)

// TestDeletionDeletesOnlyWhatIsOwned holds that deleting a pool deletes a group with the pool's
// owner tag, and no other, whatever the pool's fields say.
func TestDeletionDeletesOnlyWhatIsOwned(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// namespace of the pool that is deleted.
		namespace    string
		tags         map[string]string
		instanceTags map[string]string
		// unnamed is true for a pool whose spec.providerID does not name the group.
		unnamed bool
		objects []client.Object
		// gone is true if the group is deleted, free if the pool is let go.
		gone, free bool
	}{
		{reason: "the pool's own", namespace: victim, tags: slipwayTags(victim), gone: true, free: true},
		{reason: "the pool's own, which its spec does not name", namespace: victim, tags: slipwayTags(victim), unnamed: true, gone: true, free: true},
		{reason: "CAPA's group of another namespace's cluster, whose objects are gone", namespace: attacker, tags: capaTags(), instanceTags: launchedFor(victim)},
		{reason: "CAPA's group, of which nothing says whose it is", namespace: attacker, tags: capaTags()},
		{reason: "CAPA's group, with a cluster of the same name", namespace: attacker, tags: capaTags(), instanceTags: launchedFor(victim), objects: clusterIn(attacker)},
		{reason: "CAPA's group of the pool's own cluster, never adopted", namespace: victim, tags: capaTags(), instanceTags: launchedFor(victim), objects: clusterIn(victim)},
		{reason: "Slipway's group of another pool", namespace: attacker, tags: slipwayTags(victim)},
		{reason: "a group without any tag", namespace: attacker},
		{reason: "a group that the pool does not name", namespace: attacker, tags: capaTags(), unnamed: true, free: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, row.objects...)
			template := r.template(poolName, nil, row.instanceTags)
			arn := r.group(poolName, template, 1, row.tags)
			if row.unnamed {
				arn = ""
			}
			if err := r.Create(t.Context(), poolIn(row.namespace, arn)); err != nil {
				t.Fatal(err)
			}
			r.remove(row.namespace)
			r.sim.ClearCalls()
			pool := r.pass(row.namespace)
			if gone := r.find(poolName) == nil; gone != row.gone {
				t.Errorf("the group is gone: %t, want %t", gone, row.gone)
			}
			if writes := r.writes(); !row.gone && len(writes) > 0 {
				t.Errorf("writes to AWS: %q", writes)
			}
			if free := pool == nil; free != row.free {
				t.Errorf("the pool is let go: %t, want %t", free, row.free)
			}
			if !row.free && pool != nil {
				r.condition(pool, infrav1.DeletingCondition, infrav1.OwnerTagMissingReason, poolName, template, infrav1.TagMachinePool,
					ownership.OwnerNamed(row.namespace, clusterName, poolName), infrav1.MachinePoolFinalizer)
			}
		})
	}
}

// remove deletes the pool of a namespace, with the records of where its resources are, which any user
// of the namespace can write.
func (r *rig) remove(namespace string) {
	r.Helper()
	pool := &infrav1.AWSMachinePool{}
	if err := r.Get(r.Context(), client.ObjectKey{Namespace: namespace, Name: poolName}, pool); err != nil {
		r.Fatal(err)
	}
	pool.Finalizers = []string{infrav1.MachinePoolFinalizer}
	ownership.SetLocation(pool, ownership.Location{Region: "us-east-1", Cluster: clusterName})
	if err := r.Update(r.Context(), pool); err != nil {
		r.Fatal(err)
	}
	if err := r.Delete(r.Context(), pool); err != nil {
		r.Fatal(err)
	}
}

// TestDeletionContinuesOnceTheTagIsBack holds that a group without its owner tag is deleted as soon
// as a user of AWS has set the tag.
func TestDeletionContinuesOnceTheTagIsBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	arn := r.group(poolName, r.template(poolName, nil, nil), 1, capaTags())
	if err := r.Create(t.Context(), poolIn(victim, arn)); err != nil {
		t.Fatal(err)
	}
	r.remove(victim)
	r.condition(r.pass(victim), infrav1.DeletingCondition, infrav1.OwnerTagMissingReason)
	r.tag(poolName, infrav1.TagMachinePool, ownership.OwnerNamed(victim, clusterName, poolName))
	if pool := r.pass(victim); pool != nil || r.find(poolName) != nil {
		t.Errorf("the group is %v, the pool %+v", r.find(poolName), pool)
	}
}

func (r *rig) tag(group, key, value string) {
	r.Helper()
	if _, err := r.asg.CreateOrUpdateTags(r.Context(), &autoscaling.CreateOrUpdateTagsInput{Tags: []asgtypes.Tag{{
		ResourceId: &group, ResourceType: awssdk.String("auto-scaling-group"), Key: &key, Value: &value, PropagateAtLaunch: awssdk.Bool(false),
	}}}); err != nil {
		r.Fatal(err)
	}
}

// TestAdoptionIsProven holds that a pool takes a group of CAPA's over only if the group is proven
// to be its namespace's.
func TestAdoptionIsProven(t *testing.T) {
	t.Parallel()
	both := append(clusterIn(victim), clusterIn(attacker)...)
	with := func(objects []client.Object, change func(client.Object)) []client.Object {
		changed := make([]client.Object, len(objects))
		for i, object := range objects {
			changed[i] = object.DeepCopyObject().(client.Object)
			change(changed[i])
		}
		return changed
	}
	for _, row := range []struct {
		reason       string
		namespace    string
		objects      []client.Object
		instanceTags map[string]string
		size         int32
		want         string
	}{
		{"the namespace's own", victim, clusterIn(victim), launchedFor(victim), 1, infrav1.AdoptingReason},
		{"the namespace's own, of two clusters of the name", victim, both, launchedFor(victim), 1, infrav1.AdoptingReason},
		{"no instance says whose it is, and there is one cluster of the name", victim, clusterIn(victim), nil, 1, infrav1.AdoptingReason},
		{"there is no instance, and one cluster of the name", victim, clusterIn(victim), launchedFor(victim), 0, infrav1.AdoptingReason},
		{"another namespace's", attacker, both, launchedFor(victim), 1, infrav1.AdoptionBlockedReason},
		{"another namespace's, whose cluster's objects are gone", attacker, clusterIn(attacker), launchedFor(victim), 1, infrav1.AdoptionBlockedReason},
		{"a namespace whose name begins with the pool's", "vic", clusterIn("vic"), launchedFor(victim), 1, infrav1.AdoptionBlockedReason},
		{"there is no instance, and two clusters of the name", attacker, both, launchedFor(victim), 0, infrav1.AdoptionBlockedReason},
		{"no instance says whose it is, and the other cluster is on EKS", attacker, append(clusterIn(attacker), &eksv1.AWSManagedControlPlane{
			ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: "control-plane"},
			Spec:       eksv1.AWSManagedControlPlaneSpec{EKSClusterName: clusterName, Region: "us-east-1"},
		}), nil, 1, infrav1.AdoptionBlockedReason},
		{"the other cluster is in another region", victim, append(clusterIn(victim), with(clusterIn(attacker), func(object client.Object) {
			if cluster, is := object.(*capav1.AWSCluster); is {
				cluster.Spec.Region = "eu-west-1"
			}
		})...), nil, 1, infrav1.AdoptingReason},
		{"the MachinePool refers to another pool", victim, with(clusterIn(victim), func(object client.Object) {
			if machinePool, is := object.(*clusterv1.MachinePool); is {
				machinePool.Spec.Template.Spec.InfrastructureRef.Name = "other"
			}
		}), launchedFor(victim), 1, infrav1.WaitingForOwnerReason},
		{"the MachinePool of the owner reference was deleted, and another made", victim, with(clusterIn(victim), func(object client.Object) {
			if machinePool, is := object.(*clusterv1.MachinePool); is {
				machinePool.UID = "another"
			}
		}), launchedFor(victim), 1, infrav1.AdoptionBlockedReason},
		{"the MachinePool is being deleted, and the pool not yet", victim, with(clusterIn(victim), func(object client.Object) {
			if _, is := object.(*clusterv1.MachinePool); is {
				beDeleted(object)
			}
		}), launchedFor(victim), 1, infrav1.AdoptionBlockedReason},
		{"the Cluster is being deleted, and the pool not yet", victim, with(clusterIn(victim), func(object client.Object) {
			if _, is := object.(*clusterv1.Cluster); is {
				beDeleted(object)
			}
		}), launchedFor(victim), 1, infrav1.AdoptionBlockedReason},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, slices.Concat(row.objects, []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: victim}}})...)
			arn := r.group(poolName, r.template(poolName, capaTags(), row.instanceTags), row.size, capaTags())
			if err := r.Create(t.Context(), poolIn(row.namespace, arn)); err != nil {
				t.Fatal(err)
			}
			pool := r.pass(row.namespace)
			switch row.want {
			case infrav1.AdoptingReason:
				if pool.Spec.AWSLaunchTemplate == nil || r.adopts(row.namespace) == "" {
					t.Errorf("it does not adopt the group; conditions are %+v", pool.Status.Conditions)
				}
			case infrav1.WaitingForOwnerReason:
				r.condition(pool, infrav1.ClusterInfrastructureReadyCondition, row.want)
			default:
				r.condition(pool, infrav1.ASGReadyCondition, row.want)
			}
			if writes := r.writes(); len(writes) > 0 {
				t.Errorf("writes to AWS: %q", writes)
			}
			for _, call := range r.sim.Calls() {
				if call.Action == "DescribeLaunchTemplateVersions" {
					t.Error("the user data of the group's instances was read")
				}
			}
		})
	}
}

// beDeleted makes an object one that is being deleted.
func beDeleted(object client.Object) {
	object.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2026, time.November, 22, 9, 0, 0, 0, time.UTC)})
	object.SetFinalizers([]string{"example.com/held"})
}

// adopts returns the id of the template that the pool's launch config is to adopt.
func (r *rig) adopts(namespace string) string {
	r.Helper()
	config := &infrav1.AWSLaunchConfig{}
	if err := r.Get(r.Context(), client.ObjectKey{Namespace: namespace, Name: poolName}, config); client.IgnoreNotFound(err) != nil {
		r.Fatal(err)
	}
	return config.Annotations[infrav1.AdoptTemplateAnnotation]
}

// TestNoSecondGroupBesideOneWithoutItsTag holds that a group whose owner tag was removed is not
// taken for one that was deleted.
func TestNoSecondGroupBesideOneWithoutItsTag(t *testing.T) {
	t.Parallel()
	owner := ownership.OwnerNamed(victim, clusterName, poolName)
	for _, row := range []struct {
		reason string
		// name of the group.
		name string
		tags map[string]string
		// named by the spec, else by the status.
		bySpec bool
	}{
		{"all tags of Slipway's are gone", poolName, capaTags(), false},
		{"all tags are gone", poolName, nil, true},
		{"the launch config's is there", poolName, map[string]string{infrav1.TagLaunchConfig: owner}, true},
		{"it has the name with a hash", ownership.Names(poolName, clusterName, poolIn(victim, ""), 1, longestName)[1], map[string]string{infrav1.TagLaunchConfig: owner}, true},
		{"it has another name", "a-name-from-before", map[string]string{infrav1.TagLaunchConfig: owner}, false},
		{"it has another owner", poolName, slipwayTags(attacker), true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, clusterIn(victim)...)
			template := r.template(poolName, map[string]string{infrav1.TagLaunchConfig: owner}, nil)
			arn := r.group(row.name, template, 1, row.tags)
			pool := poolIn(victim, "")
			if row.bySpec {
				pool.Spec.ProviderID = arn
			}
			if err := r.Create(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			if !row.bySpec {
				pool.Status.AutoScalingGroup = &infrav1.AutoScalingGroupReference{Name: row.name, ARN: arn}
				if err := r.Status().Update(t.Context(), pool); err != nil {
					t.Fatal(err)
				}
			}
			r.condition(r.pass(victim), infrav1.ASGReadyCondition, infrav1.OwnerTagMissingReason, row.name, infrav1.TagMachinePool, owner, "1 instance")
			if writes := r.writes(); len(writes) > 0 {
				t.Errorf("writes to AWS: %q", writes)
			}
			r.tag(row.name, infrav1.TagMachinePool, owner)
			// The result of a sweep is good until the next one, and none runs here.
			r.pools.kind.Clouds.ForgetGroup(client.ObjectKeyFromObject(pool))
			pool = r.pass(victim)
			if condition := meta.FindStatusCondition(pool.Status.Conditions, infrav1.ASGReadyCondition); condition != nil && condition.Reason == infrav1.OwnerTagMissingReason {
				t.Errorf("the tag is back, and the pool does not continue: %+v", condition)
			}
		})
	}
}

// TestDeletionNeedsNothingButThePool holds that a pool whose launch config went first is deleted
// with its launch template, in a namespace that is being deleted, where nothing can be created, and
// after every object of its cluster.
func TestDeletionNeedsNothingButThePool(t *testing.T) {
	t.Parallel()
	owned := func(namespace string) map[string]string {
		return map[string]string{infrav1.TagLaunchConfig: ownership.OwnerNamed(namespace, clusterName, poolName)}
	}
	for _, row := range []struct {
		reason string
		// others are in the namespace.
		others []client.Object
		change func(*infrav1.AWSMachinePool)
		// tags of the template.
		tags map[string]string
		kept bool
	}{
		{reason: "the pool's own template", tags: owned(victim)},
		{reason: "a template of another namespace", tags: owned(attacker), kept: true},
		{reason: "a template that CAPA created", tags: capaTags(), kept: true},
		{reason: "the template of a managed pool of this name", tags: owned(victim), kept: true, others: []client.Object{
			&infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: poolName}},
		}},
		{reason: "the template of a launch config of this name that the pool does not own", tags: owned(victim), kept: true, others: []client.Object{
			&infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: poolName}},
		}},
		{reason: "a pool that refers to a launch config", tags: owned(victim), kept: true, change: func(pool *infrav1.AWSMachinePool) {
			pool.Spec.AWSLaunchTemplate, pool.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: "other"}
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, row.others...)
			template := r.template("any-name", row.tags, nil)
			pool := poolIn(victim, r.group(poolName, template, 1, slipwayTags(victim)))
			if row.change != nil {
				row.change(pool)
			}
			if err := r.Create(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			r.terminating = victim
			r.remove(victim)
			if pool := r.pass(victim); pool != nil {
				t.Errorf("the pool is still there: %+v", pool.Status.Conditions)
			}
			if r.find(poolName) != nil {
				t.Error("the group is still there")
			}
			out, err := r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
			if err != nil {
				t.Fatal(err)
			}
			if kept := len(out.LaunchTemplates) == 1; kept != row.kept {
				t.Errorf("the template is kept: %t, want %t", kept, row.kept)
			}
		})
	}
}

// TestDeletionSaysWhatIsLeft holds that the Deleting condition names what of the pool is still in
// AWS, at each step of the deletion.
func TestDeletionSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: poolName, Finalizers: []string{infrav1.LaunchConfigFinalizer}}}
	config.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: poolName, UID: "uid-of-pool", Controller: ptr.To(true),
	}}
	config.Status.Conditions = []metav1.Condition{{Type: infrav1.DeletingCondition, Status: metav1.ConditionTrue, Reason: "InUse", Message: "a group uses it"}}
	r := newRig(t, config)
	arn := r.group(poolName, r.template(poolName, nil, nil), 1, slipwayTags(victim))
	if err := r.Create(t.Context(), poolIn(victim, arn)); err != nil {
		t.Fatal(err)
	}
	r.remove(victim)
	key := client.ObjectKey{Namespace: victim, Name: poolName}
	step := func() *infrav1.AWSMachinePool {
		t.Helper()
		if _, err := r.pools.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		pool := &infrav1.AWSMachinePool{}
		if err := r.Get(t.Context(), key, pool); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return pool
	}
	r.condition(step(), infrav1.DeletingCondition, infrav1.ASGDeletionInProgressReason, poolName, "1 instance left", "launch template")
	for range 20 {
		r.clock.Step(10 * time.Second)
	}
	r.condition(r.pass(victim), infrav1.DeletingCondition, infrav1.ASGDeletionInProgressReason, "AWSLaunchConfig "+poolName, "a group uses it")
}
