package ec2

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
)

// caller is another service of the simulation, which calls EC2 without the wire.
type caller struct {
	*testing.T
	kernel *sim.Kernel
	clock  *simclock.Clock
	region *sim.Region
}

func newCaller(t *testing.T, behavior sim.Behavior) *caller {
	t.Helper()
	clock := simclock.New(time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC), 0)
	t.Cleanup(clock.Close)
	reg := sim.NewRegistry()
	Register(reg)
	kernel, err := sim.New(clock, world.Default(), reg, sim.Settings{Behavior: behavior})
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{T: t, kernel: kernel, clock: clock}
	c.locked(func() {
		if c.region, err = kernel.Account("111122223333").Region("us-east-1"); err != nil {
			t.Fatal(err)
		}
	})
	return c
}

func (c *caller) locked(f func()) { c.kernel.Locked(f) }

// put stores a template as it is and returns a spec of it.
func (c *caller) put(data types.RequestLaunchTemplateData) LaunchTemplateSpec {
	c.Helper()
	var id string
	c.locked(func() {
		s := stateOf(c.region)
		t := template{id: c.kernel.NewID("lt-", 17), versions: sim.NewTable[templateVersion](c.kernel)}
		t.name = t.id
		t = s.templates.addVersion(t, templateVersion{data: data})
		t.defaultVersion = 1
		s.templates.Put(t.id, t)
		s.templates.names.Put(t.name, t.id)
		id = t.id
	})
	return LaunchTemplateSpec{ID: id}
}

func (c *caller) launch(request LaunchRequest) (launched []Instance, err error) {
	c.locked(func() { launched, err = LaunchInstances(c.region, request) })
	return launched, err
}

func (c *caller) subnet(zone string, public bool) string {
	c.Helper()
	for _, s := range c.region.World().Subnets {
		if s.Zone == zone && s.MapPublicIPOnLaunch == public {
			return s.ID
		}
	}
	c.Fatalf("no subnet in %s", zone)
	return ""
}

func (c *caller) image(architecture string) string {
	c.Helper()
	for _, i := range slices.Backward(c.region.World().Images) {
		if i.Architecture == architecture && strings.HasPrefix(i.Name, "capa-ami-ubuntu") {
			return i.ID
		}
	}
	c.Fatalf("no image for %s", architecture)
	return ""
}

