package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	awsworld "github.com/slipway-project/slipway/awssim/world"
)

const (
	// The default world has one release of Amazon Linux 2023 for Kubernetes 1.34; newerImage adds
	// the other.
	olderRelease = "1.34.0-20250903"
	newerRelease = "1.34.1-20251103"
	rootDevice   = "/dev/xvda"
	defaultGroup = "sg-0c1000000000000aa"
	lbGroup      = "sg-0c1000000000000ac"
)

// newerImage is a later release of the image of the example.
func newerImage(t *testing.T) awsworld.Image {
	t.Helper()
	images := awsworld.Default().Regions[0].Images
	at := slices.IndexFunc(images, func(image awsworld.Image) bool {
		return image.Name == "amazon-eks-node-al2023-x86_64-standard-1.34-v20250903"
	})
	if at < 0 {
		t.Fatal("the default world has no image for the example")
	}
	newer := images[at]
	newer.ID, newer.CreationDate = "ami-0123456789abcde01", newer.CreationDate.AddDate(0, 2, 0)
	newer.Name, newer.Description = strings.Replace(newer.Name, "20250903", "20251103", 1), strings.Replace(newer.Description, "1.34.0", "1.34.1", 1)
	return newer
}

// hasEffect is nil once all rows have their effect in AWS.
func (w *world) hasEffect(name string, rows []managedField) error {
	seen, err := w.seenInEKS(name)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if !row.effect(seen) {
			pool, err := w.managedNamed(name)
			return fmt.Errorf("%s has no effect (%w); conditions %+v", row.path, err, pool.Status.Conditions)
		}
	}
	return nil
}

// comparableInEKS returns AWS's description of a managed pool, without what differs between any two
// of them, and without explicit defaults.
func (w *world) comparableInEKS(name string) (any, error) {
	seen, err := w.seenInEKS(name)
	if err != nil {
		return nil, err
	}
	identities := strings.NewReplacer(
		*seen.asg.AutoScalingGroupName, "GROUP", *seen.NodegroupArn, "ARN", *seen.NodegroupName, "NODEGROUP", *seen.role.RoleName, "ROLE", name, "POOL",
		strings.TrimPrefix(*seen.asg.AutoScalingGroupName, "eks-"+*seen.NodegroupName+"-"), "ID",
	)
	if warm := seen.WarmPoolConfig; warm != nil && !aws.ToBool(warm.Enabled) {
		seen.WarmPoolConfig = nil
	}
	seen.launches.UserData = nil // names the version of the pool's template, and else what the node group has
	for i := range seen.asg.Tags {
		seen.asg.Tags[i].ResourceId = nil
	}
	own := seen.asg.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification
	own.LaunchTemplateId, own.LaunchTemplateName, own.Version = nil, nil, nil
	group := map[string]any{
		"sizes": seen.ScalingConfig, "types": seen.InstanceTypes, "labels": seen.Labels, "taints": append([]ekstypes.Taint{}, seen.Taints...), "update": seen.UpdateConfig,
		"repair": seen.NodeRepairConfig, "warm pool": seen.WarmPoolConfig, "tags": seen.Tags, "release": seen.ReleaseVersion, "family": seen.AmiType, "subnets": seen.Subnets,
		"asg sizes": []*int32{seen.asg.MinSize, seen.asg.MaxSize, seen.asg.DesiredCapacity}, "asg tags": seen.asg.Tags, "asg launches": seen.asg.MixedInstancesPolicy,
		"asg warm pool": seen.asg.WarmPoolConfiguration, "asg suspended": seen.asg.SuspendedProcesses, "hooks": seen.hooks, "launches": seen.launches,
		"boundary": seen.role.PermissionsBoundary, "role tags": seen.role.Tags, "policies": seen.policies, "status": seen.Status,
	}
	text, err := json.Marshal(group)
	if err != nil {
		return nil, err
	}
	var plain any
	return plain, errors.Join(json.Unmarshal([]byte(identities.Replace(string(text))), &plain), err)
}

// TestEveryManagedField changes each field through the API server and finds its effect in AWS. The
// pool that went through all of it equals one that is created with its last spec.
func TestEveryManagedField(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.images = []awsworld.Image{newerImage(t)}
	options.behavior.Nodes = []awssim.NodeRule{{NeverDrained: true}}
	w := newWorldWith(t, options)
	w.applyManaged("  scaling:\n", "  amiVersion: "+olderRelease+"\n  scaling:\n")
	w.Eventually("the pool is made", func() error { return w.managedActed(managedName) })
	for name, rows := range managedAtCreation {
		spec := &managedSpec{AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}, AMIType: ptr.To(infrav1.AMITypeAL2023X86), AvailabilityZones: []string{"us-east-1a"}}
		for _, row := range rows {
			row.change(spec)
		}
		w.makeManaged(name, spec)
	}
	for name, rows := range managedAtCreation {
		w.Eventually("pool "+name+" is made as asked for", func() error { return w.hasEffect(name, rows) })
	}
	for number, stage := range managedFields {
		w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
			for _, row := range stage {
				row.change(&pool.Spec)
			}
		})
		w.Eventually(fmt.Sprintf("stage %d has its effect", number), func() error {
			return errors.Join(w.hasEffect(managedName, stage), w.managedActed(managedName))
		})
		if number > 0 { // the first stage is part of the second
			w.expectAsMadeAfresh(fmt.Sprintf("afresh-%d", number))
		}
	}
}

// expectAsMadeAfresh creates another managed pool with the present spec of the first, and compares
// AWS's descriptions of both.
func (w *world) expectAsMadeAfresh(name string) {
	w.Helper()
	w.makeManaged(name, &w.mustManaged().Spec)
	w.Eventually("both are the same in AWS", func() error {
		if err := w.managedActed(name); err != nil {
			return err
		}
		made, err := w.comparableInEKS(name)
		if err != nil {
			return err
		}
		changed, err := w.comparableInEKS(managedName)
		if err != nil {
			return err
		}
		if difference := cmp.Diff(made, changed); difference != "" {
			return fmt.Errorf("a pool made so (-) is not as one that was changed (+):\n%s", difference)
		}
		return nil
	})
}
