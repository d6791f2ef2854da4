package pool

import (
	"testing"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

func TestBought(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason      string
		spec        infrav1.AWSLaunchConfigSpec
		spot, block bool
	}{
		{reason: "who says nothing buys on demand"},
		{"CAPA's field asks for Spot", infrav1.AWSLaunchConfigSpec{AWSLaunchTemplate: infrav1.AWSLaunchTemplate{SpotMarketOptions: &infrav1.SpotMarketOptions{MaxPrice: ptr.To("0.1")}}}, true, false},
		{"so does CAPA's market type", infrav1.AWSLaunchConfigSpec{AWSLaunchTemplate: infrav1.AWSLaunchTemplate{MarketType: infrav1.MarketTypeSpot}}, true, false},
		{"and EC2's", marketOptions("spot"), true, false},
		{"a Capacity Block is asked for in CAPA's words", infrav1.AWSLaunchConfigSpec{AWSLaunchTemplate: infrav1.AWSLaunchTemplate{MarketType: infrav1.MarketTypeCapacityBlock}}, false, true},
		{"or in EC2's", marketOptions("capacity-block"), false, true},
	} {
		if spot, block := Bought(&row.spec); spot != row.spot || block != row.block {
			t.Errorf("%s: Spot %t, Capacity Block %t", row.reason, spot, block)
		}
	}
}

func marketOptions(market string) infrav1.AWSLaunchConfigSpec {
	spec := infrav1.AWSLaunchConfigSpec{}
	spec.InstanceMarketOptions = &infrav1.InstanceMarketOptions{MarketType: market}
	return spec
}
