package machinepool

import (
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// preferRoots starts a pool of m5.large that prefers new root volumes, and whose bootstrap data is
// from configs of a kind. It returns the images of the world, newest last, with the pool's image
// first.
func preferRoots(t *testing.T, kind string) (*rollouts, []string) {
	t.Helper()
	r := newRollouts(t, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Strategy: ptr.To(infrav1.RefreshStrategyReplaceRootVolume), InstanceWarmup: ptr.To[int64](15)}
		pool.Spec.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{}
	})
	out, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("name"), Values: []string{"capa-ami-ubuntu-24.04-*"}}, {Name: awssdk.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(out.Images) < 3 {
		t.Fatalf("finding three images: %d, %v", len(out.Images), err)
	}
	var images []string
	for _, image := range out.Images {
		images = append(images, *image.ImageId)
	}
	machinePool := &clusterv1.MachinePool{}
	if err := r.Get(t.Context(), r.key, machinePool); err != nil {
		t.Fatal(err)
	}
	machinePool.Spec.Template.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: kind, Name: "pool"}
	if err := r.Update(t.Context(), machinePool); err != nil {
		t.Fatal(err)
	}
	r.boot(images[0])
	r.want("m5.large", "")
	r.settled(1)
	if got := r.imagesOf(); !slices.Equal(got, []string{images[0], images[0]}) {
		t.Fatalf("instances have the images %q", got)
	}
	return r, images
}

// boot has the pool's override name an image.
func (r *rollouts) boot(image string) {
	r.Helper()
	pool := r.pool()
	pool.Spec.MixedInstancesPolicy.Overrides = []infrav1.Overrides{{InstanceType: "m5.large", ImageID: image}}
	pool.Generation++
	if err := r.Update(r.Context(), pool); err != nil {
		r.Fatal(err)
	}
}

// imagesOf returns the images of the group's instances.
func (r *rollouts) imagesOf() []string {
	r.Helper()
	var images []string
	for _, instance := range r.group().Instances {
		images = append(images, awssdk.ToString(instance.ImageId))
	}
	return images
}

func (r *rollouts) instanceIDs() []string {
	r.Helper()
	var ids []string
	for _, instance := range r.group().Instances {
		ids = append(ids, *instance.InstanceId)
	}
	slices.Sort(ids)
	return ids
}

// launches returns the image that the group's override names.
func (r *rollouts) launches() string {
	r.Helper()
	return awssdk.ToString(r.group().MixedInstancesPolicy.LaunchTemplate.Overrides[0].ImageId)
}

// run waits until all instances have an image, the group launches it, and the pool says that it is
// rolled out.
func (r *rollouts) run(image string) {
	r.Helper()
	r.until("all instances have "+image, func() bool {
		return slices.Equal(r.imagesOf(), []string{image, image}) && r.launches() == image && r.condition(infrav1.RolledOutCondition).Status == metav1.ConditionTrue
	})
}

// TestNewImagesBecomeRootVolumes holds that new images of overrides reach instances as new root
// volumes, and that AWS gives the group the images in the end.
func TestNewImagesBecomeRootVolumes(t *testing.T) {
	t.Parallel()
	r, images := preferRoots(t, "NodeadmConfig")
	before := r.instanceIDs()
	r.boot(images[1])
	r.until("one instance has the image", func() bool { return slices.Contains(r.imagesOf(), images[1]) })
	if got := r.launches(); got != images[0] {
		t.Errorf("while the refresh is under way, the group launches %s", got)
	}
	if ready, rolled := r.condition(infrav1.ASGReadyCondition), r.condition(infrav1.RolledOutCondition); ready.Status != metav1.ConditionTrue || rolled.Status != metav1.ConditionFalse {
		t.Errorf("while the refresh is under way: %+v, %+v", ready, rolled)
	}
	if got := r.pool().Status.Rollout.Strategy; got != infrav1.RefreshStrategyReplaceRootVolume {
		t.Errorf("the strategy is %s", got)
	}
	r.run(images[1])
	if after := r.instanceIDs(); !slices.Equal(before, after) {
		t.Errorf("instances were %q and are %q", before, after)
	}
	events := r.told("InstanceRefresh")
	if len(events) != 2 || !strings.Contains(events[0], "which replaces root volumes") || !strings.Contains(events[1], "replaced all root volumes") {
		t.Errorf("events %q", events)
	}
}

// TestOtherChangesReplaceInstances holds that a change that root volumes cannot bring replaces
// instances, and that the event says why.
func TestOtherChangesReplaceInstances(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason, kind string
		change       func(r *rollouts, images []string)
		says         string
	}{
		{"nodes may join with a token", "KubeadmConfig", func(r *rollouts, images []string) { r.boot(images[1]) }, "may hold a join token"},
		{"the launch template changed too", "EKSConfig", func(r *rollouts, images []string) {
			r.boot(images[1])
			r.want("m6i.large", "")
		}, "more changes than images"},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r, images := preferRoots(t, row.kind)
			before := r.instanceIDs()
			row.change(r, images)
			r.run(images[1])
			for _, id := range r.instanceIDs() {
				if slices.Contains(before, id) {
					t.Errorf("%s is still there", id)
				}
			}
			if events := r.told("InstanceRefreshStarted"); len(events) != 1 || !strings.Contains(events[0], row.says) {
				t.Errorf("events %q do not say %q", events, row.says)
			}
		})
	}
}

// TestEditsDuringRootVolumeReplacement holds that an edit stops a refresh that holds what the group
// launches, and that the newest configuration reaches all instances.
func TestEditsDuringRootVolumeReplacement(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		edit   func(r *rollouts, images []string)
		image  int
		stay   bool
	}{
		{"another image", func(r *rollouts, images []string) { r.boot(images[2]) }, 2, true},
		{"back to the one before", func(r *rollouts, images []string) { r.boot(images[0]) }, 0, true},
		{"another launch template version", func(r *rollouts, _ []string) { r.want("m6i.large", "") }, 1, false},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r, images := preferRoots(t, "NodeadmConfig")
			before := r.instanceIDs()
			r.boot(images[1])
			r.until("one instance has the image", func() bool { return slices.Contains(r.imagesOf(), images[1]) })
			row.edit(r, images)
			r.run(images[row.image])
			if after := r.instanceIDs(); slices.Equal(before, after) != row.stay {
				t.Errorf("instances were %q and are %q", before, after)
			}
			if condition := r.condition(infrav1.ASGReadyCondition); condition.Status != metav1.ConditionTrue {
				t.Errorf("in the end: %+v", condition)
			}
		})
	}
}
