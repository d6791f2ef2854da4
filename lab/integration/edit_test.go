package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

const (
	nodesProfile = "nodes.cluster-api-provider-aws.sigs.k8s.io"
	// extraGroup is a security group that the cluster does not give to nodes by itself.
	extraGroup          = "extra"
	controlPlaneProfile = "control-plane.cluster-api-provider-aws.sigs.k8s.io"
)

// edit is one change of awsLaunchTemplate, and how it is recognized in the version that results.
type edit struct {
	reason string
	change func(*infrav1.AWSMachinePool)
	stored func(*ec2types.ResponseLaunchTemplateData) bool
}

func launchEdit(reason string, change func(*infrav1.AWSLaunchTemplate), stored func(*ec2types.ResponseLaunchTemplateData) bool) edit {
	return edit{reason, func(pool *infrav1.AWSMachinePool) { change(pool.Spec.AWSLaunchTemplate) }, stored}
}

func device(data *ec2types.ResponseLaunchTemplateData, name string) *ec2types.LaunchTemplateEbsBlockDevice {
	for _, mapping := range data.BlockDeviceMappings {
		if aws.ToString(mapping.DeviceName) == name {
			return mapping.Ebs
		}
	}
	return nil
}

func groupsOf(data *ec2types.ResponseLaunchTemplateData) []string {
	ids := slices.Clone(data.SecurityGroupIds)
	for _, nic := range data.NetworkInterfaces {
		ids = append(ids, nic.Groups...)
	}
	return ids
}

