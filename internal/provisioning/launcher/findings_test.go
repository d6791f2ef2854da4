package launcher_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
)

var (
	m5InA = fleet.Offering{InstanceType: "m5.large", Zone: "a", SubnetID: "subnet-a"}
	c5InB = fleet.Offering{InstanceType: "c5.large", Zone: "b", SubnetID: "subnet-b"}
)

// TestFindings holds what the answer to a launch has later launches leave alone.
func TestFindings(t *testing.T) {
	t.Parallel()
	failed := func(of fleet.Offering, blame fleet.Blame, code, message string) fleet.Failure {
		return fleet.Failure{Offering: of, Blame: blame, Code: code, Message: message}
	}
	short := failed(m5InA, fleet.BlameOffering, "InsufficientInstanceCapacity", "")
	unsupported := failed(c5InB, fleet.BlameTemplate, "Unsupported", "The instance type c5.large does not support it.")
	keyless := failed(m5InA, fleet.BlameTemplate, "InvalidKeyPair.NotFound", "")
	throttled := failed(m5InA, fleet.BlameMoment, "RequestLimitExceeded", "")
	for _, row := range []struct {
		reason    string
		failures  []fleet.Failure
		instances []fleet.Instance
		want      launcher.Findings
	}{
		{"an offering is short", []fleet.Failure{short}, nil, launcher.Findings{Short: []fleet.Failure{short}}},
		{"a type lacks a feature, another is short", []fleet.Failure{short, unsupported}, nil, launcher.Findings{Short: []fleet.Failure{short}, Refused: []fleet.Failure{unsupported}}},
		{"a type lacks a feature, another was launched", []fleet.Failure{unsupported}, []fleet.Instance{{InstanceType: "m5.large", Zone: "a"}},
			launcher.Findings{Refused: []fleet.Failure{unsupported}, Launched: []fleet.Offering{{InstanceType: "m5.large", Zone: "a"}}}},
		{"a key pair is gone", []fleet.Failure{keyless}, nil, launcher.Findings{Refused: []fleet.Failure{keyless}}},
		{"something was launched all the same", []fleet.Failure{keyless}, []fleet.Instance{{InstanceType: "m5.large", Zone: "a"}}, launcher.Findings{Launched: []fleet.Offering{{InstanceType: "m5.large", Zone: "a"}}}},
		{"a subnet is full, another is gone", []fleet.Failure{
			failed(m5InA, fleet.BlameSubnet, "InsufficientFreeAddressesInSubnet", ""), failed(c5InB, fleet.BlameSubnet, "InvalidSubnetID.NotFound", ""), failed(c5InB, fleet.BlameSubnet, "InvalidSubnetID.NotFound", ""),
		}, nil, launcher.Findings{Full: []string{"subnet-a"}, Gone: []string{"subnet-b"}}},
		{"no role for Spot", []fleet.Failure{failed(m5InA, fleet.BlameSpot, "AuthFailure.X", "no role")}, nil, launcher.Findings{NoSpot: "AuthFailure.X: no role"}},
		{"throttled", []fleet.Failure{throttled}, nil, launcher.Findings{Refused: []fleet.Failure{throttled}}},
		{"throttled beside a shortage", []fleet.Failure{throttled, short}, nil, launcher.Findings{Short: []fleet.Failure{short}}},
		{"EC2 does not say of which offering", []fleet.Failure{failed(fleet.Offering{}, fleet.BlameOffering, "UnfulfillableCapacity", "")}, nil, launcher.Findings{
			Short: []fleet.Failure{failed(m5InA, fleet.BlameOffering, "UnfulfillableCapacity", ""), failed(c5InB, fleet.BlameOffering, "UnfulfillableCapacity", "")},
		}},
		{"no reason is given", nil, nil, launcher.Findings{Short: []fleet.Failure{{Offering: m5InA}, {Offering: c5InB}}}},
		{"all was launched", nil, []fleet.Instance{{InstanceType: "m5.large", Zone: "a"}}, launcher.Findings{Launched: []fleet.Offering{{InstanceType: "m5.large", Zone: "a"}}}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			request := fleet.Request{Nodes: 1, Offerings: []fleet.Offering{m5InA, c5InB}}
			got := launcher.FindingsOf(request, fleet.Launched{Instances: row.instances, Failures: row.failures})
			if diff := cmp.Diff(row.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFindingsOfCall holds what a call that EC2 refuses has later launches leave alone: what its
// message names, or else all that was asked for.
func TestFindingsOfCall(t *testing.T) {
	t.Parallel()
	of := func(message string, offerings ...fleet.Offering) (short []fleet.Failure) {
		for _, offering := range offerings {
			short = append(short, fleet.Failure{Offering: offering, Blame: fleet.BlameOffering, Code: "X", Message: message})
		}
		return short
	}
	for _, row := range []struct {
		reason     string
		blame      fleet.Blame
		message    string
		own        bool // the launch template has the subnet
		want       launcher.Findings
		ofCapacity bool
	}{
		{"capacity of all", fleet.BlameOffering, "CreateFleet: X: none left", false, launcher.Findings{Short: of("none left", m5InA, c5InB)}, true},
		{"capacity of one type", fleet.BlameOffering, "CreateFleet: X: no c5.large left", false, launcher.Findings{Short: of("no c5.large left", c5InB)}, true},
		{"one type in one zone", fleet.BlameOffering, "CreateFleet: X: not in Availability Zone (b), but in a", false, launcher.Findings{Short: of("not in Availability Zone (b), but in a", c5InB)}, true},
		{"one subnet", fleet.BlameSubnet, "CreateFleet: X: subnet-b is full", false, launcher.Findings{Full: []string{"subnet-b"}}, true},
		{"some subnet", fleet.BlameSubnet, "CreateFleet: X: it is full", false, launcher.Findings{Full: []string{"subnet-a", "subnet-b"}}, true},
		{"the launch template's own subnet", fleet.BlameSubnet, "CreateFleet: X: it is full", true, launcher.Findings{}, false},
		{"no role for Spot", fleet.BlameSpot, "CreateFleet: X: no role", false, launcher.Findings{NoSpot: "X: no role"}, true},
		{"the launch template", fleet.BlameTemplate, "CreateFleet: X: no", false, launcher.Findings{}, false},
		{"the moment", fleet.BlameMoment, "CreateFleet: X: no", false, launcher.Findings{}, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			request := fleet.Request{Nodes: 1, Offerings: []fleet.Offering{m5InA, c5InB}}
			if row.own {
				request.Offerings = []fleet.Offering{{InstanceType: "m5.large", Zone: "a"}}
			}
			row.want.OfCall = row.ofCapacity
			got, ofCapacity := launcher.FindingsOfCall(request, row.blame, "X", row.message)
			if diff := cmp.Diff(row.want, got, cmpopts.EquateEmpty()); diff != "" || ofCapacity != row.ofCapacity {
				t.Errorf("it is about capacity: %v (-want +got):\n%s", ofCapacity, diff)
			}
		})
	}
}
