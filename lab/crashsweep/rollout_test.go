package crashsweep

import (
	"errors"
	"fmt"
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

const (
	typeBefore, typeHalf, typeAfter = "t3.large", "m6i.large", "m5.xlarge"
	alarm                           = "errors"
)

var rolloutScenarios = []scenario{
	{
		name:    "supersede",
		prepare: haveHalf,
		act: func(h *harness) {
			h.edit(func(pool *infrav1.AWSMachinePool, _ *clusterv1.MachinePool) {
				pool.Spec.AWSLaunchTemplate.InstanceType = typeAfter
				pool.Spec.RefreshPreferences = quick()
			})
		},
		done: func(h *harness) error { return errors.Join(h.runs(typeAfter), h.ready(2)) },
	},
	{
		// The config that is gone back to differs by its token from the version that runs, so it is
		// shielded.
		name: "rollback after a token rotation",
		prepare: func(h *harness) {
			haveHalf(h)
			h.putBootstrapData(1)
			h.env.Eventually("the token has reached the group", func() error {
				if group := h.group(); awssdk.ToString(group.LaunchTemplate.Version) != "3" {
					return fmt.Errorf("it is at version %s", awssdk.ToString(group.LaunchTemplate.Version))
				}
				return nil
			})
		},
		act: func(h *harness) {
			h.edit(func(pool *infrav1.AWSMachinePool, _ *clusterv1.MachinePool) {
				pool.Spec.RefreshPreferences = quick()
				pool.Spec.RefreshPreferences.Alarms, pool.Spec.RefreshPreferences.Rollback = []string{alarm}, true
			})
			h.setAlarm(awssim.AlarmFiring)
		},
		done: func(h *harness) error { return errors.Join(h.runs(typeBefore), h.wentBack()) },
		// A shield without a refresh is taken down before it is put up again.
		repeats: 2,
	},
}

// quick are preferences of a refresh that nothing holds up.
func quick() *infrav1.RefreshPreferences {
	return &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](0)}
}

// haveHalf has a pool whose refresh has replaced one of two instances, and waits two days before it
// replaces the other.
func haveHalf(h *harness) {
	h.setAlarm(awssim.AlarmOK)
	havePool(h)
	h.edit(func(pool *infrav1.AWSMachinePool, _ *clusterv1.MachinePool) {
		pool.Spec.RefreshPreferences = quick()
		pool.Spec.RefreshPreferences.CheckpointPercentages = []int32{50, 100}
		pool.Spec.RefreshPreferences.CheckpointDelay = &metav1.Duration{Duration: 48 * time.Hour}
		pool.Spec.RefreshPreferences.Alarms = []string{alarm}
		pool.Spec.AWSLaunchTemplate.InstanceType = typeHalf
	})
	h.env.Eventually("the first instance is replaced", func() error {
		var types []string
		for _, instance := range h.group().Instances {
			if instance.LifecycleState != asgtypes.LifecycleStateInService {
				return fmt.Errorf("instance %s is %s", *instance.InstanceId, instance.LifecycleState)
			}
			types = append(types, awssdk.ToString(instance.InstanceType))
		}
		slices.Sort(types)
		if !slices.Equal(types, []string{typeHalf, typeBefore}) {
			return fmt.Errorf("instances are %q", types)
		}
		return nil
	})
}

func (h *harness) setAlarm(state awssim.AlarmState) {
	h.Helper()
	if err := h.env.Cloud.AWS.Region(h.env.Account, h.env.Cloud.Region()).SetAlarm(alarm, state); err != nil {
		h.Fatal(err)
	}
}

// group is the pool's.
func (h *harness) group() asgtypes.AutoScalingGroup {
	h.Helper()
	out, err := autoscaling.NewFromConfig(h.env.AWSConfig()).DescribeAutoScalingGroups(h.env.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
	if err != nil {
		h.Fatal(err)
	}
	if len(out.AutoScalingGroups) != 1 {
		h.Fatalf("there are %d groups", len(out.AutoScalingGroups))
	}
	return out.AutoScalingGroups[0]
}

// runs is nil once all instances are of a type.
func (h *harness) runs(instanceType string) error {
	for _, instance := range h.world().Instances {
		if instance.Type != instanceType {
			return fmt.Errorf("an instance is %+v", instance)
		}
	}
	return nil
}

// wentBack is nil for a pool that runs again what it ran before, and says so.
func (h *harness) wentBack() error {
	pool, err := h.pool()
	if err != nil {
		return err
	}
	condition := meta.FindStatusCondition(pool.Status.Conditions, infrav1.RolledOutCondition)
	if condition == nil || condition.Reason != infrav1.RolledBackReason || pool.Status.Rollout == nil || pool.Status.Rollout.RolledBackFrom == "" {
		return fmt.Errorf("conditions are %+v, the roll-out is %+v", pool.Status.Conditions, pool.Status.Rollout)
	}
	status := pool.Status
	if status.Replicas != 2 || ptr.Deref(status.ReadyReplicas, 0) != 2 || ptr.Deref(status.UpToDateReplicas, 0) != 2 || status.Rollout.Status != "Successful" {
		return fmt.Errorf("%d replicas, %v ready, %v up to date; the roll-out is %+v", status.Replicas, status.ReadyReplicas, status.UpToDateReplicas, status.Rollout)
	}
	for _, instance := range h.group().Instances {
		if *instance.ProtectedFromScaleIn {
			return fmt.Errorf("instance %s is still protected", *instance.InstanceId)
		}
	}
	return nil
}
