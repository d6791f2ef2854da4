package awssim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
)

// independent returns a program of another author's that works, from PATH or from where Debian puts
// it. hack/install-packages.sh installs it.
func independent(t *testing.T, program string, probe ...string) string {
	t.Helper()
	var failures []error
	for _, candidate := range []string{program, "/usr/bin/" + program} {
		path, err := exec.LookPath(candidate)
		if err == nil {
			err = exec.CommandContext(t.Context(), path, probe...).Run()
		}
		if err == nil {
			return path
		}
		failures = append(failures, fmt.Errorf("%s %v: %w", candidate, probe, err))
	}
	t.Fatalf("no %s: run hack/install-packages.sh: %v", program, errors.Join(failures...))
	return ""
}

// run runs a program as a user of the simulated AWS and returns what it writes.
func (e *endpoint) run(t *testing.T, path string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), path, args...)
	// The settings of the user that runs the tests must not show.
	mine := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") })
	cmd.Env = slices.Concat(mine, []string{"AWS_ENDPOINT_URL=" + e.url, "AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=" + region, "AWS_DEFAULT_REGION=" + region, "AWS_MAX_ATTEMPTS=1", "AWS_PAGER=",
		"AWS_CONFIG_FILE=" + home + "/config", "AWS_SHARED_CREDENTIALS_FILE=" + home + "/credentials", "AWS_EC2_METADATA_DISABLED=true"})
	var out, failure strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &failure
	err = cmd.Run()
	return out.String(), failure.String(), err
}

func TestAWSCLI(t *testing.T) {
	t.Parallel()
	aws := independent(t, "aws", "--version")
	e := serve(t, awssim.Options{})
	call := func(args ...string) object {
		t.Helper()
		// By flag, because older releases do not read the variable.
		out, failure, err := e.run(t, aws, append(args, "--output", "json", "--endpoint-url", e.url)...)
		if err != nil {
			t.Fatalf("aws %v: %v: %s", args, err, failure)
		}
		answer := object{}
		if strings.TrimSpace(out) != "" {
			if err := json.Unmarshal([]byte(out), &answer); err != nil {
				t.Fatalf("aws %v: %v: %s", args, err, out)
			}
		}
		return answer
	}
	if who := call("sts", "get-caller-identity"); who["Account"] != account {
		t.Errorf("the caller is %v", who)
	}
	image := call("ssm", "get-parameter", "--name", "/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/x86_64/standard/recommended/image_id")["Parameter"].(object)["Value"].(string)
	images := call("ec2", "describe-images", "--image-ids", image)["Images"].([]any)
	if len(images) != 1 || images[0].(object)["Architecture"] != "x86_64" {
		t.Errorf("the image is %v", images)
	}
	template := call("ec2", "create-launch-template", "--launch-template-name", "cli", "--version-description", "first",
		"--launch-template-data", `{"ImageId":"`+image+`","InstanceType":"m5.large","BlockDeviceMappings":[{"DeviceName":"/dev/xvda","Ebs":{"VolumeSize":30}}]}`,
		"--tag-specifications", "ResourceType=launch-template,Tags=[{Key=a,Value=b}]")["LaunchTemplate"].(object)
	versions := call("ec2", "describe-launch-template-versions", "--launch-template-name", "cli", "--versions", "$Latest")["LaunchTemplateVersions"].([]any)
	data := versions[0].(object)["LaunchTemplateData"].(object)
	if size := data["BlockDeviceMappings"].([]any)[0].(object)["Ebs"].(object)["VolumeSize"]; size != 30.0 || data["ImageId"] != image {
		t.Errorf("the template's data is %v", data)
	}
	call("autoscaling", "create-auto-scaling-group", "--auto-scaling-group-name", "cli", "--min-size", "2", "--max-size", "2",
		"--launch-template", "LaunchTemplateId="+template["LaunchTemplateId"].(string)+",Version=1",
		"--vpc-zone-identifier", "subnet-0b2000000000000aa,subnet-0b2000000000000ab")
	e.Clock().Step(0)
	group := call("autoscaling", "describe-auto-scaling-groups", "--auto-scaling-group-names", "cli")["AutoScalingGroups"].([]any)[0].(object)
	if group["DesiredCapacity"] != 2.0 || group["LaunchTemplate"].(object)["Version"] != "1" {
		t.Errorf("the group is %v", group)
	}
	eksWithCLI(t, e, call)
	call("iam", "get-instance-profile", "--instance-profile-name", "nodes.cluster-api-provider-aws.sigs.k8s.io")
	_, failure, err := e.run(t, aws, "ec2", "describe-launch-templates", "--launch-template-names", "none", "--endpoint-url", e.url)
	if err == nil || !strings.Contains(failure, "(InvalidLaunchTemplateName.NotFoundException)") {
		t.Errorf("a template that is not there: %v: %s", err, failure)
	}
	_, failure, err = e.run(t, aws, "autoscaling", "set-desired-capacity", "--auto-scaling-group-name", "none", "--desired-capacity", "1", "--endpoint-url", e.url)
	if err == nil || !strings.Contains(failure, "(ValidationError)") {
		t.Errorf("a group that is not there: %v: %s", err, failure)
	}
}

