package eks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

// TestUserDataByFamily holds that EKS's additions to user data have the form of each family, and
// are added to the user's data.
func TestUserDataByFamily(t *testing.T) {
	t.Parallel()
	rows := []struct {
		amiType types.AMITypes
		version string
		own     string
		want    []string
	}{
		{types.AMITypesAl2X8664, "1.30",
			"Content-Type: multipart/mixed; boundary=B\r\nMIME-Version: 1.0\r\n\r\n--B\r\nContent-Type: text/x-shellscript\r\n\r\n#!/bin/sh\necho own\r\n--B--\r\n",
			[]string{"multipart/mixed", "echo own", "/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=", "--register-with-taints=k=v:NoExecute"}},
		{
			types.AMITypesAl2023X8664Standard, "1.35",
			"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: application/node.eks.aws\n\nkind: NodeConfig # own\n\n--B--\n",
			[]string{"boundary=\"B\"", "kind: NodeConfig # own", "--B\nContent-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1", "name: demo", "cidr: 172.20.0.0/16"},
		},
		{types.AMITypesBottlerocketX8664, "1.35", "[settings.host-containers.admin]\nenabled = true\n", []string{"\"cluster-name\" = \"demo\"", "\"k\" = \"v:NoExecute\"", "enabled = true"}},
	}
	for _, row := range rows {
		t.Run(string(row.amiType), func(t *testing.T) {
			t.Parallel()
			f := start(t)
			f.setCluster(row.version)
			template := f.template(func(d *data) { d.UserData = aws.String(encode(row.own)) })
			f.active(newGroup(1, onTemplate(template, "1"), func(in *create) {
				in.AmiType, in.Taints = row.amiType, []types.Taint{{Key: aws.String("k"), Value: aws.String("v"), Effect: types.TaintEffectNoExecute}}
			}))
			got := f.sim.Region(account, region).Instances()[0].UserData
			for _, want := range append(row.want, "eks.amazonaws.com/nodegroup") {
				if !strings.Contains(got, want) {
					t.Errorf("there is no %q in\n%s", want, got)
				}
			}
		})
	}
}

// TestUserDataMustBeMultipart holds that EKS cannot merge user data for Amazon Linux that is not
// MIME multi-part: the creation fails, and an update fails and leaves the group as it was.
func TestUserDataMustBeMultipart(t *testing.T) {
	t.Parallel()
	multipart := "Content-Type: multipart/mixed; boundary=\"B\"\nMIME-Version: 1.0\n\n--B\nContent-Type: text/cloud-config\n\n#cloud-config\n--B--\n"
	for _, row := range []struct {
		reason  string
		amiType types.AMITypes
		own     string
		refused bool
	}{
		{"a script", types.AMITypesAl2X8664, "#!/bin/sh\necho own\n", true},
		{"cloud-config", types.AMITypesAl2023X8664Standard, "#cloud-config\nruncmd: []\n", true},
		{"a NodeConfig", types.AMITypesAl2023X8664Standard, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n", true},
		{"a MIME message of one part", types.AMITypesAl2023X8664Standard, "MIME-Version: 1.0\nContent-Type: text/cloud-config\n\n#cloud-config\n", true},
		{"a message without an end", types.AMITypesAl2X8664, strings.TrimSuffix(multipart, "--B--\n"), true},
		{"a message", types.AMITypesAl2023X8664Standard, multipart, false},
		{"none", types.AMITypesAl2023X8664Standard, "", false},
		{"Bottlerocket reads TOML", types.AMITypesBottlerocketX8664, "[settings.host-containers.admin]\nenabled = true\n", false},
		{"Windows reads PowerShell", types.AMITypesWindowsCore2022X8664, "<powershell>\nWrite-Host own\n</powershell>\n", false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			if row.amiType == types.AMITypesAl2X8664 {
				f.setCluster("1.30")
			}
			template := f.template(func(d *data) { d.UserData = aws.String(encode(row.own)) })
			call(f, f.eks.CreateNodegroup, newGroup(1, onTemplate(template, "1"), func(in *create) { in.AmiType = row.amiType }))
			want := types.NodegroupStatusActive
			if row.refused {
				want = types.NodegroupStatusCreateFailed
			}
			f.awaitStatus(want)
			issues := f.group("nodes").Health.Issues
			if !row.refused {
				return
			}
			if len(issues) != 1 || issues[0].Code != types.NodegroupIssueCodeEc2LaunchTemplateInvalidConfiguration ||
				*issues[0].Message != "User data was not in the MIME multipart format." {
				t.Errorf("the health issues are %+v", issues)
			}
			f.checkUpdateToUserData(row.amiType, row.own)
		})
	}
}

