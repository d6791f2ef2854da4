package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/cluster"
)

// The content of the default world (awssim/world/default.yaml).
const (
	region   = "us-east-1"
	vpc      = "vpc-0a10000000000000a"
	otherVPC = "vpc-0b20000000000000b"
	groupA   = "sg-0c1000000000000ab" // Name=node
	groupB   = "sg-0c1000000000000ac" // Name=lb
	public1a = "subnet-0b1000000000000aa"
	private  = "subnet-0b2000000000000a" // a, b, c
)

// place is a simulated AWS and a Discovery that reads it.
type place struct {
	*Discovery
	sim   *awssim.Simulator
	clock *simclock.Clock
}

func newPlace(t *testing.T, change func(*world.Region)) *place {
	t.Helper()
	w := copied(t, world.Default())
	if change != nil {
		change(w.Region(region))
	}
	sim, clock, url := awssimtest.Start(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), awssim.Options{World: w})
	clients, err := aws.NewSessions(awssimtest.Config(url, region, "123456789012"), aws.WithClock(clock)).For(t.Context(), aws.Principal{}, region)
	if err != nil {
		t.Fatal(err)
	}
	return &place{Discovery: New(clients, clock), sim: sim, clock: clock}
}

// copied is a world that a test may change.
func copied(t *testing.T, w *world.World) *world.World {
	t.Helper()
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	own := &world.World{}
	if err := json.Unmarshal(text, own); err != nil {
		t.Fatal(err)
	}
	return own
}

// secondVPC has a group and a subnet that look like the first VPC's.
func secondVPC(r *world.Region) {
	r.VPCs = append(r.VPCs, world.VPC{ID: otherVPC, CIDR: "10.9.0.0/16"})
	r.SecurityGroups = append(r.SecurityGroups, world.SecurityGroup{
		ID: "sg-0c20000000000000b", Name: "node", Description: "x", VPC: otherVPC, Tags: map[string]string{"Name": "node"},
	})
	r.Subnets = append(r.Subnets, world.Subnet{
		ID: "subnet-0b300000000000001", VPC: otherVPC, Zone: "us-east-1a", CIDR: "10.9.0.0/20", Tags: map[string]string{"Name": "private-us-east-1a"},
	})
}

func byID(id string) infrav1.AWSResourceReference {
	return infrav1.AWSResourceReference{ID: ptr.To(id)}
}

func byFilters(pairs ...string) infrav1.AWSResourceReference {
	var ref infrav1.AWSResourceReference
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		ref.Filters = append(ref.Filters, infrav1.Filter{Name: name, Values: []string{value}})
	}
	return ref
}

