package launchconfig

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// group makes an Auto Scaling group as CAPA does, and returns its ARN.
func (r *rig) group(name, templateID string, tags map[string]string) string {
	r.Helper()
	var list []asgtypes.Tag
	for key, value := range tags {
		list = append(list, asgtypes.Tag{Key: &key, Value: &value, ResourceId: &name, ResourceType: awssdk.String("auto-scaling-group"), PropagateAtLaunch: ptr.To(false)})
	}
	if _, err := r.groups.CreateAutoScalingGroup(r.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name, MinSize: ptr.To[int32](0), MaxSize: ptr.To[int32](1), VPCZoneIdentifier: awssdk.String("subnet-0b2000000000000aa"),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &templateID, Version: awssdk.String("$Latest")}, Tags: list,
	}); err != nil {
		r.Fatal(err)
	}
	all, err := r.groups.DescribeAutoScalingGroups(r.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil || len(all.AutoScalingGroups) != 1 {
		r.Fatalf("describing group %s: %v", name, err)
	}
	return *all.AutoScalingGroups[0].AutoScalingGroupARN
}

// adoptionCase has a template and a group of CAPA's, the pool that may adopt them, and the config that asks to.
type adoptionCase struct {
	templateTags, groupTags map[string]string
	pool                    *infrav1.AWSMachinePool
	others                  []client.Object
	config                  *infrav1.AWSLaunchConfig
	// launched is the template of the group, the adopted one if empty.
	launched string
	arn      string
	// ending is the one of the others that is being deleted, nil for none.
	ending client.Object
}

// machinePool is the one of the pool.
func machinePool() *clusterv1.MachinePool {
	machines := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "machines", UID: "machines-1"}}
	machines.Spec.ClusterName = clusterName
	machines.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachinePool", Name: configName,
	}
	return machines
}

func capas(cluster string) map[string]string {
	return map[string]string{infrav1.ClusterTagKey(cluster): infrav1.TagValueOwned, "Name": configName}
}

