package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// attachments are load balancers that the group names. They are stored and shown; the simulation
// has no load balancers.
type attachments struct {
	loadBalancers  []string
	targetGroups   []string
	trafficSources []types.TrafficSourceIdentifier
}

// newAttachments checks the load balancers of a new group (UG ec2-auto-scaling-quotas).
func newAttachments(in *autoscaling.CreateAutoScalingGroupInput) (attachments, error) {
	a := attachments{loadBalancers: in.LoadBalancerNames, targetGroups: in.TargetGroupARNs, trafficSources: in.TrafficSources}
	if len(a.trafficSources) > 0 && len(a.loadBalancers)+len(a.targetGroups) > 0 {
		return a, invalid("You cannot specify TrafficSources together with LoadBalancerNames or TargetGroupARNs.")
	}
	return a, a.check()
}

func (a attachments) check() error {
	if len(a.loadBalancers) > maxTargetGroups || len(a.targetGroups) > maxTargetGroups {
		return sim.Errorf(codeLimitExceeded, "You can attach a maximum of %d load balancers or target groups.", maxTargetGroups)
	}
	for _, arn := range a.targetGroups {
		if !strings.HasPrefix(arn, "arn:") || !strings.Contains(arn, ":targetgroup/") {
			return invalid("Target group ARN %s is not valid.", arn)
		}
	}
	lattice := 0
	for _, t := range a.trafficSources {
		switch kind := val(t.Type); {
		case val(t.Identifier) == "":
			return required("trafficSources.member.identifier")
		case !slices.Contains([]string{"", "elb", "elbv2", "vpc-lattice"}, kind):
			// hashicorp/terraform-provider-aws#40088 has these words from AWS.
			return invalid("Setting %s as traffic sources is currently not supported. Supported sources are [elb, elbv2, vpc-lattice]. "+
				"Provide a supported traffic source in your request and try again.", kind)
		case kind == "" && !strings.HasPrefix(*t.Identifier, "arn:"): // SDK TrafficSourceIdentifier.Type
			return invalid("The type of traffic source %s is required: it is the name of a Classic Load Balancer.", *t.Identifier)
		case kind == "elbv2" && !strings.Contains(*t.Identifier, ":targetgroup/"):
			return invalid("Target group ARN %s is not valid.", *t.Identifier)
		case kind == "vpc-lattice":
			lattice++
		}
	}
	if lattice > maxVPCLatticeTargets {
		return sim.Errorf(codeLimitExceeded, "You can attach a maximum of %d VPC Lattice target groups.", maxVPCLatticeTargets)
	}
	return nil
}

// checkZonalShift refuses zonal shift for a group behind a load balancer without cross-zone load
// balancing, unless the caller skips that (SDK
// CreateAutoScalingGroupInput.SkipZonalShiftValidation; UG ec2-auto-scaling-zonal-shift). The words
// are an inference.
func checkZonalShift(ownZoneOnly map[string]bool, impairment *types.AvailabilityZoneImpairmentPolicy, a attachments, skip *bool) error {
	if impairment == nil || !val(impairment.ZonalShiftEnabled) || val(skip) {
		return nil
	}
	names := slices.Concat(a.loadBalancers, a.targetGroups)
	for _, source := range a.trafficSources {
		names = append(names, val(source.Identifier))
	}
	for _, name := range names {
		if ownZoneOnly[name] {
			return invalid("Zonal shift cannot be enabled because cross-zone load balancing is disabled for %s. To skip this validation, specify SkipZonalShiftValidation.", name)
		}
	}
	return nil
}