// eksWithCLI creates, shows, changes, and deletes a managed node group.
func eksWithCLI(t *testing.T, e *endpoint, call func(...string) object) {
	t.Helper()
	if err := e.Region(account, region).SetCluster(awssim.Cluster{Name: "cli", Version: "1.35", Subnets: []string{"subnet-0b2000000000000aa"}}); err != nil {
		t.Fatal(err)
	}
	if version := call("eks", "describe-cluster", "--name", "cli")["cluster"].(object)["version"]; version != "1.35" {
		t.Errorf("the cluster is of version %v", version)
	}
	made := call("eks", "create-nodegroup", "--cluster-name", "cli", "--nodegroup-name", "n", "--subnets", "subnet-0b2000000000000aa", "--labels", "a=b",
		"--node-role", "arn:aws:iam::"+account+":role/eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io",
		"--scaling-config", "minSize=0,maxSize=2,desiredSize=0")["nodegroup"].(object)
	if made["status"] != "CREATING" {
		t.Errorf("the node group is %v", made)
	}
	e.Clock().Step(5 * time.Second)
	group := call("eks", "describe-nodegroup", "--cluster-name", "cli", "--nodegroup-name", "n")["nodegroup"].(object)
	if group["status"] != "ACTIVE" || len(group["resources"].(object)["autoScalingGroups"].([]any)) != 1 {
		t.Errorf("the node group is %v", group)
	}
	update := call("eks", "update-nodegroup-config", "--cluster-name", "cli", "--nodegroup-name", "n", "--scaling-config", "maxSize=3")["update"].(object)
	e.Clock().Step(5 * time.Second)
	shown := call("eks", "describe-update", "--name", "cli", "--nodegroup-name", "n", "--update-id", update["id"].(string))["update"].(object)
	if shown["status"] != "Successful" || shown["type"] != "ConfigUpdate" {
		t.Errorf("the update is %v", shown)
	}
	arn := group["nodegroupArn"].(string)
	call("eks", "tag-resource", "--resource-arn", arn, "--tags", "x=1,y=2,z=3")
	call("eks", "untag-resource", "--resource-arn", arn, "--tag-keys", "x", "z")
	if tags := call("eks", "list-tags-for-resource", "--resource-arn", arn)["tags"].(object); len(tags) != 1 || tags["y"] != "2" {
		t.Errorf("the tags are %v", tags)
	}
	aws := independent(t, "aws", "--version")
	_, failure, err := e.run(t, aws, "eks", "describe-nodegroup", "--cluster-name", "cli", "--nodegroup-name", "none", "--endpoint-url", e.url)
	if err == nil || !strings.Contains(failure, "(ResourceNotFoundException)") || !strings.Contains(failure, "No node group found for name: none.") {
		t.Errorf("a node group that is not there: %v: %s", err, failure)
	}
	call("eks", "delete-nodegroup", "--cluster-name", "cli", "--nodegroup-name", "n")
}

