package integration

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
)

const privateSubnetA = "subnet-0b2000000000000aa"

// TestCreatedInAWS compares everything that a new pool creates in AWS with what the manifest asks
// for.
func TestCreatedInAWS(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, options{cluster: lab.ClusterOptions{AdditionalTags: map[string]string{"team": "cluster", "cost": "7"}}})
	w.applyExample("  minSize: 1\n", "  minSize: 1\n  additionalTags: {team: pool}\n")
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplate": 1, "CreateLaunchTemplateVersion": 0, "CreateAutoScalingGroup": 1, "StartInstanceRefresh": 0})

	owner := w.Namespace + "/capa/" + poolName
	instanceTags := map[string]string{
		"Name": poolName, "team": "pool", "cost": "7", "kubernetes.io/cluster/capa": "owned",
		"sigs.k8s.io/cluster-api-provider-aws/cluster/capa": "owned", "sigs.k8s.io/cluster-api-provider-aws/role": "node",
	}
	templateTags := map[string]string{infrav1.TagLaunchConfig: owner}
	groupTags := map[string]string{infrav1.TagLaunchConfig: owner, infrav1.TagMachinePool: owner}
	for key, value := range instanceTags {
		templateTags[key], groupTags[key] = value, value
	}

	template := w.template()
	if *template.LaunchTemplateName != poolName {
		t.Errorf("the template is called %s", *template.LaunchTemplateName)
	}
	if diff := cmp.Diff(templateTags, tagMap(template.Tags)); diff != "" {
		t.Errorf("tags of the template (-want +got):\n%s", diff)
	}
	if numbers := w.numbers(); !slices.Equal(numbers, []int64{1}) || *template.DefaultVersionNumber != 1 {
		t.Errorf("there are versions %d, the default is %d", numbers, *template.DefaultVersionNumber)
	}
	data := w.latest()
	specified := map[ec2types.ResourceType]map[string]string{}
	for _, specification := range data.TagSpecifications {
		specified[specification.ResourceType] = tagMap(specification.Tags)
	}
	want := map[ec2types.ResourceType]map[string]string{ec2types.ResourceTypeInstance: instanceTags, ec2types.ResourceTypeVolume: instanceTags}
	if diff := cmp.Diff(want, specified); diff != "" {
		t.Errorf("tag specifications (-want +got):\n%s", diff)
	}
	if data.InstanceType != "t3.large" || aws.ToString(data.KeyName) != "default" || !strings.HasPrefix(aws.ToString(data.ImageId), "ami-") {
		t.Errorf("the version has type %s, key %s and image %s", data.InstanceType, aws.ToString(data.KeyName), aws.ToString(data.ImageId))
	}
	if got := userData(w, data); !bytes.Equal(got, w.BootstrapData(poolName)) {
		t.Errorf("user data is %q, want %q", got, w.BootstrapData(poolName))
	}

	group := w.group()
	if *group.AutoScalingGroupName != poolName || *group.MinSize != 1 || *group.MaxSize != 10 || *group.DesiredCapacity != 2 {
		t.Errorf("the group is %s of %d, %d to %d", *group.AutoScalingGroupName, *group.DesiredCapacity, *group.MinSize, *group.MaxSize)
	}
	if aws.ToString(group.VPCZoneIdentifier) != privateSubnetA {
		t.Errorf("the group's subnets are %s", aws.ToString(group.VPCZoneIdentifier))
	}
	if reference := group.LaunchTemplate; *reference.LaunchTemplateId != *template.LaunchTemplateId || *reference.Version != "1" {
		t.Errorf("the group launches from %s at version %s", *reference.LaunchTemplateId, *reference.Version)
	}
	got := map[string]string{}
	for _, tag := range group.Tags {
		got[*tag.Key] = *tag.Value
		if aws.ToBool(tag.PropagateAtLaunch) {
			t.Errorf("tag %s of the group propagates: instances have theirs from the template", *tag.Key)
		}
	}
	if diff := cmp.Diff(groupTags, got); diff != "" {
		t.Errorf("tags of the group (-want +got):\n%s", diff)
	}
	for _, instance := range w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instances() {
		tags := tagMap(instance.Tags)
		for key := range tags {
			if strings.HasPrefix(key, "aws:") {
				delete(tags, key)
			}
		}
		if diff := cmp.Diff(instanceTags, tags); diff != "" {
			t.Errorf("tags of instance %s (-want +got):\n%s", *instance.InstanceId, diff)
		}
	}
}

