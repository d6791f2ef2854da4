package fleet_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/fleet"
)

// The content of the default world (awssim/world/default.yaml).
const (
	region  = "us-east-1"
	account = "123456789012"
	subnetA = "subnet-0b2000000000000aa"
	subnetB = "subnet-0b2000000000000ab"
)

// place is a simulated AWS with a launch template, and the fleets in it.
type place struct {
	*fleet.Fleets
	*testing.T
	sim      *awssim.Simulator
	clock    *simclock.Clock
	ec2      *ec2.Client
	clients  *aws.Clients
	template string
}

func newPlace(t *testing.T, capacity ...awssim.CapacityRule) *place {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), awssim.Options{Behavior: awssim.Behavior{Capacity: capacity, InstanceTimes: awssim.InstanceTimes{Pending: time.Second, ShuttingDown: time.Second}}})
	config := awssimtest.Config(url, region, account)
	clients, err := aws.NewSessions(config, aws.WithClock(clock)).For(t.Context(), aws.Principal{}, region)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{Fleets: fleet.New(clients.EC2), T: t, clients: clients, sim: sim, clock: clock, ec2: ec2.NewFromConfig(config)}
	images, err := p.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("name"), Values: []string{"amazon-eks-node-al2023-x86_64-standard-1.36-*"}},
	}})
	if err != nil || len(images.Images) == 0 {
		t.Fatalf("finding an image: %v, %v", images, err)
	}
	made, err := p.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String("nodes"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: images.Images[0].ImageId},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.template = *made.LaunchTemplate.LaunchTemplateId
	return p
}

// request asks for nodes of a launch, of either of two types in either of two zones.
func (p *place) request(name string, nodes int32) fleet.Request {
	return fleet.Request{
		Name: name, ClusterUID: "uid", TemplateID: p.template, Version: 1, Nodes: nodes,
		Tags: map[string]string{fleet.TagCluster: "c", fleet.TagProvisioner: "default", fleet.TagLaunch: name},
		Offerings: []fleet.Offering{
			{InstanceType: "m5.large", Zone: "us-east-1a", SubnetID: subnetA}, {InstanceType: "m5.large", Zone: "us-east-1b", SubnetID: subnetB},
			{InstanceType: "m5.xlarge", Zone: "us-east-1a", SubnetID: subnetA}, {InstanceType: "m5.xlarge", Zone: "us-east-1b", SubnetID: subnetB},
		},
	}
}

// claimOf returns the claim that the tags of a request's instances prove.
func claimOf(launch string) fleet.Claim {
	return fleet.Claim{ClusterUID: "uid", Cluster: "c", Launch: launch}
}

func (p *place) launch(request fleet.Request) fleet.Launched {
	p.Helper()
	launched, err := p.Launch(p.Context(), request)
	if err != nil {
		p.Fatal(err)
	}
	return launched
}

// running returns the instances that AWS holds and that have not terminated.
func (p *place) running() []awssim.Instance {
	return slices.DeleteFunc(p.sim.Region(account, region).Instances(), func(i awssim.Instance) bool {
		return i.State.Name == ec2types.InstanceStateNameShuttingDown || i.State.Name == ec2types.InstanceStateNameTerminated
	})
}

// TestLaunchTwiceIsOnce holds that a launch by the same name is the same launch: its answer is
// repeated, and nothing is launched.
func TestLaunchTwiceIsOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.launch(p.request("one", 3))
	if diff := cmp.Diff(first, p.launch(p.request("one", 3))); diff != "" {
		t.Errorf("the second answer is another:\n%s", diff)
	}
	if running := p.running(); len(running) != 3 || len(first.Instances) != 3 || len(first.Failures) != 0 {
		t.Errorf("%d instances run, and the answer is %+v", len(running), first)
	}
	if other := p.launch(p.request("two", 1)); len(other.Instances) != 1 || len(p.running()) != 4 {
		t.Errorf("a launch by another name is %+v", other)
	}
	if _, err := p.Launch(t.Context(), p.request("one", 4)); aws.Code(err) != "IdempotentParameterMismatch" {
		t.Errorf("the same name for another number of nodes: %v", err)
	}
}

// TestInstancesAreWhatWasAskedFor holds what EC2 is asked for: the template's version, tags on
// instances and volumes, on demand or Spot.
func TestInstancesAreWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		spot   bool
		want   ec2types.InstanceLifecycleType
	}{{"on demand", false, ""}, {"Spot", true, ec2types.InstanceLifecycleTypeSpot}} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			request := p.request("one", 1)
			request.Spot = row.spot
			launched := p.launch(request).Instances[0]
			held, ok := p.sim.Region(account, region).Instance(launched.ID)
			if !ok {
				t.Fatalf("AWS has no instance %s", launched.ID)
			}
			if held.InstanceLifecycle != row.want || string(held.InstanceType) != launched.InstanceType || *held.Placement.AvailabilityZone != launched.Zone {
				t.Errorf("the instance is a %s %s in %s, and the answer says %+v", held.InstanceLifecycle, held.InstanceType, *held.Placement.AvailabilityZone, launched)
			}
			if launched.InstanceType != "m5.large" {
				t.Errorf("the dearer type %s was taken", launched.InstanceType)
			}
			tags := map[string]string{}
			for _, tag := range held.Tags {
				if !strings.HasPrefix(*tag.Key, "aws:") {
					tags[*tag.Key] = *tag.Value
				}
			}
			want := map[string]string{infrav1.TagClusterUID: "uid"}
			maps.Copy(want, request.Tags)
			if diff := cmp.Diff(want, tags); diff != "" {
				t.Errorf("tags of the instance:\n%s", diff)
			}
		})
	}
}