// TestEKSClusterByCLI holds that a cluster with its node group and its add-on lives from its
// creation to its deletion by the AWS CLI, waiters included. Time stands still while the CLI runs
// and is stepped between its calls, so that what a waiter waits for is there at its first check: it
// would check again only after half a minute of real time.
func TestEKSClusterByCLI(t *testing.T) {
	t.Parallel()
	aws := independent(t, "aws", "--version")
	e := serve(t, awssim.Options{Behavior: awssim.Behavior{ClusterTimes: awssim.ClusterTimes{Creating: 8 * time.Minute, Updating: 9 * time.Minute, Deleting: 3 * time.Minute}}})
	eks := func(args ...string) object {
		t.Helper()
		out, failure, err := e.run(t, aws, append([]string{"eks"}, append(args, "--output", "json", "--endpoint-url", e.url)...)...)
		if err != nil {
			t.Fatalf("aws eks %v: %v: %s", args, err, failure)
		}
		answer := object{}
		if strings.TrimSpace(out) != "" {
			if err := json.Unmarshal([]byte(out), &answer); err != nil {
				t.Fatalf("aws eks %v: %v: %s", args, err, out)
			}
		}
		e.Clock().Step(10 * time.Minute)
		return answer
	}
	const subnets = "subnet-0b2000000000000aa,subnet-0b2000000000000ab"
	role := func(name string) string {
		return "arn:aws:iam::" + account + ":role/" + name + ".cluster-api-provider-aws.sigs.k8s.io"
	}
	made := eks("create-cluster", "--name", "c", "--kubernetes-version", "1.34", "--role-arn", role("eks-controlplane"), "--resources-vpc-config", "subnetIds="+subnets)["cluster"].(object)
	if made["status"] != "CREATING" || len(made["certificateAuthority"].(object)) != 0 {
		t.Errorf("the cluster is %v", made)
	}
	eks("wait", "cluster-active", "--name", "c")
	eks("create-nodegroup", "--cluster-name", "c", "--nodegroup-name", "n", "--subnets", "subnet-0b2000000000000aa", "--node-role", role("eks-nodegroup"))
	eks("wait", "nodegroup-active", "--cluster-name", "c", "--nodegroup-name", "n")
	update := eks("update-cluster-version", "--name", "c", "--kubernetes-version", "1.35")["update"].(object)
	eks("wait", "cluster-active", "--name", "c")
	if shown := eks("describe-update", "--name", "c", "--update-id", update["id"].(string))["update"].(object); shown["status"] != "Successful" || shown["type"] != "VersionUpdate" {
		t.Errorf("the update is %v", shown)
	}
	eks("create-addon", "--cluster-name", "c", "--addon-name", "coredns")
	eks("wait", "addon-active", "--cluster-name", "c", "--addon-name", "coredns")
	cluster := eks("describe-cluster", "--name", "c")["cluster"].(object)
	if cluster["version"] != "1.35" || cluster["identity"].(object)["oidc"].(object)["issuer"] == "" {
		t.Errorf("the cluster is %v", cluster)
	}
	eks("delete-addon", "--cluster-name", "c", "--addon-name", "coredns")
	eks("wait", "addon-deleted", "--cluster-name", "c", "--addon-name", "coredns")
	eks("delete-nodegroup", "--cluster-name", "c", "--nodegroup-name", "n")
	eks("wait", "nodegroup-deleted", "--cluster-name", "c", "--nodegroup-name", "n")
	eks("delete-cluster", "--name", "c")
	eks("wait", "cluster-deleted", "--name", "c")
	if names := eks("list-clusters")["clusters"].([]any); len(names) != 0 {
		t.Errorf("left are %v", names)
	}
}

// waiterScript runs boto3's waiters, which poll often enough to see a cluster in the middle of its
// creation, and of its deletion.
const waiterScript = `
import boto3, os
eks = boto3.client("eks", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
often = {"Delay": 0.05, "MaxAttempts": 1000}
role = "arn:aws:iam::111122223333:role/eks-controlplane.cluster-api-provider-aws.sigs.k8s.io"
made = eks.create_cluster(name="c", roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-0b2000000000000aa", "subnet-0b2000000000000ab"]})["cluster"]
assert made["status"] == "CREATING", made
eks.get_waiter("cluster_active").wait(name="c", WaiterConfig=often)
assert eks.describe_cluster(name="c")["cluster"]["endpoint"].startswith("https://")
assert eks.delete_cluster(name="c")["cluster"]["status"] == "DELETING"
eks.get_waiter("cluster_deleted").wait(name="c", WaiterConfig=often)
print("ok")
`

