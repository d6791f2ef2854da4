package ssm

import (
	"testing"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
)

// TestValue holds that launch templates refer to parameters by name, name:version and ARN.
func TestValue(t *testing.T) {
	t.Parallel()
	clock := simclock.New(world.Born, 0)
	defer clock.Close()
	w := &world.World{Regions: []world.Region{{Name: "r", Parameters: []world.Parameter{
		{Name: "/aws/image", Value: "ami-1", Public: true}, {Name: "mine", Value: "ami-2"},
	}}}}
	k, err := sim.New(clock, w, sim.NewRegistry(), sim.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for reference, want := range map[string]string{
		"/aws/image": "ami-1", "/aws/image:1": "ami-1", "arn:aws:ssm:r::parameter/aws/image": "ami-1",
		"mine": "ami-2", "arn:aws:ssm:r:111111111111:parameter/mine": "ami-2",
		"none": "ParameterNotFound", "mine:2": "ParameterVersionNotFound",
	} {
		k.Locked(func() {
			region, err := k.Account("111111111111").Region("r")
			if err != nil {
				t.Fatal(err)
			}
			got, err := Value(region, reference)
			if err != nil {
				got = sim.AsError(err).Code
			}
			if got != want {
				t.Errorf("%s is %s, want %s", reference, got, want)
			}
		})
	}
}
