package launcher_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/ptr"

	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// trials is a launch template for types with Nitro Enclaves, and requests for instances from it.
type trials struct {
	*provisioningtest.World
	template string
}

func newTrials(t *testing.T) *trials {
	t.Helper()
	w := provisioningtest.New(t, provisioningtest.Options{})
	id := w.Template("enclave", "nodes.cluster-api-provider-aws.sigs.k8s.io")
	_, err := w.EC2.CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &id, SourceVersion: ptr.To("1"),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{EnclaveOptions: &ec2types.LaunchTemplateEnclaveOptionsRequest{Enabled: ptr.To(true)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &trials{w, id}
}

func (w *trials) of(types ...string) (requests []fleet.Request) {
	for _, one := range types {
		requests = append(requests, fleet.Request{
			Name: "dry-run", TemplateID: w.template, Version: 2, Nodes: 1, Offerings: []fleet.Offering{{InstanceType: one, Zone: "us-east-1a", SubnetID: "subnet-0b2000000000000aa"}},
		})
	}
	return requests
}

// refused reports whether EC2 is known to launch nothing from the version, and whether it is known
// not to launch a type.
func (w *trials) refused(instanceType string) (whole, part bool) {
	_, whole = w.Nodes.Refusals.Of(w.template, 2)
	return whole, w.Nodes.Refusals.Parts(w.template, 2).Why(constraints.Offering{InstanceType: instanceType, Zone: "us-east-1b", CapacityType: "on-demand"}) != ""
}

// TestTrials holds that a version is refused as a whole only if EC2 refuses several types of it,
// and none is known that it launches; that nothing is tried twice within seconds; and that an
// untried type is tried at once.
func TestTrials(t *testing.T) {
	t.Parallel()
	w := newTrials(t)
	check := func(when string, dryRuns int, types ...string) {
		t.Helper()
		before := w.Calls("RunInstances")
		w.Nodes.Refusals.Check(w.Context(), w.of(types...))
		if got := w.Calls("RunInstances") - before; got != dryRuns {
			t.Errorf("%s, %d dry runs are made, want %d", when, got, dryRuns)
		}
	}
	is := func(when string, wantWhole, wantPart bool) {
		t.Helper()
		if whole, part := w.refused("t3.large"); whole != wantWhole || part != wantPart {
			t.Errorf("%s, the version is refused: %v, and t3.large is: %v", when, whole, part)
		}
	}
	check("for one type", 1, "t3.large")
	is("for one type", false, true)
	check("at once", 0, "t3.large")
	check("for two types", 1, "t3.large", "t3.xlarge")
	is("for two types", true, true)
	check("for a type that was not tried", 1, "m5.xlarge")
	is("for a type that is launched", false, true)
	if _, refused := w.Nodes.Refusals.Verdict(w.of("t3.large", "m5.xlarge")); refused {
		t.Error("a type that is launched is refused")
	}
	if verdict, refused := w.Nodes.Refusals.Verdict(w.of("t3.large", "t3.xlarge")); !refused || verdict.Blame != fleet.BlameTemplate {
		t.Errorf("the verdict on the types that are refused is %+v", verdict)
	}
	w.Clock.Step(10 * time.Second)
	check("after ten seconds", 2, "t3.large", "t3.xlarge", "m5.xlarge")
	is("after ten seconds", false, true)
	w.Clock.Step(4 * time.Minute)
	is("when no pod asks", false, false)
}

// TestRefusalsThatNoDryRunShows holds that a launch which EC2 refuses, for a reason that its dry
// runs do not show, has only its offerings avoided for some minutes; and the whole version, if
// launches of others are refused too and none succeeds.
func TestRefusalsThatNoDryRunShows(t *testing.T) {
	t.Parallel()
	w := newTrials(t)
	refuse := func(instanceType string) {
		request := w.of(instanceType)[0]
		w.Nodes.Refusals.RecordFailures(request, []fleet.Failure{{Offering: request.Offerings[0], Blame: fleet.BlameTemplate, Code: "SomethingNew", Message: "no " + instanceType}})
		w.Nodes.Refusals.Recheck(w.Context(), w.template, 2)
		w.Nodes.Refusals.Check(w.Context(), w.of("m5.2xlarge"))
	}
	is := func(when, instanceType string, wantWhole, wantPart bool) {
		t.Helper()
		if whole, part := w.refused(instanceType); whole != wantWhole || part != wantPart {
			t.Errorf("%s, the version is refused: %v, and %s is: %v", when, whole, instanceType, part)
		}
	}
	refuse("m5.xlarge")
	is("after the first", "m5.xlarge", false, true)
	is("after the first", "m5.2xlarge", false, false)
	w.Nodes.Refusals.RecordLaunch(w.of("m5.2xlarge")[0], fleet.Offering{InstanceType: "m5.2xlarge", Zone: "us-east-1a"})
	refuse("c5.xlarge")
	refuse("r5.xlarge")
	is("after a launch that was made", "r5.xlarge", false, true)
	refuse("m6i.xlarge")
	is("after three that were not", "m6i.xlarge", true, true)
	w.Clock.Step(time.Minute)
	w.Nodes.Refusals.Check(w.Context(), w.of("m5.2xlarge"))
	is("a minute later", "m5.2xlarge", true, false)
	w.Clock.Step(2 * time.Minute)
	is("after three minutes", "m6i.xlarge", false, false)
}