func TestSecurityGroupIDs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, secondVPC)
	cases := []struct {
		name, reason string
		refs         []infrav1.AWSResourceReference
		want         []string
		err          error
	}{
		{name: "none", reason: "A pool needs no groups of its own."},
		{name: "ids", reason: "Ids are taken as they are, once.", refs: []infrav1.AWSResourceReference{byID("sg-1"), byID("sg-0"), byID("sg-1")}, want: []string{"sg-1", "sg-0"}},
		{name: "filters", reason: "A group of another VPC cannot be used, so it is not found.", refs: []infrav1.AWSResourceReference{byFilters("tag:Name=node")}, want: []string{groupA}},
		{name: "several found", reason: "All that match, in a stable order.", refs: []infrav1.AWSResourceReference{byFilters("tag-key=Name")}, want: []string{groupA, groupB}},
		{name: "each reference by itself", reason: "The groups of all of them.", refs: []infrav1.AWSResourceReference{byFilters("group-name=lb"), byID("sg-1"), byFilters("tag-key=Name")}, want: []string{groupB, "sg-1", groupA}},
		{name: "another VPC", reason: "Who names a VPC means it.", refs: []infrav1.AWSResourceReference{byFilters("tag:Name=node", "vpc-id="+otherVPC)}, want: []string{"sg-0c20000000000000b"}},
		{
			name: "nothing found", reason: "CAPA would launch nodes without the group.", refs: []infrav1.AWSResourceReference{byFilters("tag:Name=node"), byFilters("tag:Name=typo")},
			err: &NotFoundError{Kind: "security group", What: "filters tag:Name=typo, vpc-id=" + vpc},
		},
		{
			name: "nothing asked", reason: "All groups of the VPC would be an answer, but not a meant one.", refs: []infrav1.AWSResourceReference{{}},
			err: &InvalidQueryError{Message: "a reference to security groups needs an id or filters"},
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := p.SecurityGroupIDs(t.Context(), vpc, tc.refs)
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Fatalf("%s error (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestEveryPageIsRead(t *testing.T) {
	t.Parallel()
	const many = 2050
	p := newPlace(t, func(r *world.Region) {
		for i := range many {
			r.SecurityGroups = append(r.SecurityGroups, world.SecurityGroup{
				ID: fmt.Sprintf("sg-%017x", i), Name: fmt.Sprintf("many-%d", i), Description: "x", VPC: vpc, Tags: map[string]string{"many": "yes"},
			})
			r.Images = append(r.Images, world.Image{
				ID: fmt.Sprintf("ami-%017x", i), Name: fmt.Sprintf("many-1.30.0-%d", i), OwnerID: "111122223333", Architecture: "x86_64",
				// The newest is neither first nor last.
				CreationDate:   time.Date(2026, 1, 1, 0, (i*7)%many, 0, 0, time.UTC),
				RootDeviceName: "/dev/xvda", BlockDevices: []world.BlockDevice{{DeviceName: "/dev/xvda", SnapshotID: "snap-1", SizeGiB: 8, VolumeType: "gp3"}}, VirtualizationType: "hvm",
			})
		}
	})
	groups, err := p.SecurityGroupIDs(t.Context(), vpc, []infrav1.AWSResourceReference{byFilters("tag:many=yes")})
	if err != nil || len(groups) != many {
		t.Errorf("%d groups, %v", len(groups), err)
	}
	image, err := p.Image(t.Context(), ImageQuery{
		KubernetesVersion: "1.30.0", Architecture: "x86_64", Lookup: cluster.ImageLookup{Format: "many-{{.K8sVersion}}-*", Org: "111122223333"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "2026-01-02T10:09:00.000Z"; image.CreationDate != want {
		t.Errorf("the newest of all pages is from %s, got one from %s", want, image.CreationDate)
	}
}

func TestSubnetIDs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(r *world.Region) {
		secondVPC(r)
		r.Subnets = append(r.Subnets, world.Subnet{
			ID: "subnet-0b400000000000001", VPC: vpc, Zone: "us-east-1a", CIDR: "10.0.192.0/20",
			Tags: map[string]string{"Name": "private-us-east-1a", infrav1.TagSubnetAssociation: infrav1.TagValueSecondary},
		})
	})
	secondary := map[string]string{infrav1.TagSubnetAssociation: infrav1.TagValueSecondary}
	clusterSubnets := []cluster.Subnet{
		{ID: "subnet-priv-a", AvailabilityZone: "us-east-1a"},
		{ID: "subnet-pub-a", AvailabilityZone: "us-east-1a", Public: true},
		{ID: "subnet-pods-a", AvailabilityZone: "us-east-1a", Tags: secondary},
		{ID: "subnet-pub-b", AvailabilityZone: "us-east-1b", Public: true},
		{ID: "subnet-priv-c", AvailabilityZone: "us-east-1c"},
		{ID: "subnet-edge", AvailabilityZone: "us-east-1-lax-1a", Edge: true},
	}
	cases := []struct {
		name, reason string
		query        SubnetQuery
		none         bool // the cluster has no subnets
		want         []Subnet
		err          error
	}{
		{name: "nothing said", reason: "The private subnets of the cluster, without edge zones and the pods'.", want: []Subnet{{ID: "subnet-priv-a", Zone: "us-east-1a"}, {ID: "subnet-priv-c", Zone: "us-east-1c"}}},
		{
			name: "nothing to choose from", reason: "Nodes have to be somewhere.", none: true,
			err: &NotFoundError{Kind: "private subnet", What: "the cluster", Advice: "set subnets in spec.subnets of the " +
				"pool, or zones in spec.availabilityZones"},
		},
		{name: "ids", reason: "In their order, once; the zone is asked of EC2 if the cluster does not know.", query: SubnetQuery{Refs: []infrav1.AWSResourceReference{byID(private + "b"), byID("subnet-pub-a"), byID(private + "b")}}, want: []Subnet{{ID: private + "b", Zone: "us-east-1b"}, {ID: "subnet-pub-a", Zone: "us-east-1a"}}},
		{
			name: "unknown id", reason: "A group cannot be made with it.", query: SubnetQuery{Refs: []infrav1.AWSResourceReference{byID("subnet-0b999999999999999")}},
			err: &NotFoundError{Kind: "subnet", What: "subnet-0b999999999999999"},
		},
		{name: "filters", reason: "Not the pods' subnet, and not that of another VPC.", query: SubnetQuery{VPCID: vpc, Refs: []infrav1.AWSResourceReference{byFilters("tag:Name=private-us-east-1a")}}, want: []Subnet{{ID: private + "a", Zone: "us-east-1a"}}},
		{name: "filters of two references", reason: "As with CAPA, a subnet matches all of them.", query: SubnetQuery{VPCID: vpc, Refs: []infrav1.AWSResourceReference{byFilters("tag:Name=private-*"), byFilters("availability-zone=us-east-1c")}}, want: []Subnet{{ID: private + "c", Zone: "us-east-1c"}}},
		{name: "ids and filters", reason: "Both, each subnet once.", query: SubnetQuery{VPCID: vpc, Refs: []infrav1.AWSResourceReference{byFilters("tag:Name=p*-us-east-1a"), byID(private + "a")}}, want: []Subnet{{ID: private + "a", Zone: "us-east-1a"}, {ID: public1a, Zone: "us-east-1a"}}},
		{
			name: "filters find nothing", reason: "The message says how several entries are meant.", query: SubnetQuery{VPCID: vpc, Refs: []infrav1.AWSResourceReference{byFilters("tag:Name=typo")}},
			err: &NotFoundError{
				Kind: "subnet", What: "filters tag:Name=typo, vpc-id=" + vpc,
				Advice: "a subnet must match the filters of all entries of spec.subnets, and must not belong to the pods' network",
			},
		},
		{name: "references before zones", reason: "CAPA's precedence.", query: SubnetQuery{Refs: []infrav1.AWSResourceReference{byID("subnet-pub-a")}, AvailabilityZones: []string{"us-east-1c"}}, want: []Subnet{{ID: "subnet-pub-a", Zone: "us-east-1a"}}},
		{name: "zones", reason: "All kinds, in the order of the zones, without the pods'.", query: SubnetQuery{AvailabilityZones: []string{"us-east-1c", "us-east-1a"}, FailureDomains: []string{"us-east-1b"}}, want: []Subnet{{ID: "subnet-priv-c", Zone: "us-east-1c"}, {ID: "subnet-priv-a", Zone: "us-east-1a"}, {ID: "subnet-pub-a", Zone: "us-east-1a"}}},
		{name: "failure domains", reason: "The MachinePool's count if the pool has no zones.", query: SubnetQuery{FailureDomains: []string{"us-east-1b"}}, want: []Subnet{{ID: "subnet-pub-b", Zone: "us-east-1b"}}},
		{name: "public", reason: "Of one kind.", query: SubnetQuery{AvailabilityZones: []string{"us-east-1a"}, Type: infrav1.AZSubnetTypePublic}, want: []Subnet{{ID: "subnet-pub-a", Zone: "us-east-1a"}}},
		{name: "private", reason: "Of the other kind.", query: SubnetQuery{AvailabilityZones: []string{"us-east-1a"}, Type: infrav1.AZSubnetTypePrivate}, want: []Subnet{{ID: "subnet-priv-a", Zone: "us-east-1a"}}},
		{name: "edge zone", reason: "Who names it means it.", query: SubnetQuery{AvailabilityZones: []string{"us-east-1-lax-1a"}}, want: []Subnet{{ID: "subnet-edge", Zone: "us-east-1-lax-1a"}}},
		{
			name: "zone without", reason: "A pool that was to be in two zones must not quietly be in one.", query: SubnetQuery{AvailabilityZones: []string{"us-east-1a", "us-east-1b"}, Type: infrav1.AZSubnetTypePrivate},
			err: &NotFoundError{
				Kind: "subnet", What: "availability zone us-east-1b",
				Advice: "the cluster has no private subnet there; add one to spec.network.subnets of the " +
					"infrastructure object of the cluster, or change the zones of the pool",
			},
		},
		{
			name: "empty reference", reason: "All subnets would be an answer, but not a meant one.", query: SubnetQuery{Refs: []infrav1.AWSResourceReference{{}}},
			err: &InvalidQueryError{Message: "a reference to subnets needs an id or filters"},
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if !tc.none {
				tc.query.ClusterSubnets = clusterSubnets
			}
			got, err := p.SubnetIDs(t.Context(), tc.query)
			for i, subnet := range got {
				if asked := !subnet.Seen.IsZero(); asked && (subnet.Free == 0 || subnet.Public != (subnet.ID == public1a)) {
					t.Errorf("%s is %+v", subnet.ID, subnet)
				}
				got[i] = Subnet{ID: subnet.ID, Zone: subnet.Zone}
			}
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Fatalf("%s error (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestInstanceType(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	got, err := p.InstanceType(t.Context(), "m6g.large")
	if err != nil {
		t.Fatal(err)
	}
	data := world.Default().InstanceType("m6g.large")
	want := InstanceType{
		Name: "m6g.large", Architectures: []string{"arm64"}, CPUManufacturer: "AWS", VCPUs: 2, MemoryMiB: 8192, MaxNetworkInterfaces: 3, CardNetworkInterfaces: 3, IPv4AddressesPerInterface: 10,
		Hypervisor: "nitro", CurrentGeneration: true, NitroEnclaves: data.NitroEnclaves, Hibernation: data.Hibernation, EBSRoot: true, UsageClasses: []string{"on-demand", "spot"},
		EBSAttachments: 27, EBSAttachmentsShared: true, NetworkMbps: 750, EBSMbps: 4750,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("m6g.large (-want +got):\n%s", diff)
	}
	gpu, err := p.InstanceType(t.Context(), "g4dn.xlarge")
	if err != nil || gpu.GPUs != 1 || gpu.InstanceStorageGB != 125 || gpu.Architecture() != "x86_64" {
		t.Errorf("g4dn.xlarge: %+v, %v", gpu, err)
	}
	if diff := cmp.Diff([]Device{{Name: "T4", Manufacturer: "NVIDIA", Count: 1, MemoryMiB: 16384}}, gpu.GPUDevices); diff != "" || !gpu.LocalNVMe {
		t.Errorf("g4dn.xlarge: its disks are NVMe: %v, GPUs (-want +got):\n%s", gpu.LocalNVMe, diff)
	}
	trained, err := p.InstanceType(t.Context(), "trn1.32xlarge")
	if err != nil || trained.EFAInterfaces != 8 || trained.MaxNetworkInterfaces != 40 || trained.CardNetworkInterfaces != 5 {
		t.Errorf("trn1.32xlarge: %d adapters, %d interfaces on the default card of %d, %v", trained.EFAInterfaces, trained.CardNetworkInterfaces, trained.MaxNetworkInterfaces, err)
	}
	if diff := cmp.Diff([]Device{{Name: "Trainium", Manufacturer: "AWS", Count: 16, MemoryMiB: 32768, Cores: 2}}, trained.NeuronDevices); diff != "" {
		t.Errorf("trn1.32xlarge: accelerators (-want +got):\n%s", diff)
	}
	_, err = p.InstanceType(t.Context(), "m6g.typo")
	wantErr := &NotFoundError{Kind: "instance type", What: "m6g.typo", Advice: "EC2 does not offer the type in this " +
		"region"}
	if diff := cmp.Diff(error(wantErr), err); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if fate := aws.FateOf(err); fate.Kind != aws.WaitForUser || fate.After == 0 {
		t.Errorf("fate %v: a person has to act, and AWS may learn of the type", fate)
	}
}

// asked counts the calls of an action since the beginning.
func (p *place) asked(action string) int {
	n := 0
	for _, call := range p.sim.Calls() {
		if call.Action == action {
			n++
		}
	}
	return n
}

func TestAnswersAreKeptForATime(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	ask := func() {
		t.Helper()
		if _, err := p.SecurityGroupIDs(t.Context(), vpc, []infrav1.AWSResourceReference{byFilters("tag:Name=node")}); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	p.clock.Step(securityGroupsTTL - time.Second)
	ask()
	if n := p.asked("DescribeSecurityGroups"); n != 1 {
		t.Errorf("%d calls before the answer is old", n)
	}
	p.clock.Step(time.Second)
	ask()
	if n := p.asked("DescribeSecurityGroups"); n != 2 {
		t.Errorf("%d calls after it is", n)
	}
	if _, err := p.SecurityGroupIDs(t.Context(), vpc, []infrav1.AWSResourceReference{byFilters("tag:Name=lb")}); err != nil {
		t.Fatal(err)
	}
	if n := p.asked("DescribeSecurityGroups"); n != 3 {
		t.Errorf("%d calls: another question has another answer", n)
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	if _, err := p.sim.AddFault(awssim.Fault{Service: "ec2", Action: "DescribeInstanceTypes", Count: 1, Code: "UnauthorizedOperation", Status: 403}); err != nil {
		t.Fatal(err)
	}
	_, err := p.InstanceType(t.Context(), "m5.large")
	if !aws.IsAccessDenied(err) {
		t.Fatalf("a permission that is missing is no reason to guess: %v", err)
	}
	if _, err := p.InstanceType(t.Context(), "m5.large"); err != nil {
		t.Errorf("after the permission was given: %v", err)
	}
}

// TestQuestionsAreShared holds that many callers that ask for the same at once cause one call, and
// a caller that gives up does not affect the others.
func TestQuestionsAreShared(t *testing.T) {
	t.Parallel()
	arrived, proceed := make(chan struct{}), make(chan struct{})
	p := newPlace(t, nil)
	_, err := p.sim.AddFault(awssim.Fault{Service: "ec2", Action: "DescribeInstanceTypes", Nth: 1, Callback: func(*awssim.FaultContext) {
		close(arrived)
		<-proceed
	}})
	if err != nil {
		t.Fatal(err)
	}
	impatient, giveUp := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := p.InstanceType(impatient, "m5.large")
		gaveUp <- err
	}()
	<-arrived
	answers := make(chan error, 8)
	for range cap(answers) {
		go func() {
			_, err := p.InstanceType(t.Context(), "m5.large")
			answers <- err
		}()
	}
	giveUp()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up got %v", err)
	}
	close(proceed)
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Errorf("who waited got %v", err)
		}
	}
	if n := p.asked("DescribeInstanceTypes"); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestPatientCache holds that an answer that has become old serves on while another is asked for.
func TestPatientCache(t *testing.T) {
	t.Parallel()
	clock := simclock.New(time.Now(), 0)
	t.Cleanup(clock.Close)
	c := newCache[int](clock, time.Minute)
	c.patient = true
	asked, answer := make(chan struct{}, 1), make(chan int, 1)
	get := func() int {
		value, err := c.get(t.Context(), "", func(context.Context) (int, error) {
			asked <- struct{}{}
			return <-answer, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	answer <- 1
	if got := get(); got != 1 {
		t.Fatalf("the first answer is %d", got)
	}
	<-asked
	clock.Step(time.Hour)
	if got := get(); got != 1 {
		t.Errorf("while AWS has not answered the old answer became %d", got)
	}
	<-asked
	answer <- 2
	for end := time.Now().Add(time.Minute); get() != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the new answer is not served")
		}
	}
	if len(asked) != 0 {
		t.Error("AWS was asked once more")
	}
}

// TestCacheIsBounded holds that a namespace that asks ever more questions, and long ones, fills no
// memory, and keeps the answers of another from being dropped.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	clock := simclock.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 0)
	t.Cleanup(clock.Close)
	c := newCache[int](clock, time.Hour)
	asked := 0
	ask := func(namespace, question string) {
		ctx, finish := aws.WithCaller(t.Context(), "AWSLaunchConfig/"+namespace+"/pool")
		defer finish()
		if _, err := c.get(ctx, question, func(context.Context) (int, error) { asked++; return 0, nil }); err != nil {
			t.Fatal(err)
		}
	}
	ask("quiet", "one")
	for i := range 3 * mostAnswers {
		ask("flood", strings.Repeat("x", 10_000)+fmt.Sprint(i))
	}
	if c.answers.Len() != mostAnswers {
		t.Errorf("%d answers are kept", c.answers.Len())
	}
	asked = 0
	ask("quiet", "one")
	ask("flood", strings.Repeat("x", 10_000)+fmt.Sprint(3*mostAnswers-1))
	if asked != 0 {
		t.Errorf("%d questions were asked again", asked)
	}
}