// checkUpdateToUserData creates another group and updates it to a version with the user data, which
// must fail.
func (f *fixture) checkUpdateToUserData(amiType types.AMITypes, own string) {
	f.t.Helper()
	call(f, f.eks.DeleteNodegroup, &eks.DeleteNodegroupInput{ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes")})
	f.until(time.Hour, "the deletion", func() bool {
		return len(call(f, f.eks.ListNodegroups, &eks.ListNodegroupsInput{ClusterName: aws.String(clusterName)}).Nodegroups) == 0
	})
	template := f.template()
	f.active(newGroup(1, onTemplate(template, "1"), func(in *create) { in.AmiType = amiType }))
	bad := f.version(template, func(d *data) { d.UserData = aws.String(encode(own)) })
	out := call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(template, bad))).Update
	f.awaitStatus(types.NodegroupStatusActive)
	u := f.update(out.Id)
	if u.Status != types.UpdateStatusFailed || len(u.Errors) != 1 || string(u.Errors[0].ErrorCode) != "Ec2LaunchTemplateInvalidConfiguration" {
		f.t.Errorf("the update is %s: %+v", u.Status, u.Errors)
	}
	if version := *f.group("nodes").LaunchTemplate.Version; version != "1" {
		f.t.Errorf("the group is on version %s", version)
	}
}

// TestManagedNode holds that code that runs nodes learns their labels and taints, also for custom
// images, whose user data EKS leaves alone.
func TestManagedNode(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template(withImage(f.image))
	f.active(newGroup(1, onTemplate(template, "1"), func(in *create) { in.Labels = map[string]string{"a": "1"} }))
	instance := f.autoScalingGroup().Instances[0].InstanceId
	node, ok := f.sim.Region(account, region).ManagedNode(*instance)
	want := map[string]string{
		"a": "1", "eks.amazonaws.com/nodegroup": "nodes", "eks.amazonaws.com/nodegroup-image": f.image, "eks.amazonaws.com/capacityType": "ON_DEMAND",
		"eks.amazonaws.com/sourceLaunchTemplateId": template, "eks.amazonaws.com/sourceLaunchTemplateVersion": "1",
	}
	if !ok || node.Cluster != clusterName || fmt.Sprint(node.Labels) != fmt.Sprint(want) {
		t.Errorf("the node is %+v", node)
	}
	call(f, f.eks.UpdateNodegroupConfig, newConfig(func(in *eks.UpdateNodegroupConfigInput) {
		in.Labels = &types.UpdateLabelsPayload{AddOrUpdateLabels: map[string]string{"a": "2"}}
	}))
	f.awaitStatus(types.NodegroupStatusActive)
	if node, _ := f.sim.Region(account, region).ManagedNode(*instance); node.Labels["a"] != "2" {
		t.Errorf("the running node has the labels %v", node.Labels)
	}
	if _, ok := f.sim.Region(account, region).ManagedNode("i-00000000000000000"); ok {
		t.Error("an instance that does not exist is a node")
	}
}

