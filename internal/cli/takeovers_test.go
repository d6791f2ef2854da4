package cli

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/ptr"

	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws/action"
)

// createGroup creates in AWS what CAPA creates for the pool of addPool, and returns the ARN of the group.
func createGroup(t *testing.T, tags map[string]string) string {
	t.Helper()
	config := awssimtest.Config(os.Getenv("AWS_ENDPOINT_URL"), "us-east-1", preflightKey)
	var onTemplate []ec2types.Tag
	var onGroup []asgtypes.Tag
	for key, value := range tags {
		onTemplate = append(onTemplate, ec2types.Tag{Key: &key, Value: &value})
		onGroup = append(onGroup, asgtypes.Tag{Key: &key, Value: &value, PropagateAtLaunch: ptr.To(false)})
	}
	_, err := ec2.NewFromConfig(config).CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: ptr.To("blue-mp-0"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large", ImageId: ptr.To(imageOf(t, config))},
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: "launch-template", Tags: onTemplate}},
	})
	if err != nil {
		t.Fatal(err)
	}
	groups := autoscaling.NewFromConfig(config)
	_, err = groups.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: ptr.To("blue-mp-0"), MinSize: ptr.To[int32](0), MaxSize: ptr.To[int32](2), DesiredCapacity: ptr.To[int32](0), Tags: onGroup,
		VPCZoneIdentifier: ptr.To("subnet-0b2000000000000aa"),
		LaunchTemplate:    &asgtypes.LaunchTemplateSpecification{LaunchTemplateName: ptr.To("blue-mp-0"), Version: ptr.To("$Latest")},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := groups.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"blue-mp-0"}})
	if err != nil {
		t.Fatal(err)
	}
	return *out.AutoScalingGroups[0].AutoScalingGroupARN
}

// addNetwork adds what Slipway reads of a cluster and its bootstrap data, and names both in its objects.
func (m *management) addNetwork(t *testing.T, image string) {
	t.Helper()
	m.add(t, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {namespace: default, name: blue, resourceVersion: "1"}
spec: {region: us-east-1, network: {vpc: {id: vpc-0a10000000000000a}, subnets: [{id: subnet-0b2000000000000aa, availabilityZone: us-east-1a}]}}
status:
  ready: true
  networkStatus: {securityGroups: {node: {id: sg-0c1000000000000ab, name: node}, lb: {id: sg-0c1000000000000ac, name: lb}}}
---
apiVersion: v1
kind: Secret
metadata: {namespace: default, name: blue-mp-0, resourceVersion: "1"}
data: {value: I2Nsb3VkLWNvbmZpZwo=}
`)
	for _, object := range m.objects {
		object.SetGeneration(1)
		spec, _ := object.Object["spec"].(map[string]any)
		switch object.GetKind() {
		case "Cluster":
			object.Object["status"] = map[string]any{"initialization": map[string]any{"infrastructureProvisioned": true}}
		case "MachinePool":
			spec["replicas"] = int64(0)
			template := spec["template"].(map[string]any)["spec"].(map[string]any)
			template["version"], template["bootstrap"] = "v1.36.3", map[string]any{"dataSecretName": "blue-mp-0"}
		case "AWSMachinePool":
			object.SetUID("two")
			spec["minSize"] = int64(0)
			spec["awsLaunchTemplate"] = map[string]any{"instanceType": "m5.large", "ami": map[string]any{"id": image}}
		}
	}
}

// addStaticIdentity has the cluster use an identity of its account, whose keys are in namespace vault.
func (m *management) addStaticIdentity(t *testing.T) {
	t.Helper()
	m.add(t, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: tenant, resourceVersion: "1"}
spec: {secretRef: keys, allowedNamespaces: {}}
---
apiVersion: v1
kind: Secret
metadata: {namespace: vault, name: keys, resourceVersion: "1"}
`)
	for _, object := range m.objects {
		switch object.GetName() {
		case "keys":
			encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
			object.Object["data"] = map[string]any{"AccessKeyID": encoded(preflightKey), "SecretAccessKey": encoded("secret")}
		case "blue":
			if object.GetKind() == "AWSCluster" {
				object.Object["spec"].(map[string]any)["identityRef"] = map[string]any{"kind": "AWSClusterStaticIdentity", "name": "tenant"}
			}
		}
	}
}

