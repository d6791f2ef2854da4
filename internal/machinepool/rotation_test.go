package machinepool

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/awssimtest"
)

// rotate has the launch config create a version that differs from the wanted one by its join token.
func (r *rollouts) rotate() {
	r.Helper()
	config := &infrav1.AWSLaunchConfig{}
	r.must(r.Get(r.Context(), client.ObjectKey{Namespace: "team", Name: "config"}, config))
	status := &config.Status
	data := &ec2types.RequestLaunchTemplateData{ImageId: &r.image, InstanceType: "m6i.large"}
	status.Version = r.version(status, data)
	status.CurrentVersions = append([]int64{status.Version}, status.CurrentVersions...)
	status.Versions = append([]infrav1.LaunchTemplateVersionStatus{{
		Number: status.Version, ConfigFingerprint: status.ConfigFingerprint, ImageID: r.image, Created: metav1.NewTime(r.clock.Now()), Reason: "join token rotated",
	}}, status.Versions...)
	r.must(r.Status().Update(r.Context(), config))
}

// TestTokenRotatesBeforeRefreshStarts holds that an instance which runs the wanted configuration is
// not replaced for another join token, though it was launched too late to be protected from the
// refresh: AWS skips instances that match what the group launches when the refresh starts.
func TestTokenRotatesBeforeRefreshStarts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason             string
		forgetful, lagging bool
	}{
		{reason: "one process"},
		{reason: "the process that started the refresh crashed", forgetful: true},
		{reason: "the process that started the refresh crashed, and AWS does not list the refresh yet", forgetful: true, lagging: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.want("m5.large", "")
			r.settled(1)
			r.want("m6i.large", "")
			refused := r.struck("autoscaling", "StartInstanceRefresh", denied, 0)
			r.until("the group is at version 2", func() bool { return *r.group().LaunchTemplate.Version == "2" })
			// An instance is terminated and launched anew, which descriptions do not show yet.
			r.clock.Step(time.Minute)
			gone := *r.group().Instances[0].InstanceId
			awssimtest.SetReadLag(r.sim, 10*time.Second)
			_, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{gone}})
			r.must(err)
			r.clock.Step(5 * time.Second)
			r.sim.RemoveFault(refused)
			before := r.pool()
			r.reconcile(0)
			if !row.lagging {
				awssimtest.SetReadLag(r.sim, 0)
			}
			if status := r.refreshStatus(); status != "Pending" {
				t.Fatalf("the refresh is %q", status)
			}
			if row.forgetful {
				r.restart(r.config)
				lost := r.pool()
				lost.Status = before.Status
				r.must(r.Status().Update(t.Context(), lost))
			}
			r.rotate()
			r.reconcile(0)
			awssimtest.SetReadLag(r.sim, 0)
			spared := r.launchedFrom("2")
			if version := *r.group().LaunchTemplate.Version; version != "2" {
				t.Errorf("the group is at version %s before the refresh has started", version)
			}
			r.until("all instances run the configuration", func() bool {
				return r.condition(infrav1.RolledOutCondition).Status == metav1.ConditionTrue && *r.group().LaunchTemplate.Version == "3"
			})
			if now := r.launchedFrom("2"); spared == "" || now != spared {
				t.Errorf("instance %q has version 2 now, and %q had it before", now, spared)
			}
		})
	}
}

// launchedFrom returns the instance of the group that was launched from a version, "" if none was.
func (r *rollouts) launchedFrom(version string) string {
	r.Helper()
	for _, instance := range r.group().Instances {
		if *instance.LaunchTemplate.Version == version {
			return *instance.InstanceId
		}
	}
	return ""
}
