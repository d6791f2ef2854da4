package clouds_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
)

func (r *rig) reach(namespace, region string) (*clouds.Cloud, error) {
	return r.registry.For(r.Context(), aws.Identity{}, namespace, region)
}

// TestCloudsOfANamespaceAreBounded holds that the users of a namespace, who choose regions, get a
// limited number of clouds, and take none from another namespace.
func TestCloudsOfANamespaceAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	quiet, err := r.reach("quiet", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	var reached []*clouds.Cloud
	var refused error
	for i := range 99 {
		cloud, err := r.reach("flood", fmt.Sprintf("eu-west-%d", i+1))
		if err != nil {
			refused = err
			continue
		}
		reached = append(reached, cloud)
	}
	var tooMany *clouds.TooManyError
	if !errors.As(refused, &tooMany) || aws.FateOf(refused).Kind != aws.WaitForUser {
		t.Fatalf("of 99 regions %d are reached, and the others are refused with %v", len(reached), refused)
	}
	if len(reached) != 20 {
		t.Errorf("%d regions are reached, want 20", len(reached))
	}
	if again, err := r.reach("flood", "eu-west-1"); err != nil || again != reached[0] {
		t.Errorf("a cloud that the namespace uses is another now; error %v", err)
	}
	if _, err := r.reach("flood", "us-east-1"); err == nil {
		t.Error("a cloud that another namespace uses is free")
	}
	if again, err := r.reach("quiet", "us-east-1"); err != nil || again != quiet {
		t.Errorf("the other namespace has lost its cloud; error %v", err)
	}
	if _, err := r.reach("quiet", "ap-south-1"); err != nil {
		t.Errorf("the other namespace cannot reach a second region: %v", err)
	}
}

// TestCloudsExpire holds that an unused cloud is removed, and no cloud that an object watches
// something in.
func TestCloudsExpire(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	watched, err := r.reach("team", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	pool := types.NamespacedName{Namespace: "team", Name: "pool"}
	if _, err := watched.SeenGroups.Get(t.Context(), pool, []string{"pool"}, false); err != nil {
		t.Fatal(err)
	}
	idle, err := r.reach("team", "eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		r.clock.Step(15 * time.Minute)
	}
	// the first request of a namespace removes what nothing uses
	if _, err := r.reach("other", "ap-south-1"); err != nil {
		t.Fatal(err)
	}
	if again, err := r.reach("team", "us-east-1"); err != nil || again != watched {
		t.Errorf("a cloud that is watched is another now; error %v", err)
	}
	if again, err := r.reach("team", "eu-west-1"); err != nil || again == idle {
		t.Errorf("a cloud that was not used for an hour is still there; error %v", err)
	}
}

// TestRegionsAreNames holds that what is no region never becomes part of a host that requests are sent to.
func TestRegionsAreNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, row := range []struct {
		region string
		valid  bool
	}{
		{"us-east-1", true}, {"ap-southeast-7", true}, {"us-gov-west-1", true}, {"us-isob-east-1", true}, {"cn-northwest-1", true}, {"eusc-de-east-1", true},
		{"us-east-1.example.com", false}, {"example.com/?", false}, {"us-east-1@example.com", false}, {"us-east-1#", false}, {"US-EAST-1", false},
		{"us-east-1\n", false}, {"localhost", false}, {"us-east-100", false}, {"../us-east-1", false}, {" us-east-1", false},
	} {
		_, err := r.reach("team", row.region)
		var invalid *aws.InvalidRegionError
		if errors.As(err, &invalid) == row.valid {
			t.Errorf("%q: %v", row.region, err)
		}
	}
}