func TestLaunchInstances(t *testing.T) {
	t.Parallel()
	c := newCaller(t, sim.Behavior{})
	image := c.image("x86_64")
	spec := c.put(types.RequestLaunchTemplateData{
		ImageId: &image, InstanceType: "m5.large",
		NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: ptr(int32(0)), SubnetId: ptr(c.subnet("us-east-1a", true))}},
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeInstance, Tags: tagList(map[string]string{"a": "template", "b": "template"})}},
	})
	launched, err := c.launch(LaunchRequest{
		Template: spec, Count: 2, InstanceType: "m6g.large", ImageID: c.image("arm64"), SubnetID: c.subnet("us-east-1b", false), Market: types.MarketTypeSpot,
		Tags: tagList(map[string]string{"b": "group"}), SystemTags: tagList(map[string]string{"aws:autoscaling:groupName": "pool"}),
	})
	if err != nil || len(launched) != 2 {
		t.Fatalf("launched %d instances: %v", len(launched), err)
	}
	i := launched[0]
	if i.InstanceType != "m6g.large" || *i.ImageId != c.image("arm64") || i.InstanceLifecycle != types.InstanceLifecycleTypeSpot {
		t.Errorf("overrides: %s, %s, %s", i.InstanceType, *i.ImageId, i.InstanceLifecycle)
	}
	if *i.SubnetId != c.subnet("us-east-1b", false) || *i.Placement.AvailabilityZone != "us-east-1b" {
		t.Errorf("the group's subnet wins over the template's: %s in %s", *i.SubnetId, *i.Placement.AvailabilityZone)
	}
	got := map[string]string{}
	for _, tag := range i.Tags {
		got[*tag.Key] = *tag.Value
	}
	want := map[string]string{
		"a": "template", "b": "group", "aws:autoscaling:groupName": "pool", "aws:ec2launchtemplate:id": spec.ID, "aws:ec2launchtemplate:version": "1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestLaunchErrorsAreThoseOfEC2(t *testing.T) {
	t.Parallel()
	c := newCaller(t, sim.Behavior{Capacity: []sim.CapacityRule{{Zone: "us-east-1c", Available: 0}}})
	image := c.image("x86_64")
	good := c.put(types.RequestLaunchTemplateData{ImageId: &image, InstanceType: "m5.large"})
	requirements := c.put(types.RequestLaunchTemplateData{ImageId: &image, InstanceRequirements: &types.InstanceRequirementsRequest{}})
	rows := []struct {
		reason  string
		request LaunchRequest
		code    string
		atCheck bool // CheckLaunch says the same
	}{
		{"a good launch", LaunchRequest{Template: good}, "", true},
		{"into the zone's default subnet", LaunchRequest{Template: good, Zone: "us-east-1b"}, "", true},
		{"with a type in the place of requirements", LaunchRequest{Template: requirements, InstanceType: "m5.large"}, "", true},
		{"requirements alone", LaunchRequest{Template: requirements}, "InvalidParameterCombination", true},
		{"a version that is gone", LaunchRequest{Template: LaunchTemplateSpec{ID: good.ID, Version: "4"}}, "InvalidLaunchTemplateId.VersionNotFound", true},
		{"a template that is gone", LaunchRequest{Template: LaunchTemplateSpec{Name: "missing"}}, "InvalidLaunchTemplateName.NotFoundException", true},
		{"an image for another architecture", LaunchRequest{Template: good, InstanceType: "m6g.large"}, "InvalidParameterValue", true},
		{"no capacity, which only a launch finds out", LaunchRequest{Template: good, SubnetID: c.subnet("us-east-1c", false)}, "InsufficientInstanceCapacity", false},
		{"more than fits", LaunchRequest{Template: good, Count: 100000}, "InsufficientFreeAddressesInSubnet", false},
	}
	for _, row := range rows {
		var checked error
		c.locked(func() { checked = CheckLaunch(c.region, row.request) })
		_, err := c.launch(row.request)
		if got := codeOf(err); got != row.code {
			t.Errorf("%s: LaunchInstances gives %q, want %q", row.reason, got, row.code)
		}
		want := row.code
		if !row.atCheck {
			want = ""
		}
		if got := codeOf(checked); got != want {
			t.Errorf("%s: CheckLaunch gives %q, want %q", row.reason, got, want)
		}
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return sim.AsError(err).Code
}

func TestResolveLaunchTemplate(t *testing.T) {
	t.Parallel()
	c := newCaller(t, sim.Behavior{ReadLag: time.Minute})
	spec := c.put(types.RequestLaunchTemplateData{InstanceType: "m5.large"})
	c.locked(func() {
		s := stateOf(c.region)
		lt, _ := s.templates.Get(spec.ID)
		s.templates.Put(lt.id, s.templates.addVersion(lt, templateVersion{data: types.RequestLaunchTemplateData{InstanceType: "c5.large"}}))
		rows := map[string]types.InstanceType{"": "m5.large", "$Default": "m5.large", "1": "m5.large", "$Latest": "c5.large", "2": "c5.large"}
		for version, want := range rows {
			got, err := ResolveLaunchTemplate(c.region, LaunchTemplateSpec{ID: spec.ID, Version: version})
			if err != nil || got.Data.InstanceType != want {
				t.Errorf("version %q: %v, %v; want %s, whatever the read lag", version, got, err, want)
			}
		}
	})
}

func TestTerminateInstancesForAService(t *testing.T) {
	t.Parallel()
	c := newCaller(t, sim.Behavior{InstanceTimes: sim.InstanceTimes{ShuttingDown: time.Minute}})
	image := c.image("x86_64")
	var seen []string
	c.locked(func() {
		OnInstanceChange(c.region, func(i Instance) {
			state := string(i.State.Name)
			if i.Booted {
				state = "booted"
			}
			seen = append(seen, state)
		})
	})
	launched, err := c.launch(LaunchRequest{Template: c.put(types.RequestLaunchTemplateData{ImageId: &image, InstanceType: "m5.large", DisableApiTermination: ptr(true)})})
	if err != nil {
		t.Fatal(err)
	}
	id := *launched[0].InstanceId
	c.locked(func() {
		SetInstanceTags(c.region, id, tagList(map[string]string{"aws:x": "y"}))
		TerminateInstances(c.region, id, "i-00000000000000000")
	})
	c.clock.Step(time.Minute)
	c.locked(func() {
		i, ok := LookupInstance(c.region, id)
		if !ok || i.State.Name != types.InstanceStateNameTerminated || !slices.ContainsFunc(i.Tags, func(t types.Tag) bool { return *t.Key == "aws:x" }) {
			t.Errorf("protection does not hold a service back; the instance is %s", i.State.Name)
		}
		if _, ok := LookupInstance(c.region, "i-00000000000000000"); ok {
			t.Error("an instance that never was is found")
		}
		for _, m := range launched[0].BlockDeviceMappings {
			if _, ok := LookupVolume(c.region, *m.Ebs.VolumeId); ok {
				t.Errorf("the volume %s outlives its instance", *m.Ebs.VolumeId)
			}
		}
	})
	if diff := cmp.Diff([]string{"pending", "running", "booted", "shutting-down", "terminated"}, seen); diff != "" {
		t.Errorf("what a service sees (-want +got):\n%s", diff)
	}
}

func TestStopAndStartForAService(t *testing.T) {
	t.Parallel()
	c := newCaller(t, sim.Behavior{InstanceTimes: sim.InstanceTimes{ShuttingDown: time.Minute}})
	image := c.image("x86_64")
	spec := c.put(types.RequestLaunchTemplateData{ImageId: &image, InstanceType: "m5.large"})
	launched, err := c.launch(LaunchRequest{Template: spec, Zone: "us-east-1a"})
	if err != nil {
		t.Fatal(err)
	}
	id := *launched[0].InstanceId
	state := func() (name types.InstanceStateName) {
		c.locked(func() {
			i, _ := LookupInstance(c.region, id)
			name = i.State.Name
		})
		return name
	}
	c.locked(func() { StopInstances(c.region, id, "i-00000000000000000") })
	c.clock.Step(time.Minute)
	if got := state(); got != types.InstanceStateNameStopped {
		t.Fatalf("the instance is %s, want stopped", got)
	}
	c.kernel.SetBehavior(sim.Behavior{Capacity: []sim.CapacityRule{{InstanceType: "m5.large", Available: 0}}})
	start := func() (err error) {
		c.locked(func() { err = StartInstances(c.region, id) })
		return err
	}
	if got := codeOf(start()); got != "InsufficientInstanceCapacity" {
		t.Errorf("starting without capacity gives %q", got)
	}
	c.kernel.SetBehavior(sim.Behavior{})
	if err := start(); err != nil || state() != types.InstanceStateNameRunning {
		t.Errorf("the instance is %s, want running (%v)", state(), err)
	}
}

// TestSameCallsMakeTheSameWorld: identifiers and addresses depend on the seed and the calls alone.
func TestSameCallsMakeTheSameWorld(t *testing.T) {
	t.Parallel()
	build := func() map[string]any {
		c := newCaller(t, sim.Behavior{})
		image := c.image("x86_64")
		if _, err := c.launch(LaunchRequest{Template: c.put(types.RequestLaunchTemplateData{ImageId: &image, InstanceType: "m5.large"}), Count: 3}); err != nil {
			t.Fatal(err)
		}
		var state any
		c.locked(func() { state = dump(c.region) })
		return state.(map[string]any)
	}
	if diff := cmp.Diff(build(), build()); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

// TestEveryFilterFindsByItsOwnValue: for every filter that an action knows, asking for a value that
// a resource has finds the resource.
func TestEveryFilterFindsByItsOwnValue(t *testing.T) {
	t.Parallel()
	c := newCaller(t, sim.Behavior{})
	image := c.image("x86_64")
	spec := c.put(types.RequestLaunchTemplateData{
		ImageId: &image, InstanceType: "m5.large", KeyName: ptr("default"), EbsOptimized: ptr(true), KernelId: ptr("aki-01234567"), RamDiskId: ptr("ari-01234567"),
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: ptr("nodes.cluster-api-provider-aws.sigs.k8s.io")},
		MetadataOptions:    &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: "required", HttpEndpoint: "enabled"},
	})
	if _, err := c.launch(LaunchRequest{Template: spec, Market: types.MarketTypeSpot}); err != nil {
		t.Fatal(err)
	}
	c.locked(func() {
		s := stateOf(c.region)
		lt, _ := s.templates.Get(spec.ID)
		v, _ := lt.versions.Get("1")
		i := s.instances.All()[0]
		checkFilters(t, "launch template", templateFilters, lt)
		checkFilters(t, "launch template version", versionFilters, versionOf{lt, v})
		checkFilters(t, "instance", instanceFilters, i)
		checkFilters(t, "instance status", statusFilters, i)
		checkFilters(t, "image", imageFilters, s.images.All()[0])
		checkFilters(t, "vpc", vpcListing.filters, s.vpcs.All()[0])
		checkFilters(t, "subnet", subnetListing.filters, s.subnets.All()[0])
		checkFilters(t, "security group", groupListing.filters, withRules(s.groups.All(), s.groups.rules.All())[0])
		checkFilters(t, "security group rule", ruleListing.filters, s.groups.rules.All()[0])
		checkFilters(t, "network interface", interfaceListing.filters, s.interfaces.All()[0])
		checkFilters(t, "network ACL", aclListing.filters, s.acls.All()[0])
		checkFilters(t, "route table", routeTableListing.filters, s.routeTables.All()[0])
		checkFilters(t, "internet gateway", gatewayListing.filters, s.internetGateways.All()[0])
		checkFilters(t, "DHCP options", dhcpListing.filters, s.dhcpOptions.All()[0])
		checkFilters(t, "key pair", keyPairFilters, s.keyPairs.All()[0])
		checkFilters(t, "volume", volumeListing.filters, s.volumes.All()[0])
		checkFilters(t, "instance type", typeFilters, typeInfo(&c.kernel.World().InstanceTypes[0]))
	})
}

func checkFilters[V any](t *testing.T, noun string, table filterTable[V], resource V) {
	t.Helper()
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`)
	read := 0
	for name, reader := range table {
		for _, value := range reader(resource) {
			read++
			found, err := table.apply([]types.Filter{{Name: ptr(name), Values: []string{escape.Replace(value)}}}, []V{resource}, nil)
			if err != nil || len(found) != 1 {
				t.Errorf("%s: the filter %s does not find by %q (%v)", noun, name, value, err)
			}
			found, err = table.apply([]types.Filter{{Name: ptr(name), Values: []string{"no such value"}}}, []V{resource}, nil)
			if err != nil || len(found) != 0 {
				t.Errorf("%s: the filter %s finds by a value that the resource does not have", noun, name)
			}
		}
	}
	if read == 0 {
		t.Errorf("%s: no filter has read anything", noun)
	}
}
