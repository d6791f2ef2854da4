package nodelifecycle_test

import (
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// tagOf returns a tag of an instance or volume.
func tagOf(tags []ec2types.Tag, key string) string {
	for _, tag := range tags {
		if *tag.Key == key {
			return *tag.Value
		}
	}
	return ""
}

// TestLaunchesAreMarked holds that everything that a launch creates has the UID of the cluster.
func TestLaunchesAreMarked(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("one")
	w.Launch()
	instances := w.Instances()
	if len(instances) != 1 {
		t.Fatalf("there are %d instances", len(instances))
	}
	const uid = "uid-of-this-cluster"
	if mark := tagOf(instances[0].Tags, infrav1.TagClusterUID); mark != uid {
		t.Errorf("the mark of the instance is %q", mark)
	}
	for _, device := range instances[0].BlockDeviceMappings {
		volume, known := w.Sim.Region(provisioningtest.Account, provisioningtest.Region).Volume(*device.Ebs.VolumeId)
		if mark := tagOf(volume.Tags, infrav1.TagClusterUID); !known || mark != uid {
			t.Errorf("the mark of volume %s is %q", *device.Ebs.VolumeId, mark)
		}
	}
}

// TestCopiedClusterName holds that a Provisioner that copies the name of another cluster launches
// nothing, says so, and its collector terminates nothing of the other cluster.
func TestCopiedClusterName(t *testing.T) {
	t.Parallel()
	victim := provisioningtest.New(t, provisioningtest.Options{})
	victim.Provision("default")
	victim.Pod("one")
	victim.Launch()
	attacker := victim.Cluster(t, provisioningtest.Options{ClusterUID: "uid-of-another-cluster"})
	attacker.Provision("default")
	attacker.Pod("one")
	attacker.Settle()
	attacker.Advance(time.Minute)
	attacker.Collect()
	if got := len(victim.Instances()); got != 1 {
		t.Errorf("%d instances are left of the victim's one", got)
	}
	if got := attacker.Provisioned(); len(got) != 0 {
		t.Errorf("the attacker has %d nodes", len(got))
	}
	status := attacker.Provisioner("default").Status
	condition := meta.FindStatusCondition(status.Conditions, provisioningv1.ClusterNameUniqueCondition)
	ready := meta.FindStatusCondition(status.Conditions, provisioningv1.ReadyCondition)
	if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != provisioningv1.ClusterNameTakenReason || ready == nil || ready.Status != metav1.ConditionFalse {
		t.Errorf("conditions are %+v", status.Conditions)
	}
	if warned := attacker.Told("Warning ClusterNameTaken default:"); len(warned) != 1 {
		t.Errorf("the warning comes %d times: %q", len(warned), attacker.Events())
	}
	if told := attacker.Told("NoNodeLaunched one:", "is in use by another Kubernetes cluster"); len(told) != 1 {
		t.Errorf("the pod is told %q", attacker.Events())
	}
	victim.Advance(time.Minute)
	if !meta.IsStatusConditionTrue(victim.Provisioner("default").Status.Conditions, provisioningv1.ReadyCondition) {
		t.Errorf("the victim's Provisioner says %+v", victim.Provisioner("default").Status.Conditions)
	}
}

// running returns the IDs of the instances that have not terminated.
func running(w *provisioningtest.World) map[string]bool {
	ids := map[string]bool{}
	for _, instance := range w.Instances() {
		ids[*instance.InstanceId] = true
	}
	return ids
}

// launchAs has a person launch an instance with tags.
func launchAs(w *provisioningtest.World, tags map[string]string) string {
	w.Helper()
	specification := ec2types.TagSpecification{ResourceType: ec2types.ResourceTypeInstance}
	for key, value := range tags {
		specification.Tags = append(specification.Tags, ec2types.Tag{Key: awssdk.String(key), Value: awssdk.String(value)})
	}
	image := w.Instances()[0].ImageId
	launched, err := w.EC2.RunInstances(w.Context(), &ec2.RunInstancesInput{
		ImageId: image, InstanceType: "m5.large", MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), SubnetId: awssdk.String("subnet-0b2000000000000aa"),
		TagSpecifications: []ec2types.TagSpecification{specification},
	})
	if err != nil {
		w.Fatal(err)
	}
	return *launched.Instances[0].InstanceId
}

// TestCollectorGoesByTheMark holds that the collector terminates what has this cluster's mark and
// that no ProvisionedNode knows, and nothing else.
func TestCollectorGoesByTheMark(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("one")
	w.Launch()
	of := func(uid string) map[string]string {
		return map[string]string{fleet.TagCluster: provisioningtest.Cluster, fleet.TagProvisioner: "default", fleet.TagLaunch: "default-zzz", infrav1.TagClusterUID: uid}
	}
	unmarked := of("")
	delete(unmarked, infrav1.TagClusterUID)
	ours, theirs, before := launchAs(w, of("uid-of-this-cluster")), launchAs(w, of("uid-of-another-cluster")), launchAs(w, unmarked)
	w.Collect()
	left := running(w)
	claimed := w.Provisioned()[0].Status.InstanceID
	if left[ours] || !left[theirs] || !left[before] || !left[claimed] {
		t.Errorf("left are %v: ours %s, theirs %s, unmarked %s, claimed %s", left, ours, theirs, before, claimed)
	}
}

