package awssim

import (
	"fmt"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/eks"
	"github.com/slipway-project/slipway/awssim/internal/eventbridge"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/pricing"
	"github.com/slipway-project/slipway/awssim/internal/s3"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/internal/sqs"
	"github.com/slipway-project/slipway/awssim/internal/ssm"
	"github.com/slipway-project/slipway/awssim/internal/sts"
	"github.com/slipway-project/slipway/awssim/internal/wire"
)

// registry returns the handlers of all services. It panics if one has no tables on the wire, since
// it could not be called.
func registry() *sim.Registry {
	reg := sim.NewRegistry()
	for _, register := range []func(*sim.Registry){
		autoscaling.Register, ec2.Register, eks.Register, eventbridge.Register, iam.Register, pricing.Register, s3.Register, sqs.Register, ssm.Register, sts.Register,
	} {
		register(reg)
	}
	for _, service := range reg.Services() {
		for _, action := range reg.Actions(service) {
			if !wire.Knows(service, action) {
				panic(fmt.Sprintf("awssim: %s %s has a handler but is not in internal/wire: actions.txt, or restactions.go for S3", service, action))
			}
		}
	}
	return reg
}