// edits are in groups that one pool goes through in order.
var edits = map[string][]edit{
	"volumes": {
		launchEdit("CAPA ignores the root volume", func(template *infrav1.AWSLaunchTemplate) {
			template.RootVolume = &infrav1.Volume{Size: 30, Type: "gp3"}
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			root := device(data, "/dev/sda1")
			return root != nil && *root.VolumeSize == 30 && root.VolumeType == "gp3"
		}),
		launchEdit("CAPA ignores other volumes", func(template *infrav1.AWSLaunchTemplate) {
			template.NonRootVolumes = []infrav1.Volume{{DeviceName: "/dev/sdb", Size: 100, Type: "gp3", IOPS: 4000, Throughput: ptr.To[int64](250)}}
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			volume := device(data, "/dev/sdb")
			return volume != nil && *volume.VolumeSize == 100 && *volume.Iops == 4000 && *volume.Throughput == 250
		}),
		launchEdit("volumes are encrypted", func(template *infrav1.AWSLaunchTemplate) {
			template.RootVolume.Encrypted = ptr.To(true)
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			root := device(data, "/dev/sda1")
			return root != nil && aws.ToBool(root.Encrypted)
		}),
		launchEdit("volumes go", func(template *infrav1.AWSLaunchTemplate) {
			template.NonRootVolumes = nil
		}, func(data *ec2types.ResponseLaunchTemplateData) bool { return device(data, "/dev/sdb") == nil }),
	},
	"instance": {
		launchEdit("the metadata service", func(template *infrav1.AWSLaunchTemplate) {
			template.InstanceMetadataOptions = &infrav1.InstanceMetadataOptions{HTTPTokens: "required", HTTPPutResponseHopLimit: 2}
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			return data.MetadataOptions != nil && data.MetadataOptions.HttpTokens == "required" && *data.MetadataOptions.HttpPutResponseHopLimit == 2
		}),
		launchEdit("the IPv6 endpoint of the metadata service", func(template *infrav1.AWSLaunchTemplate) {
			template.InstanceMetadataOptions.HTTPProtocolIPv6 = "enabled"
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			return data.MetadataOptions.HttpProtocolIpv6 == "enabled" && data.MetadataOptions.HttpTokens == "required"
		}),
		launchEdit("hostnames", func(template *infrav1.AWSLaunchTemplate) {
			template.PrivateDNSName = &infrav1.PrivateDNSName{HostnameType: ptr.To("resource-name"), EnableResourceNameDNSARecord: ptr.To(true)}
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			return data.PrivateDnsNameOptions != nil && data.PrivateDnsNameOptions.HostnameType == "resource-name" && aws.ToBool(data.PrivateDnsNameOptions.EnableResourceNameDnsARecord)
		}),
		launchEdit("enclaves", func(template *infrav1.AWSLaunchTemplate) {
			template.EnclaveOptions, template.InstanceType = &infrav1.EnclaveOptions{Enabled: ptr.To(true)}, "m6i.xlarge"
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			return data.EnclaveOptions != nil && aws.ToBool(data.EnclaveOptions.Enabled) && data.InstanceType == "m6i.xlarge"
		}),
		launchEdit("an empty key name is no key pair, a nil one is the cluster's", func(template *infrav1.AWSLaunchTemplate) {
			template.SSHKeyName = ptr.To("")
		}, func(data *ec2types.ResponseLaunchTemplateData) bool { return aws.ToString(data.KeyName) == "" }),
	},
	"identity": {
		launchEdit("an instance profile by name", func(template *infrav1.AWSLaunchTemplate) {
			template.IamInstanceProfile = nodesProfile
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			return data.IamInstanceProfile != nil && aws.ToString(data.IamInstanceProfile.Name) == nodesProfile
		}),
		launchEdit("tags", func(_ *infrav1.AWSLaunchTemplate) {}, nil),
		launchEdit("security groups by filter", func(template *infrav1.AWSLaunchTemplate) {
			template.AdditionalSecurityGroups = []infrav1.AWSResourceReference{{Filters: []infrav1.Filter{{Name: "tag:Name", Values: []string{extraGroup}}}}}
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			return len(groupsOf(data)) == 3 && slices.Contains(groupsOf(data), "sg-0c1000000000000ab")
		}),
		launchEdit("Spot at the On-Demand price: CAPA drops an empty maxPrice", func(template *infrav1.AWSLaunchTemplate) {
			template.SpotMarketOptions = &infrav1.SpotMarketOptions{MaxPrice: ptr.To("")}
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			return data.InstanceMarketOptions != nil && data.InstanceMarketOptions.MarketType == "spot"
		}),
		launchEdit("a limit of the Spot price", func(template *infrav1.AWSLaunchTemplate) {
			template.SpotMarketOptions.MaxPrice = ptr.To("0.2")
		}, func(data *ec2types.ResponseLaunchTemplateData) bool {
			spot := data.InstanceMarketOptions.SpotOptions
			return spot != nil && strings.HasPrefix(aws.ToString(spot.MaxPrice), "0.2")
		}),
	},
	"image": {
		launchEdit("another base system", func(template *infrav1.AWSLaunchTemplate) {
			template.ImageLookupBaseOS = "ubuntu-22.04"
		}, nil),
		launchEdit("another format of names", func(template *infrav1.AWSLaunchTemplate) {
			template.ImageLookupFormat = "capa-ami-flatcar-stable-v{{.K8sVersion}}-*"
		}, nil),
		launchEdit("another architecture", func(template *infrav1.AWSLaunchTemplate) {
			template.InstanceType = "m6g.large"
		}, func(data *ec2types.ResponseLaunchTemplateData) bool { return data.InstanceType == "m6g.large" }),
	},
}

// TestEditsOfTheLaunchTemplate holds that each edit creates one version with the right data and one
// refresh, and replaces every instance.
func TestEditsOfTheLaunchTemplate(t *testing.T) {
	t.Parallel()
	for name, sequence := range edits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.havePool("  minSize: 1\n", "  minSize: 1\n  versionsToKeep: 9999\n")
			w.securityGroup(extraGroup)
			for _, edit := range sequence {
				if edit.reason == "tags" {
					edit = w.tagEdit()
				}
				w.roll(edit)
			}
		})
	}
}

// tagEdit is an edit outside awsLaunchTemplate that changes what instances are.
func (w *world) tagEdit() edit {
	return edit{"tags of the pool are tags of its instances", func(pool *infrav1.AWSMachinePool) {
		pool.Spec.AdditionalTags = infrav1.Tags{"team": "blue"}
	}, func(data *ec2types.ResponseLaunchTemplateData) bool {
		return slices.ContainsFunc(data.TagSpecifications, func(specification ec2types.LaunchTemplateTagSpecification) bool {
			return tagMap(specification.Tags)["team"] == "blue"
		})
	}}
}