// TestCollectorNeedsNoProvisioner holds that an instance which nothing claims is terminated although no
// Provisioner is left whose cluster it is in.
func TestCollectorNeedsNoProvisioner(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	provisioner := w.Provision("default")
	w.Pod("one")
	w.Launch()
	ours := launchAs(w, map[string]string{
		fleet.TagCluster: provisioningtest.Cluster, fleet.TagProvisioner: "default", fleet.TagLaunch: "default-zzz", infrav1.TagClusterUID: "uid-of-this-cluster",
	})
	w.Delete(provisioner)
	w.Advance(5 * time.Minute)
	if got := len(w.Provisioned()); got > 0 {
		t.Fatalf("%d nodes are left", got)
	}
	w.Collect()
	if running(w)[ours] {
		t.Error("the instance is left")
	}
}

// TestInstanceInStatusIsNotTrusted holds that an instance whose tags do not say that it was
// launched for a ProvisionedNode is not terminated for it, and its Node neither drained nor
// deleted, whatever status says.
func TestInstanceInStatusIsNotTrusted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		tags   func(claim *provisioningv1.ProvisionedNode) map[string]string
	}{
		{"an instance that Slipway did not launch", func(*provisioningv1.ProvisionedNode) map[string]string { return map[string]string{"Name": "database"} }},
		{"another launch's", func(*provisioningv1.ProvisionedNode) map[string]string {
			return map[string]string{infrav1.TagClusterUID: "uid-of-this-cluster", fleet.TagCluster: provisioningtest.Cluster, fleet.TagLaunch: "other"}
		}},
		{"another cluster's launch of the same name", func(claim *provisioningv1.ProvisionedNode) map[string]string {
			return map[string]string{infrav1.TagClusterUID: "uid-of-another-cluster", fleet.TagCluster: provisioningtest.Cluster, fleet.TagLaunch: claim.Spec.Launch.Name}
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := provisioningtest.New(t, provisioningtest.Options{})
			w.Provision("default")
			w.Pod("one")
			w.Launch()
			claim := w.Provisioned()[0]
			own := claim.Status.InstanceID
			victim := launchAs(w, row.tags(&claim))
			w.Join()
			resident := w.Pod("resident")
			w.Bind(resident, "ip-"+victim)
			claim.Status.InstanceID = victim
			if err := w.Client.Status().Update(t.Context(), &claim); err != nil {
				t.Fatal(err)
			}
			w.Advance(time.Minute)
			if warned := w.Told("Warning InstanceNotOwned default:"); len(warned) != 1 {
				t.Errorf("the warning comes %d times: %q", len(warned), w.Events())
			}
			w.Delete(&claim)
			w.Advance(5 * time.Minute)
			if !running(w)[victim] {
				t.Error("the instance was terminated")
			}
			w.Collect()
			if running(w)[own] {
				t.Error("the node's own instance runs on")
			}
			if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "ip-" + victim}, w.Members()[0].DeepCopy()); err != nil {
				t.Errorf("its Node: %v", err)
			}
			if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(resident), resident); err != nil || !resident.DeletionTimestamp.IsZero() {
				t.Errorf("the pod there: %v", err)
			}
			for _, member := range w.Members() {
				if member.Name == "ip-"+victim && (member.Spec.Unschedulable || len(member.Finalizers) > 0 || member.Labels[provisioningv1.LabelProvisionerName] != "") {
					t.Errorf("its Node was changed: %+v", member.ObjectMeta)
				}
			}
		})
	}
}

// TestInstanceOfAnEarlierRelease holds that an instance without a mark, which an earlier release
// launched, is proven by the ProvisionedNode that names its launch.
func TestInstanceOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("one")
	w.Launch()
	claim := w.Provisioned()[0]
	_, err := w.EC2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{claim.Status.InstanceID}, Tags: []ec2types.Tag{{Key: awssdk.String(infrav1.TagClusterUID)}}})
	if err != nil {
		t.Fatal(err)
	}
	w.Restart()
	w.Collect()
	w.Advance(time.Minute)
	if len(w.Instances()) != 1 || len(w.Provisioned()) != 1 {
		t.Fatalf("there are %d instances and %d nodes", len(w.Instances()), len(w.Provisioned()))
	}
	w.Delete(&claim)
	w.Settle()
	if running(w)[claim.Status.InstanceID] {
		t.Error("the instance is left")
	}
}

// TestLaunchOfAnotherCluster holds that a ProvisionedNode that came from another cluster, with a
// backup, launches nothing, and one without a mark is launched as the release that wrote it would
// have.
func TestLaunchOfAnotherCluster(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	w.Pod("one")
	w.Settle()
	original := w.Provisioned()[0]
	other := w.Cluster(t, provisioningtest.Options{ClusterUID: "uid-of-another-cluster"})
	restored := original.DeepCopy()
	restored.ResourceVersion, restored.UID, restored.Status = "", "", provisioningv1.ProvisionedNodeStatus{}
	other.Create(restored)
	calls := w.Calls("CreateFleet")
	other.Advance(time.Minute)
	if got := w.Calls("CreateFleet"); got != calls {
		t.Errorf("CreateFleet was called %d times", got-calls)
	}
	condition := meta.FindStatusCondition(other.Provisioned()[0].Status.Conditions, provisioningv1.LaunchedCondition)
	if condition == nil || condition.Reason != provisioningv1.OtherClusterReason || !strings.Contains(condition.Message, "uid-of-this-cluster") {
		t.Errorf("the condition is %+v", condition)
	}
	other.Delete(restored)
	other.Settle()
	if len(other.Provisioned()) != 0 || len(w.Instances()) != 1 {
		t.Errorf("%d nodes and %d instances are left", len(other.Provisioned()), len(w.Instances()))
	}
}
