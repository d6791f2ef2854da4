package clouds_test

import (
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/clouds"
)

// listening is the default world with a queue that gets all events.
func listening() *world.World {
	w := *world.Default()
	w.Regions = slices.Clone(w.Regions)
	w.Regions[0].Queues = []world.Queue{{Name: "slipway"}}
	w.Regions[0].EventRules = []world.EventRule{{Name: "all", Sources: []string{"aws.ec2", "aws.autoscaling"}, Queue: "slipway"}}
	return &w
}

// TestEndedInstanceIsKnownToAll holds that two identities of one account share its queue, and that
// both see that an instance has terminated, while the clock stands still and though Auto Scaling
// has not found out.
func TestEndedInstanceIsKnownToAll(t *testing.T) {
	t.Parallel()
	r := newRigIn(t, listening())
	r.principals.set("other", "AKIAOTHR123456789012")
	metrics := events.NewMetrics()
	r.registry.ListenTo("slipway", metrics)
	r.launch("pool")
	own := r.cloud("us-east-1")
	other, err := r.registry.For(t.Context(), aws.Identity{Kind: aws.IdentityStatic, Name: "other"}, "default", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	both := []*clouds.Cloud{own, other}
	pool := types.NamespacedName{Namespace: "default", Name: "pool"}
	for _, cloud := range both {
		if found := r.seen(cloud, pool); len(found) != 1 || found[0].Leaving() {
			t.Fatalf("at the start, instances are %+v", found)
		}
	}
	defer r.lead()()
	r.eventually("both listen", func() bool { return r.read(metrics) == 2 })
	id := r.seen(own, pool)[0].ID
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	for _, cloud := range both {
		r.eventually("the instance is known to leave", func() bool {
			found := r.seen(cloud, pool)
			return len(found) == 1 && found[0].ID == id && found[0].Leaving() && found[0].HealthStatus == "Unhealthy"
		})
	}
}

// launch creates a group with one instance that Auto Scaling does not check.
func (r *rig) launch(name string) {
	r.Helper()
	if _, err := r.ec2.CreateLaunchTemplate(r.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			InstanceType: "m5.large", ImageId: awssdk.String("resolve:ssm:/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id"),
		},
	}); err != nil {
		r.Fatal(err)
	}
	if _, err := r.groups.CreateAutoScalingGroup(r.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name, MinSize: awssdk.Int32(1), MaxSize: awssdk.Int32(1), VPCZoneIdentifier: &r.sim.World().Regions[0].Subnets[0].ID,
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateName: &name, Version: awssdk.String("1")},
	}); err != nil {
		r.Fatal(err)
	}
	r.clock.Step(time.Minute)
	if _, err := r.groups.SuspendProcesses(r.Context(), &autoscaling.SuspendProcessesInput{
		AutoScalingGroupName: &name, ScalingProcesses: []string{"HealthCheck"},
	}); err != nil {
		r.Fatal(err)
	}
}

// seen returns the instances that a cloud sees, which may take a call.
func (r *rig) seen(cloud *clouds.Cloud, pool types.NamespacedName) []autoscalinggroup.Instance {
	r.Helper()
	groups, err := cloud.SeenGroups.Get(r.Context(), pool, []string{pool.Name}, false)
	if err != nil {
		r.Fatal(err)
	}
	return groups[pool.Name].Instances
}

// read returns how many queues are read.
func (r *rig) read(metrics *events.Metrics) (queues float64) {
	r.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	families, err := registry.Gather()
	if err != nil {
		r.Fatal(err)
	}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			queues += series.GetGauge().GetValue()
		}
	}
	return queues
}

// eventually waits for a condition, and leaves the clock alone.
func (r *rig) eventually(what string, condition func() bool) {
	r.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatal("never: " + what)
		}
	}
}
