package launcher

import (
	"slices"
	"strings"

	"github.com/slipway-project/slipway/internal/fleet"
)

// Findings holds what later launches avoid because of one launch, and what they need not avoid.
type Findings struct {
	// Short are offerings that AWS does not launch for the account now, with EC2's codes and
	// messages; both are empty if EC2 gave no reason.
	Short []fleet.Failure
	// OfCall is true if EC2 refused the whole call, so that not each of Short need be short.
	OfCall bool
	// NoSpot is EC2's message if the account lacks the role for Spot Instances.
	NoSpot string
	// Full are subnets that have no free address, and Gone are subnets that do not exist.
	Full, Gone []string
	// Refused are offerings that EC2 does not launch from the launch template.
	Refused []fleet.Failure
	// Launched are offerings that it did launch.
	Launched []fleet.Offering
}

// FindingsOf returns what follows from the answer to a request. An error that would hold for all
// offerings is left out if EC2 launched something.
func FindingsOf(request fleet.Request, launched fleet.Launched) Findings {
	var findings Findings
	for _, instance := range launched.Instances {
		findings.Launched = append(findings.Launched, fleet.Offering{InstanceType: instance.InstanceType, Zone: instance.Zone})
	}
	verdict := launched.Verdict()
	for _, failure := range launched.Failures {
		switch failure.Blame {
		case fleet.BlameOffering:
			findings.short(request, failure)
		case fleet.BlameSpot:
			findings.NoSpot = failure.Code + ": " + failure.Message
		case fleet.BlameSubnet:
			findings.noPlace(failure.Code, failure.SubnetID)
		case fleet.BlameTemplate, fleet.BlameAccount:
			if len(launched.Instances) == 0 || !fleet.HoldsForAll(failure.Code, failure.Message) {
				findings.Refused = append(findings.Refused, failure)
			}
		case fleet.BlameMoment:
			if verdict.Blame == fleet.BlameMoment {
				findings.Refused = append(findings.Refused, failure)
			}
		default: // a launch template that is gone is read anew
		}
	}
	if len(launched.Instances) < int(request.Nodes) && len(launched.Failures) == 0 {
		findings.short(request, fleet.Failure{})
	}
	return findings
}

// short adds an offering that is short, or all of the request if the failure names none.
func (f *Findings) short(request fleet.Request, failure fleet.Failure) {
	if failure.InstanceType != "" {
		f.Short = append(f.Short, failure)
		return
	}
	for _, failure.Offering = range request.Offerings {
		f.Short = append(f.Short, failure)
	}
}

// FindingsOfCall returns what follows from a call that EC2 refused for lack of capacity or
// addresses: it concerns the offerings that the message names, or else all of the request. It
// returns false for any other refusal.
func FindingsOfCall(request fleet.Request, blame fleet.Blame, code, message string) (Findings, bool) {
	findings := Findings{OfCall: true}
	if _, after, named := strings.Cut(message, code+": "); named {
		message = after // without the name of the call
	}
	switch blame {
	case fleet.BlameSpot:
		findings.NoSpot = code + ": " + message
	case fleet.BlameOffering:
		named := namedIn(message, request.Offerings, func(o fleet.Offering) string { return o.InstanceType })
		// "… is not supported in your requested Availability Zone (us-east-1e). Please retry your
		// request by … choosing us-east-1a."
		for _, offering := range namedIn(message, named, func(o fleet.Offering) string { return "(" + o.Zone + ")" }) {
			findings.Short = append(findings.Short, fleet.Failure{Offering: offering, Blame: blame, Code: code, Message: message})
		}
	case fleet.BlameSubnet:
		for _, offering := range namedIn(message, request.Offerings, func(o fleet.Offering) string { return o.SubnetID }) {
			if offering.SubnetID == "" {
				return Findings{}, false // the subnet is the launch template's own
			}
			findings.noPlace(code, offering.SubnetID)
		}
	default:
		return Findings{}, false
	}
	return findings, true
}

// namedIn returns the offerings whose name is in a message, or all if the message has none.
func namedIn(message string, offerings []fleet.Offering, nameOf func(fleet.Offering) string) []fleet.Offering {
	named := slices.DeleteFunc(slices.Clone(offerings), func(offering fleet.Offering) bool {
		name := nameOf(offering)
		return name == "" || !strings.Contains(message, name)
	})
	if len(named) == 0 {
		return offerings
	}
	return named
}

func (f *Findings) noPlace(code, subnet string) {
	list := &f.Full
	if fleet.IsSubnetMissing(code) {
		list = &f.Gone
	}
	if !slices.Contains(*list, subnet) {
		*list = append(*list, subnet)
	}
}