// TestReleases holds that releases are the builds of the image, that the newest is the default, and
// that an older one is a roll-back.
func TestReleases(t *testing.T) {
	t.Parallel()
	const older = "1.35.0-20251201"
	f := start(t, func(o *awssim.Options) {
		w := *world.Default()
		w.Regions = append([]world.Region{}, w.Regions...)
		r := &w.Regions[0]
		r.Images = append([]world.Image{}, r.Images...)
		for _, image := range r.Images {
			if strings.HasPrefix(image.Name, "amazon-eks-node-al2023-x86_64-standard-1.35-") {
				image.ID, image.Name = "ami-0123456789abcdef0", "amazon-eks-node-al2023-x86_64-standard-1.35-v20251201"
				image.CreationDate = time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC)
				r.Images = append(r.Images, image)
				break
			}
		}
		o.World = &w
	})
	f.active(newGroup(1, func(in *create) { in.ReleaseVersion = aws.String(older) }))
	image := func() string {
		out := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"running"}}}})
		return *out.Reservations[0].Instances[0].ImageId
	}
	if g := f.group("nodes"); *g.ReleaseVersion != older || image() != "ami-0123456789abcdef0" {
		t.Errorf("the group runs %s, %s", *g.ReleaseVersion, image())
	}
	call(f, f.eks.UpdateNodegroupVersion, newVersion())
	f.awaitStatus(types.NodegroupStatusActive)
	f.step(time.Minute)
	if g := f.group("nodes"); *g.ReleaseVersion == older || image() == "ami-0123456789abcdef0" {
		t.Errorf("after an update the group runs %s, %s", *g.ReleaseVersion, image())
	}
	call(f, f.eks.UpdateNodegroupVersion, newVersion(toVersion("1.35", older)))
	f.awaitStatus(types.NodegroupStatusActive)
	f.step(time.Minute)
	if g := f.group("nodes"); *g.ReleaseVersion != older || image() != "ami-0123456789abcdef0" {
		t.Errorf("after it went back the group runs %s, %s", *g.ReleaseVersion, image())
	}
}

// TestManyGroupsAtOnce holds that fifty groups are created and updated at once: none waits for
// another.
func TestManyGroupsAtOnce(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) {
		w := *world.Default()
		w.Quotas = map[string]int{world.QuotaNodeGroups: 50}
		o.World = &w
	})
	template := f.template(withType("m5.large"))
	all := func(status types.NodegroupStatus) bool {
		for i := range 50 {
			if f.group(fmt.Sprint("g", i)).Status != status {
				return false
			}
		}
		return true
	}
	for i := range 50 {
		call(f, f.eks.CreateNodegroup, newGroup(1, onTemplate(template, "1"), named(fmt.Sprint("g", i))))
	}
	f.step(pending + boot + 5*time.Second)
	if !all(types.NodegroupStatusActive) {
		t.Fatalf("not all are ACTIVE")
	}
	version := f.version(template, withType("m5.xlarge"))
	for i := range 50 {
		in := newVersion(toTemplate(template, version))
		in.NodegroupName = aws.String(fmt.Sprint("g", i))
		call(f, f.eks.UpdateNodegroupVersion, in)
	}
	f.step(time.Minute)
	if !all(types.NodegroupStatusUpdating) {
		t.Errorf("not all are UPDATING")
	}
	f.step(5 * time.Minute)
	if !all(types.NodegroupStatusActive) {
		t.Errorf("not all are ACTIVE again: %v", f.summary()[:10])
	}
}

// TestLostAnswer holds that an answer that is lost after the effect is found again by its token.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	f := start(t)
	if _, err := f.sim.AddFault(awssim.Fault{Service: "eks", Action: "CreateNodegroup", Nth: 1, Place: awssim.AfterEffect, Code: "ServerException", Message: "lost", Status: 500}); err != nil {
		t.Fatal(err)
	}
	in := newGroup(0, func(in *create) { in.ClientRequestToken = aws.String("t") })
	fails(f, f.eks.CreateNodegroup, in, "ServerException", "lost")
	if got := call(f, f.eks.CreateNodegroup, in).Nodegroup; *got.NodegroupName != "nodes" {
		t.Errorf("got %s", *got.NodegroupName)
	}
}