// TestAdoptionIsProven holds that a template is adopted only by the config of the pool whose own
// group launches from it, and that any other config that names it in the annotation neither changes
// nor deletes it.
func TestAdoptionIsProven(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		change  func(r *rig, a *adoptionCase)
		refused string
		says    string
	}{
		{reason: "the pool's own group launches from it"},
		{
			reason: "the pool names its group by annotation", change: func(_ *rig, a *adoptionCase) {
				a.pool.Annotations, a.pool.Spec.ProviderID = map[string]string{infrav1.AdoptAnnotation: a.arn}, ""
			},
		},
		{
			reason: "a hand-written config", change: func(_ *rig, a *adoptionCase) { a.config.OwnerReferences = nil },
			refused: infrav1.AdoptionBlockedReason, says: "no pool controls",
		},
		{
			reason:  "an owner reference that is not the controller's",
			change:  func(_ *rig, a *adoptionCase) { a.config.OwnerReferences[0].Controller = nil },
			refused: infrav1.AdoptionBlockedReason, says: "no pool controls",
		},
		{
			reason:  "an owner reference with an invented UID",
			change:  func(_ *rig, a *adoptionCase) { a.config.OwnerReferences[0].UID = "invented" },
			refused: infrav1.AdoptionBlockedReason, says: "does not exist with UID",
		},
		{
			reason: "an owner of another kind",
			change: func(_ *rig, a *adoptionCase) {
				a.config.OwnerReferences[0].Kind, a.config.OwnerReferences[0].APIVersion = "MachinePool", "cluster.x-k8s.io/v1beta2"
			},
			refused: infrav1.AdoptionBlockedReason, says: "is not a pool with the same name",
		},
		{
			reason:  "an owner of the pool's kind in another API group",
			change:  func(_ *rig, a *adoptionCase) { a.config.OwnerReferences[0].APIVersion = "tenant.example/v1" },
			refused: infrav1.AdoptionBlockedReason, says: "is not a pool with the same name",
		},
		{
			reason: "a pool of another name",
			change: func(_ *rig, a *adoptionCase) {
				a.pool.Name, a.config.OwnerReferences[0].Name = "other", "other"
			},
			refused: infrav1.AdoptionBlockedReason, says: "is not a pool with the same name",
		},
		{
			reason: "a pool that names no group", change: func(_ *rig, a *adoptionCase) { a.pool.Spec.ProviderID = "" },
			refused: infrav1.AdoptionBlockedReason, says: "is the ARN of Auto Scaling group",
		},
		{
			reason:  "a group without instances, where another namespace has a cluster of the name",
			change:  func(_ *rig, a *adoptionCase) { a.others = append(a.others, selfManaged("red", clusterName)...) },
			refused: infrav1.AdoptionBlockedReason, says: "a cluster named prod in this AWS account",
		},
		{
			reason: "a group that another pool has too",
			change: func(_ *rig, a *adoptionCase) {
				a.others = append(a.others, &infrav1.AWSMachinePool{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other", UID: "pool-2"}, Spec: infrav1.AWSMachinePoolSpec{ProviderID: a.arn},
				})
			},
			refused: infrav1.AdoptionBlockedReason, says: "AWSMachinePool other has the ARN",
		},
		{
			reason: "a pool without a MachinePool", change: func(_ *rig, a *adoptionCase) { a.pool.OwnerReferences = nil },
			refused: infrav1.AdoptionBlockedReason, says: "no MachinePool owns it",
		},
		{
			reason: "a pool whose MachinePool is being deleted", change: func(_ *rig, a *adoptionCase) {
				a.ending = a.others[0]
				a.ending.SetFinalizers([]string{clusterv1.MachinePoolFinalizer})
			},
			refused: infrav1.AdoptionBlockedReason, says: "MachinePool machines is being deleted",
		},
		{
			reason:  "a group that launches from another template",
			change:  func(r *rig, a *adoptionCase) { a.launched = r.template("unrelated", capas(clusterName)) },
			refused: infrav1.AdoptionBlockedReason, says: "does not launch from it",
		},
		{
			reason: "a group of another cluster", change: func(_ *rig, a *adoptionCase) { a.groupTags = capas("other") },
			refused: infrav1.AdoptionBlockedReason, says: "created for this cluster",
		},
		{
			reason: "a group that Slipway owns", change: func(_ *rig, a *adoptionCase) { a.groupTags[infrav1.TagMachinePool] = "red/prod/workers" },
			refused: infrav1.AdoptionBlockedReason, says: "is not an unowned group",
		},
		{
			reason: "a template of another cluster", change: func(_ *rig, a *adoptionCase) { a.templateTags = capas("other") },
			refused: infrav1.AdoptionBlockedReason, says: infrav1.ClusterTagKey(clusterName),
		},
		{
			reason: "a template of another config", change: func(_ *rig, a *adoptionCase) { a.templateTags[infrav1.TagLaunchConfig] = "red/prod/workers" },
			refused: infrav1.NameTakenReason, says: "red/prod/workers",
		},
		{
			reason: "a template without tags of Slipway or CAPA", change: func(_ *rig, a *adoptionCase) { a.templateTags = map[string]string{"Name": "x"} },
			refused: infrav1.AdoptionBlockedReason, says: infrav1.ClusterTagKey(clusterName),
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := &adoptionCase{
				templateTags: capas(clusterName), groupTags: capas(clusterName),
				pool: &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configName, UID: "pool-1", OwnerReferences: []metav1.OwnerReference{
					{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: "machines", UID: "machines-1"},
				}}},
				others: []client.Object{machinePool()},
				config: launchConfig(func(config *infrav1.AWSLaunchConfig) {
					config.OwnerReferences = []metav1.OwnerReference{{
						APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: configName, UID: "pool-1", Controller: ptr.To(true),
					}}
				}),
			}
			// The ARN has the account, the region and the name of the group, and an id: it is known
			// once the group exists.
			a.prepare(r, row.change)
			r.sim.ClearCalls()
			config := r.reconcile()
			if row.refused == "" {
				r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
				if config.Status.LaunchTemplateID != a.config.Annotations[infrav1.AdoptTemplateAnnotation] {
					t.Errorf("the config has template %q", config.Status.LaunchTemplateID)
				}
				r.expectWrites("CreateTags", "CreateLaunchTemplateVersion", "ModifyLaunchTemplate")
				return
			}
			r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, row.refused, row.says)
			before := r.templates()
			r.deleted(config)
			r.expectWrites()
			if difference := cmp.Diff(before, r.templates()); difference != "" {
				t.Errorf("templates (-before +after):\n%s", difference)
			}
		})
	}
}

// prepare makes what the row describes. Change may run twice: what it does to AWS, it does once the
// ARN is known.
func (a *adoptionCase) prepare(r *rig, change func(*rig, *adoptionCase)) {
	r.Helper()
	a.arn = "arn:unknown"
	probe := *a
	probe.templateTags, probe.groupTags, probe.pool, probe.config = capas(clusterName), capas(clusterName), a.pool.DeepCopy(), a.config.DeepCopy()
	if change != nil {
		change(r, &probe)
	}
	template := r.template(configName, probe.templateTags)
	launched := template
	if probe.launched != "" {
		launched = probe.launched
	}
	a.arn = r.group(configName, launched, probe.groupTags)
	a.pool.Spec.ProviderID = a.arn
	if change != nil && probe.launched == "" {
		change(r, a)
	}
	a.config.Annotations = map[string]string{infrav1.AdoptTemplateAnnotation: template}
	for _, object := range append(a.others, a.pool, a.config) {
		if err := r.client.Create(r.Context(), object); err != nil {
			r.Fatal(err)
		}
	}
	if a.ending == nil {
		return
	}
	if err := r.client.Delete(r.Context(), a.ending); err != nil {
		r.Fatal(err)
	}
}
