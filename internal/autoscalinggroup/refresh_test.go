package autoscalinggroup

import (
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

func TestRefreshes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	desired := r.here(plain())
	r.create(desired)
	r.settle()
	if seen, err := r.groups.Refreshes(t.Context(), "pool"); len(seen) != 0 || err != nil {
		t.Fatalf("refreshes %+v, error %v, before there was one", seen, err)
	}
	desired.Version = 2
	if err := r.groups.Update(t.Context(), desired, r.see("pool")); err != nil {
		t.Fatal(err)
	}
	replacing := Replacing{SkipMatching: true, Preferences: &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](30), MinHealthyPercentage: ptr.To[int64](50)}}
	first, err := r.groups.StartRefresh(t.Context(), "pool", replacing)
	if err != nil || first == "" {
		t.Fatalf("refresh %q, error %v", first, err)
	}
	if second, err := r.groups.StartRefresh(t.Context(), "pool", replacing); second != "" || err != nil {
		t.Errorf("another beside the first: refresh %q, error %v", second, err)
	}
	latest, err := r.latestRefresh()
	if err != nil || latest.ID != first || !latest.Active() || latest.Started.IsZero() && latest.Status != "Pending" {
		t.Fatalf("refresh %+v, error %v", latest, err)
	}
	shown, err := r.asg.DescribeInstanceRefreshes(t.Context(), &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: awssdk.String("pool")})
	if err != nil {
		t.Fatal(err)
	}
	refresh := shown.InstanceRefreshes[0]
	if refresh.DesiredConfiguration != nil || !*refresh.Preferences.SkipMatching || *refresh.Preferences.InstanceWarmup != 30 || *refresh.Preferences.MinHealthyPercentage != 50 {
		t.Errorf("refresh with desired configuration %v, preferences %+v", refresh.DesiredConfiguration, refresh.Preferences)
	}
	// The version may move on during the refresh, as it does for a rotated token.
	desired.Version = 3
	if err := r.groups.Update(t.Context(), desired, r.see("pool")); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		r.settle()
	}
	latest, err = r.latestRefresh()
	if err != nil || !latest.Succeeded() || latest.Percentage != 100 {
		t.Fatalf("refresh %+v, error %v", latest, err)
	}
	for _, instance := range r.see("pool").Instances {
		if instance.Version < 2 {
			t.Errorf("instance %+v was not replaced", instance)
		}
	}
	r.settle()
	second, err := r.groups.StartRefresh(t.Context(), "pool", Replacing{})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := r.groups.Refreshes(t.Context(), "pool")
	if err != nil || len(seen) != 2 || seen[0].ID != second || seen[1].ID != first {
		t.Errorf("refreshes are %+v, want %s, %s; error %v", seen, second, first, err)
	}
	// A cancelled refresh leaves what it has replaced; without one under way there is nothing to do.
	for range 2 {
		if err := r.groups.CancelRefresh(t.Context(), "pool"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r.settle()
		}
	}
	if latest, err = r.latestRefresh(); err != nil || latest.Status != "Cancelled" {
		t.Errorf("refresh %+v, error %v", latest, err)
	}
	if err := r.groups.CancelRefresh(t.Context(), "absent"); err == nil || !strings.Contains(err.Error(), `of Auto Scaling group "absent"`) {
		t.Errorf("error %v", err)
	}
	if _, err := r.groups.StartRefresh(t.Context(), "absent", Replacing{}); err == nil || !strings.Contains(err.Error(), `of Auto Scaling group "absent"`) {
		t.Errorf("error %v", err)
	}
}

// latestRefresh is the newest; nil if there is none.
func (r *rig) latestRefresh() (*Refresh, error) {
	r.Helper()
	refreshes, err := r.groups.Refreshes(r.Context(), "pool")
	if err != nil || len(refreshes) == 0 {
		return nil, err
	}
	return &refreshes[0], nil
}

func TestProtect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(r.here(plain()))
	r.settle()
	var ids []string
	for _, instance := range r.see("pool").Instances {
		ids = append(ids, instance.ID)
	}
	for _, protect := range []bool{true, false} {
		if err := r.groups.Protect(t.Context(), "pool", ids[:1], protect); err != nil {
			t.Fatal(err)
		}
		for _, instance := range r.see("pool").Instances {
			if instance.Protected != (protect && instance.ID == ids[0]) {
				t.Errorf("after protect=%t of %s: %+v", protect, ids[0], instance)
			}
		}
	}
	if err := r.groups.Protect(t.Context(), "pool", []string{"i-0123456789abcdef0"}, true); err == nil || !strings.Contains(err.Error(), `of Auto Scaling group "pool"`) {
		t.Errorf("error %v", err)
	}
}