// roll applies an edit and waits for its effects.
func (w *world) roll(edit edit) {
	w.Helper()
	before, versions, image := w.running(), w.numbers(), aws.ToString(w.latest().ImageId)
	w.Cloud.AWS.ClearCalls()
	w.editPool(edit.change)
	w.Eventually(edit.reason+": all instances are replaced", func() error { return w.replaced(before, len(before)) })
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplate": 0, "CreateLaunchTemplateVersion": 1, "StartInstanceRefresh": 1, "CancelInstanceRefresh": 0})
	if numbers := w.numbers(); len(numbers) != len(versions)+1 {
		w.Errorf("%s: versions are %d after %d", edit.reason, numbers, versions)
	}
	data := w.latest()
	if edit.stored == nil {
		if *data.ImageId == image {
			w.Errorf("%s: the image is still %s", edit.reason, image)
		}
	} else if !edit.stored(data) {
		w.Errorf("%s: it is not in the version: %+v", edit.reason, *data)
	}
}

// TestInstanceProfileByARN holds that a profile's ARN is sent as an ARN.
func TestInstanceProfileByARN(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	arn := "arn:aws:iam::" + w.Account + ":instance-profile/" + controlPlaneProfile
	w.havePool("    sshKeyName:", "    iamInstanceProfile: "+arn+"\n    sshKeyName:")
	if profile := w.latest().IamInstanceProfile; profile == nil || aws.ToString(profile.Arn) != arn || profile.Name != nil {
		t.Errorf("the version's profile is %+v", profile)
	}
}

// TestGoingBackReusesTheVersion holds that an earlier spec with the same bootstrap data is an
// earlier version.
func TestGoingBackReusesTheVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	w.roll(launchEdit("there", func(template *infrav1.AWSLaunchTemplate) { template.InstanceType = "m6i.large" },
		func(data *ec2types.ResponseLaunchTemplateData) bool { return data.InstanceType == "m6i.large" }))
	before := w.running()
	w.Cloud.AWS.ClearCalls()
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "t3.large" })
	w.Eventually("and back again", func() error { return w.replaced(before, 2) })
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "StartInstanceRefresh": 1})
	if version := *w.group().LaunchTemplate.Version; version != "1" {
		t.Errorf("the group is at version %s, want 1 again", version)
	}
	if version := *w.template().DefaultVersionNumber; version != 1 {
		t.Errorf("the default version is %d, want 1 again", version)
	}
}

// TestPruning holds that versionsToKeep bounds the versions, and that what is in use stays.
func TestPruning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool("  minSize: 1\n", "  minSize: 1\n  versionsToKeep: 2\n")
	// Instances of version 1 stay, because they are not replaced.
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
	})
	for _, size := range []int64{20, 21, 22, 23, 24} {
		before := w.numbers()
		w.editPool(func(pool *infrav1.AWSMachinePool) {
			pool.Spec.AWSLaunchTemplate.RootVolume = &infrav1.Volume{Size: size}
		})
		w.Eventually("there is a new version", func() error { return differs(w.numbers(), before) })
		w.awaitCondition(infrav1.ReadyCondition, "True", infrav1.ReadyReason)
	}
	w.Eventually("old versions are pruned", func() error { return equals(w.numbers(), []int64{1, 5, 6}) })
	if version := *w.template().DefaultVersionNumber; version != 6 {
		t.Errorf("the default version is %d", version)
	}
	// Once they are replaced, version 1 goes too.
	before := w.running()
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.RefreshPreferences = nil })
	w.Eventually("the instances are replaced", func() error { return w.replaced(before, 2) })
	w.Eventually("version 1 is pruned", func() error { return equals(w.numbers(), []int64{5, 6}) })
	w.awaitEvents("LaunchTemplateVersionsPruned")
}

// securityGroup creates one in the cluster's VPC.
func (w *world) securityGroup(name string) {
	w.Helper()
	_, err := w.ec2().CreateSecurityGroup(w.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: &name, Description: &name, VpcId: aws.String("vpc-0a10000000000000a"),
		TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: &name}},
		}},
	})
	if err != nil {
		w.Fatal(err)
	}
}