// TestMigrateChecksAWS runs the command against an API server in memory, which has CAPA's definitions only,
// and the simulated AWS.
func TestMigrateChecksAWS(t *testing.T) {
	capas := map[string]string{"kubernetes.io/cluster/blue": "owned", "sigs.k8s.io/cluster-api-provider-aws/cluster/blue": "owned"}
	for _, row := range []struct {
		reason string
		tags   map[string]string
		change func(*testing.T)
		// execute runs the command with --execute, and prints is a part of its output.
		execute bool
		prints  string
		// static has the cluster use an identity whose keys are in namespace vault.
		static bool
		flags  []string
	}{
		{reason: "CAPA's tags prove the group", tags: capas, prints: "check-aws AWSMachinePool default/blue-mp-0 done AWS shows that Slipway can take over Auto Scaling group blue-mp-0 and its launch template."},
		{reason: "the tags of another cluster", tags: map[string]string{"kubernetes.io/cluster/red": "owned"}, execute: true,
			prints: "check-aws AWSMachinePool default/blue-mp-0 blocked Auto Scaling group blue-mp-0 exists"},
		{reason: "the keys of the cluster's identity are where the flag says", tags: capas, static: true, flags: []string{"--identity-secret-namespace", "vault"},
			prints: "check-aws AWSMachinePool default/blue-mp-0 done AWS shows that Slipway can take over Auto Scaling group blue-mp-0"},
		{reason: "the keys of the cluster's identity are elsewhere", tags: capas, static: true,
			prints: "check-aws AWSMachinePool default/blue-mp-0 blocked "},
		{reason: "no group", execute: true, prints: "check-aws AWSMachinePool default/blue-mp-0 blocked "},
		{reason: "no credentials", tags: capas, change: func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", "")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		}, prints: "check-aws AWSMachinePool default/blue-mp-0 skipped AWS was not checked. No AWS credentials were found"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			simulator, arn := account(t), poolARN
			if row.tags != nil {
				arn = createGroup(t, row.tags)
			}
			m := &management{version: "v1.36.3"}
			m.addCAPA(t)
			m.addPool(t, arn)
			m.addNetwork(t, imageOf(t, awssimtest.Config(os.Getenv("AWS_ENDPOINT_URL"), "us-east-1", preflightKey)))
			if row.static {
				m.addStaticIdentity(t)
			}
			if row.change != nil {
				row.change(t)
			}
			simulator.ClearCalls()
			arguments := []string{"--kubeconfig", m.kubeconfig(t), "--context", "here", "--timeout", time.Second.String()}
			arguments = append(arguments, row.flags...)
			if row.execute {
				arguments = append(arguments, "--execute")
			}
			printed, progress, exit := runMigrate(t, arguments...)
			if exit != exitFailed || !strings.Contains(printed, row.prints) || progress != "" {
				t.Errorf("exit %d, progress %q, and printed:\n%s", exit, progress, printed)
			}
			for _, call := range simulator.Calls() {
				if action.Changes(call.Action) {
					t.Errorf("the command called %s", call.Action)
				}
			}
			for _, object := range m.objects {
				if object.GetResourceVersion() != "1" && object.GetKind() == "Cluster" {
					t.Errorf("%s was changed: %v", object.GetKind(), object.Object)
				}
			}
		})
	}
}

// imageOf returns an image that exists in the simulated AWS.
func imageOf(t *testing.T, config aws.Config) string {
	t.Helper()
	out, err := ec2.NewFromConfig(config).DescribeImages(t.Context(), &ec2.DescribeImagesInput{Owners: []string{"819546954734"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range out.Images {
		if image.Architecture == ec2types.ArchitectureValuesX8664 {
			return *image.ImageId
		}
	}
	t.Fatal("there is no image")
	return ""
}