// TestShortages holds that the offerings that EC2 had none of are reported in addition to what it
// launched, and that the message distinguishes a shortage from a mistake.
func TestShortages(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		capacity  []awssim.CapacityRule
		offerings func([]fleet.Offering) []fleet.Offering
		instances int
		short     []fleet.Offering
		mistaken  []fleet.Offering
	}{
		{reason: "one type is short: the other takes its place", capacity: []awssim.CapacityRule{{InstanceType: "m5.large"}}, instances: 3, short: []fleet.Offering{
			{InstanceType: "m5.large", Zone: "us-east-1a", SubnetID: subnetA}, {InstanceType: "m5.large", Zone: "us-east-1b", SubnetID: subnetB},
		}},
		{reason: "some are better than none", capacity: []awssim.CapacityRule{{InstanceType: "m5.large", Available: 1}, {InstanceType: "m5.xlarge", Available: 1}}, instances: 2, short: []fleet.Offering{
			{InstanceType: "m5.large", Zone: "us-east-1a", SubnetID: subnetA}, {InstanceType: "m5.large", Zone: "us-east-1b", SubnetID: subnetB},
			{InstanceType: "m5.xlarge", Zone: "us-east-1a", SubnetID: subnetA}, {InstanceType: "m5.xlarge", Zone: "us-east-1b", SubnetID: subnetB},
		}},
		{
			reason: "a subnet that is gone is no shortage", offerings: func(all []fleet.Offering) []fleet.Offering {
				return append(all[:1:1], fleet.Offering{InstanceType: "m5.xlarge", Zone: "us-east-1b", SubnetID: "subnet-0123456789abcdef0"})
			},
			capacity: []awssim.CapacityRule{{InstanceType: "m5.large"}},
			short:    []fleet.Offering{{InstanceType: "m5.large", Zone: "us-east-1a", SubnetID: subnetA}},
			mistaken: []fleet.Offering{{InstanceType: "m5.xlarge", Zone: "us-east-1b", SubnetID: "subnet-0123456789abcdef0"}},
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, row.capacity...)
			request := p.request("one", 3)
			if row.offerings != nil {
				request.Offerings = row.offerings(request.Offerings)
			}
			launched := p.launch(request)
			if len(launched.Instances) != row.instances || len(p.running()) != row.instances {
				t.Errorf("%d instances are said and %d run, want %d", len(launched.Instances), len(p.running()), row.instances)
			}
			var short, mistaken []fleet.Offering
			for _, failure := range launched.Failures {
				if failure.Message == "" {
					t.Errorf("nothing is said of %+v", failure)
				}
				if failure.Blame == fleet.BlameOffering {
					short = append(short, failure.Offering)
				} else {
					mistaken = append(mistaken, failure.Offering)
				}
			}
			if diff := cmp.Diff(row.short, sorted(short)); diff != "" {
				t.Errorf("what was short:\n%s", diff)
			}
			if diff := cmp.Diff(row.mistaken, sorted(mistaken)); diff != "" {
				t.Errorf("what was mistaken:\n%s", diff)
			}
		})
	}
}

func sorted(offerings []fleet.Offering) []fleet.Offering {
	slices.SortFunc(offerings, func(a, b fleet.Offering) int {
		return strings.Compare(a.InstanceType+" "+a.Zone, b.InstanceType+" "+b.Zone)
	})
	return slices.Compact(offerings)
}