func TestBoto3Waiters(t *testing.T) {
	t.Parallel()
	python := independent(t, "python3", "-c", "import boto3")
	clock := simclock.New(start, 1000)
	t.Cleanup(clock.Close)
	e := serve(t, awssim.Options{Clock: clock, Behavior: awssim.Behavior{ClusterTimes: awssim.ClusterTimes{Creating: 5 * time.Minute, Deleting: 5 * time.Minute}}})
	out, failure, err := e.run(t, python, "-c", waiterScript)
	if err != nil || strings.TrimSpace(out) != "ok" {
		t.Errorf("%v\n%s%s", err, out, failure)
	}
}

// boto3Script asserts on types and on members that must be there though they are empty: boto3's own
// parsers are stricter than the CLI's output shows.
const boto3Script = `
import boto3, datetime, os
from botocore.exceptions import ClientError
# By parameter, because older releases do not read the variable.
endpoint = os.environ["AWS_ENDPOINT_URL"]
ec2, asg = boto3.client("ec2", endpoint_url=endpoint), boto3.client("autoscaling", endpoint_url=endpoint)
assert ec2.describe_launch_templates()["LaunchTemplates"] == []
assert asg.describe_auto_scaling_groups()["AutoScalingGroups"] == []
zones = ec2.describe_availability_zones()["AvailabilityZones"]
assert [z["ZoneId"] for z in zones] == ["use1-az1", "use1-az2", "use1-az3"], zones
image = boto3.client("ssm", endpoint_url=endpoint).get_parameter(Name="/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/arm64/standard/recommended/image_id")["Parameter"]
assert isinstance(image["LastModifiedDate"], datetime.datetime), image
data = {"ImageId": image["Value"], "InstanceType": "m6g.large", "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}, "EbsOptimized": True}
lt = ec2.create_launch_template(LaunchTemplateName="boto", LaunchTemplateData=data)["LaunchTemplate"]
assert isinstance(lt["CreateTime"], datetime.datetime) and lt["LatestVersionNumber"] == 1, lt
v = ec2.describe_launch_template_versions(LaunchTemplateId=lt["LaunchTemplateId"])["LaunchTemplateVersions"][0]["LaunchTemplateData"]
assert v["EbsOptimized"] is True and v["MetadataOptions"]["HttpPutResponseHopLimit"] == 2, v
types = [t["InstanceType"] for p in ec2.get_paginator("describe_instance_types").paginate(PaginationConfig={"PageSize": 5}) for t in p["InstanceTypes"]]
assert len(types) == len(set(types)) > 60, types
run = ec2.run_instances(LaunchTemplate={"LaunchTemplateName": "boto"}, MinCount=1, MaxCount=2, SubnetId="subnet-0b1000000000000aa")
assert len(run["Instances"]) == 2, run
try:
    ec2.create_launch_template(LaunchTemplateName="boto", LaunchTemplateData=data)
    raise AssertionError("a second template of the same name was created")
except ClientError as e:
    assert e.response["Error"]["Code"] == "InvalidLaunchTemplateName.AlreadyExistsException", e
    assert e.response["ResponseMetadata"]["HTTPStatusCode"] == 400 and e.response["ResponseMetadata"]["RequestId"], e
try:
    asg.start_instance_refresh(AutoScalingGroupName="none")
    raise AssertionError("a refresh of nothing was started")
except asg.exceptions.ClientError as e:
    assert e.response["Error"]["Code"] == "ValidationError", e
print("ok")
`

func TestBoto3(t *testing.T) {
	t.Parallel()
	python := independent(t, "python3", "-c", "import boto3")
	e := serve(t, awssim.Options{})
	out, failure, err := e.run(t, python, "-c", boto3Script)
	if err != nil || strings.TrimSpace(out) != "ok" {
		t.Errorf("%v\n%s%s", err, out, failure)
	}
}