// TestContractWithClusterAPI holds what core Cluster API reads, and what it derives from it.
func TestContractWithClusterAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	w.Eventually("the MachinePool is running", func() error {
		if machinePool := w.machinePool(); machinePool.Status.Phase != string(clusterv1.MachinePoolPhaseRunning) {
			return fmt.Errorf("its phase is %s", machinePool.Status.Phase)
		}
		return nil
	})
	pool, group := w.mustPool(), w.group()
	if pool.Spec.ProviderID != *group.AutoScalingGroupARN {
		t.Errorf("providerID is %s, want %s", pool.Spec.ProviderID, *group.AutoScalingGroupARN)
	}
	var want []string
	for _, instance := range group.Instances {
		want = append(want, "aws:///"+*instance.AvailabilityZone+"/"+*instance.InstanceId)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, pool.Spec.ProviderIDList); diff != "" {
		t.Errorf("providerIDList (-want +got):\n%s", diff)
	}
	if !pool.Status.Ready || !ptr.Deref(pool.Status.Initialization.Provisioned, false) || pool.Status.Replicas != 2 || ptr.Deref(pool.Status.ReadyReplicas, 0) != 2 {
		t.Errorf("status is %+v", pool.Status)
	}
	checkConditions(t, pool.Generation, pool.Status.Conditions)
	config := w.mustConfig()
	checkConditions(t, config.Generation, config.Status.Conditions)
	if !metav1.IsControlledBy(config, pool) {
		t.Errorf("owners of the launch config are %+v", config.OwnerReferences)
	}
	if resolved := config.Status.Resolved; resolved == nil || resolved.ImageID != *w.latest().ImageId {
		t.Errorf("resolved is %+v", config.Status.Resolved)
	}
	w.awaitEvents("LaunchTemplateCreated", "ASGCreated")
}

// TestReplicasAreAlwaysPresent holds that a zero count is written: core Cluster API takes a missing
// one for not known.
func TestReplicasAreAlwaysPresent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.applyExample("replicas: 2", "replicas: 0", "minSize: 1", "minSize: 0")
	w.Eventually("the empty pool is ready", func() error { return w.settled(0) })
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(infrav1.GroupVersion.WithKind("AWSMachinePool"))
	if err := w.Client.Get(w.Context(), w.key(), raw); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"replicas", "readyReplicas", "upToDateReplicas"} {
		if value, found, err := unstructured.NestedInt64(raw.Object, "status", field); err != nil || !found || value != 0 {
			t.Errorf("status.%s is %d, present %t, %v", field, value, found, err)
		}
	}
	for _, field := range []string{"failureReason", "failureMessage"} {
		if _, found, _ := unstructured.NestedFieldNoCopy(raw.Object, "status", field); found {
			t.Errorf("status.%s is set: core Cluster API crashes on it", field)
		}
	}
}

func checkConditions(t *testing.T, generation int64, conditions []metav1.Condition) {
	t.Helper()
	for _, condition := range conditions {
		want := metav1.ConditionTrue
		if condition.Type == infrav1.PausedCondition {
			want = metav1.ConditionFalse
		}
		if condition.Status != want || condition.ObservedGeneration != generation || condition.Reason == "" {
			t.Errorf("at generation %d a condition is %+v", generation, condition)
		}
	}
}

// TestOldManifestReadsBackAsBothVersions applies the manifest, which is of v1beta1, and reads the
// pool as either.
func TestOldManifestReadsBackAsBothVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	var specs []map[string]any
	for _, version := range []string{"v1beta1", "v1beta2"} {
		raw := &unstructured.Unstructured{}
		raw.SetAPIVersion(infrav1.GroupVersion.Group + "/" + version)
		raw.SetKind("AWSMachinePool")
		if err := w.Client.Get(w.Context(), w.key(), raw); err != nil {
			t.Fatal(err)
		}
		spec, _, err := unstructured.NestedMap(raw.Object, "spec")
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, spec)
	}
	if diff := cmp.Diff(specs[0], specs[1]); diff != "" {
		t.Errorf("the versions differ (-v1beta1 +v1beta2):\n%s", diff)
	}
	before := w.mustPool()
	w.applyExample()
	w.rest()
	if after := w.mustPool(); after.Generation != before.Generation {
		t.Errorf("applying the same manifest again made generation %d of %d", after.Generation, before.Generation)
	}
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "UpdateAutoScalingGroup": 0, "StartInstanceRefresh": 0})
}

// TestManagedControlPlane has a self-managed pool join an EKS cluster.
func TestManagedControlPlane(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, options{cluster: lab.ClusterOptions{Managed: true}})
	w.createSecret("eks-bootstrap", map[string][]byte{"value": []byte("#!/bin/bash\n/etc/eks/bootstrap.sh capa\n")})
	w.applyExample(bootstrapBySecret("eks-bootstrap")...)
	w.Eventually("the pool has its two nodes", func() error { return w.settled(2) })
	image, found := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Image(*w.latest().ImageId)
	if !found || !strings.HasPrefix(*image.Name, "amazon-eks-node") {
		t.Errorf("the image is %+v", image)
	}
	eksName := w.Namespace + "_capa-control-plane"
	if tags := tagMap(w.template().Tags); tags["kubernetes.io/cluster/"+eksName] != "owned" {
		t.Errorf("the template's tags do not name EKS cluster %s: %v", eksName, tags)
	}
}