// TestFindAndEnd holds by what instances are found again, and that ending one twice, or one that
// never was, is no error.
func TestFindAndEnd(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, second := p.launch(p.request("first", 2)), p.launch(p.request("second", 1))
	other := p.request("third", 1)
	other.Tags[fleet.TagCluster] = "another"
	foreign := p.launch(other)
	gone, left := first.Instances[0].ID, first.Instances[1].ID
	for range 2 {
		if err := p.Terminate(t.Context(), first.Instances[0], claimOf("first")); err != nil {
			t.Fatal(err)
		}
	}
	never := fleet.Instance{ID: "i-0123456789abcdef0", Tags: first.Instances[0].Tags}
	if err := p.Terminate(t.Context(), never, claimOf("first")); err != nil {
		t.Errorf("an instance that is not there: %v", err)
	}
	p.clock.Step(time.Minute)

	ofLaunch, err := p.OfLaunch(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]bool{}
	for _, instance := range ofLaunch {
		ends[instance.ID] = instance.Ends()
	}
	if diff := cmp.Diff(map[string]bool{gone: true, left: false}, ends); diff != "" {
		t.Errorf("instances of the launch, and whether they end:\n%s", diff)
	}
	ofCluster, err := p.OfCluster(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{left, second.Instances[0].ID}, ids(ofCluster), cmp.Transformer("sort", sortedStrings)); diff != "" {
		t.Errorf("instances of the cluster:\n%s", diff)
	}
	for _, cluster := range []string{"*", "?"} {
		if all, err := p.OfCluster(t.Context(), cluster); err != nil || len(all) != 0 {
			t.Errorf("cluster %q has the instances %v of another (%v)", cluster, all, err)
		}
	}
	described, err := p.Describe(t.Context(), []string{left, foreign.Instances[0].ID, "i-0123456789abcdef0"})
	if err != nil {
		t.Fatalf("one that is not known keeps the others from being described: %v", err)
	}
	if diff := cmp.Diff([]string{left, foreign.Instances[0].ID}, ids(described), cmp.Transformer("sort", sortedStrings)); diff != "" {
		t.Errorf("described:\n%s", diff)
	}
	if got := described[left]; got.State != "running" || got.InstanceType != first.Instances[1].InstanceType || got.Zone != first.Instances[1].Zone || got.Tags[fleet.TagLaunch] != "first" {
		t.Errorf("described as %+v, and launched as %+v", got, first.Instances[1])
	}
}

func ids(instances map[string]fleet.Instance) []string {
	var all []string
	for id := range instances {
		all = append(all, id)
	}
	return all
}

func sortedStrings(of []string) []string { return slices.Sorted(slices.Values(of)) }

// TestManyAreDescribedInBatches holds that more instances than a filter takes are asked for in
// several calls, and all answered.
func TestManyAreDescribedInBatches(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	launched := p.launch(p.request("one", 100))
	var wanted []string
	for _, instance := range launched.Instances {
		wanted = append(wanted, instance.ID)
	}
	for len(wanted) <= fleet.DescribeBatch {
		wanted = append(wanted, wanted...)
	}
	described, err := p.Describe(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	if len(described) != len(launched.Instances) {
		t.Errorf("%d of %d instances are described", len(described), len(launched.Instances))
	}
	calls := 0
	for _, call := range p.sim.Calls() {
		if call.Action == "DescribeInstances" {
			calls++
		}
	}
	if calls != 2 {
		t.Errorf("%d calls for %d ids", calls, len(wanted))
	}
}

// TestNamesAreOfOneCluster holds that a launch by the same name in another cluster is another
// launch, and that a launch which an earlier release recorded is the one that it sent.
func TestNamesAreOfOneCluster(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.launch(p.request("one", 1))
	theirs := p.request("one", 1)
	theirs.ClusterUID = "another"
	if second := p.launch(theirs); second.Instances[0].ID == first.Instances[0].ID {
		t.Error("another cluster is given the same instance")
	}
	earlier := p.request("one", 1)
	earlier.ClusterUID = ""
	before := p.launch(earlier)
	if before.Instances[0].Tags[infrav1.TagClusterUID] != "" {
		t.Errorf("the tags are %v", before.Instances[0].Tags)
	}
	if diff := cmp.Diff(before, p.launch(earlier)); diff != "" {
		t.Errorf("a launch without a mark, again:\n%s", diff)
	}
}

// TestClaims holds which instances a claim lets be terminated.
func TestClaims(t *testing.T) {
	t.Parallel()
	claim := claimOf("one")
	for _, row := range []struct {
		reason string
		tags   map[string]string
		proven bool
	}{
		{"launched as that", map[string]string{infrav1.TagClusterUID: "uid", fleet.TagCluster: "c", fleet.TagLaunch: "one"}, true},
		{"launched as that by an earlier release", map[string]string{fleet.TagCluster: "c", fleet.TagLaunch: "one"}, true},
		{"another cluster's", map[string]string{infrav1.TagClusterUID: "other", fleet.TagCluster: "c", fleet.TagLaunch: "one"}, false},
		{"another launch's", map[string]string{infrav1.TagClusterUID: "uid", fleet.TagCluster: "c", fleet.TagLaunch: "two"}, false},
		{"for another cluster's name", map[string]string{fleet.TagCluster: "d", fleet.TagLaunch: "one"}, false},
		{"no launch at all", map[string]string{infrav1.TagClusterUID: "uid", fleet.TagCluster: "c"}, false},
		{"without tags", nil, false},
	} {
		err := claim.Check(fleet.Instance{ID: "i-1", Tags: row.tags})
		var refused *fleet.NotOwnedError
		if (err == nil) != row.proven || err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: %v", row.reason, err)
		}
	}
}
