package ec2_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim/oracle"
	"github.com/slipway-project/slipway/awssim/world"
)

// TestInstanceTypesAreAsRecorded compares every answer of DescribeInstanceTypes, member by member,
// with the table that hack/instancetypes wrote of a recording. It reads the table by the names of
// its columns, not as the simulator does.
func TestInstanceTypesAreAsRecorded(t *testing.T) {
	t.Parallel()
	recorded, columns := readTable(t)
	described := wholeCatalogue(t)
	if len(described) != len(recorded) {
		t.Errorf("%d instance types are described, want %d", len(described), len(recorded))
	}
	members, held := 0, 0
	for name, want := range recorded {
		got, found := described[name]
		if !found {
			t.Errorf("%s is not described", name)
			continue
		}
		members += len(want)
		if diff := cmp.Diff(want, onlyOf(columns, valuesOf(t, "", got))); diff != "" {
			t.Errorf("%s (-recorded +described):\n%s", name, diff)
			continue
		}
		held++
	}
	oracle.Report(t, oracle.Result{Oracle: "instance types, member by member", Source: "an answer of DescribeInstanceTypes, recorded in August 2026 through moto", Service: "EC2", Cases: len(recorded), Held: held})
	if members < 90_000 {
		t.Errorf("only %d members were compared", members)
	}
}

// TestPodsPerNode holds the formula of the VPC network plugin, interfaces × (addresses - 1) + 2, to
// what awslabs/amazon-eks-ami publishes in eni-max-pods.txt. The plugin uses the interfaces of the
// default network card alone.
func TestPodsPerNode(t *testing.T) {
	t.Parallel()
	described := wholeCatalogue(t)
	for name, want := range map[string]int32{
		"t3.nano": 4, "t3.medium": 17, "t3.large": 35, "m5.large": 29, "m5.xlarge": 58, "m5.4xlarge": 234, "m5.24xlarge": 737, "c5.18xlarge": 737, "c6g.medium": 8,
		"m5.metal": 737, "g5.48xlarge": 345, "p4d.24xlarge": 737, "trn1.32xlarge": 247, "p5.48xlarge": 100, "t2.micro": 4, "r7g.16xlarge": 737,
	} {
		info := described[name].NetworkInfo
		card := info.NetworkCards[*info.DefaultNetworkCardIndex]
		if got := *card.MaximumNetworkInterfaces*(*info.Ipv4AddressesPerInterface-1) + 2; got != want {
			t.Errorf("%s has addresses for %d pods, want %d", name, got, want)
		}
	}
}

func TestInstanceTypesThatARegionLacks(t *testing.T) {
	t.Parallel()
	r := newRig(t, withWorld(func(w *world.World) { w.Regions[0].NotOffered = []world.Absence{{InstanceType: "m5.large"}} }))
	in := &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.large", "c5.large"}, IncludeUnsupportedInRegion: aws.Bool(true)}
	out, err := r.ec2.DescribeInstanceTypes(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	got := map[types.InstanceType]bool{}
	for _, i := range out.InstanceTypes {
		got[i.InstanceType] = *i.SupportedInRegion
	}
	if diff := cmp.Diff(map[types.InstanceType]bool{"m5.large": false, "c5.large": true}, got); diff != "" {
		t.Errorf("types that are supported in the region (-want +got):\n%s", diff)
	}
	in.IncludeUnsupportedInRegion = nil
	_, err = r.ec2.DescribeInstanceTypes(t.Context(), in)
	wantError(t, err, "InvalidInstanceType", "[m5.large]")
}

func wholeCatalogue(t *testing.T) map[string]types.InstanceTypeInfo {
	t.Helper()
	r := newRig(t, withWorld(func(w *world.World) { w.InstanceTypes = world.Catalogue() }))
	described := map[string]types.InstanceTypeInfo{}
	pages := ec2.NewDescribeInstanceTypesPaginator(r.ec2, &ec2.DescribeInstanceTypesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.InstanceTypes {
			described[string(i.InstanceType)] = i
		}
	}
	return described
}

// readTable returns the members of each type by path, and the paths of the columns.
func readTable(t *testing.T) (recorded map[string]map[string]string, columns []string) {
	t.Helper()
	table, err := os.ReadFile("../../world/instancetypes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	// after the note that it is generated
	lines := strings.Split(strings.TrimSuffix(string(table), "\n"), "\n")[1:]
	header := strings.Split(lines[0], "\t")
	for _, column := range header {
		name, members, _ := strings.Cut(column, ":")
		for member := range strings.SplitSeq(members, "/") {
			columns = append(columns, strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "?"), "[]")+"."+member, "."))
		}
	}
	recorded = map[string]map[string]string{}
	for _, line := range lines[1:] {
		values := map[string]string{}
		for i, cell := range strings.Split(line, "\t") {
			addCell(t, values, header[i], cell)
		}
		recorded[values["InstanceType"]] = values
	}
	return recorded, columns
}

func addCell(t *testing.T, values map[string]string, column, cell string) {
	t.Helper()
	name, members, structured := strings.Cut(column, ":")
	name, boolean := strings.CutSuffix(name, "?")
	name, list := strings.CutSuffix(name, "[]")
	switch {
	case boolean:
		values[name] = strconv.FormatBool(cell == "y")
	case cell == "":
	case structured:
		for i, structure := range strings.Split(cell, ";") {
			at := name
			if list {
				at = fmt.Sprintf("%s[%d]", name, i)
			}
			for j, member := range strings.Split(structure, "/") {
				addCell(t, values, at+"."+strings.Split(members, "/")[j], member)
			}
		}
	case list || strings.HasSuffix(name, ".Workloads"):
		for i, word := range strings.Split(spelledOut(t, cell), ",") {
			values[fmt.Sprintf("%s[%d]", name, i)] = word
		}
	default:
		values[name] = cell
	}
}

// spelledOut writes 1-4,8-16+4 as 1,2,3,4,8,12,16.
func spelledOut(t *testing.T, list string) string {
	t.Helper()
	var words []string
	for word := range strings.SplitSeq(list, ",") {
		var first, last int
		distance := 1
		if n, _ := fmt.Sscanf(word, "%d-%d+%d", &first, &last, &distance); n < 2 {
			words = append(words, word)
			continue
		}
		for n := first; n <= last; n += distance {
			words = append(words, strconv.Itoa(n))
		}
	}
	return strings.Join(words, ",")
}

// valuesOf returns the members of an answer by path. Booleans and supported or unsupported are one,
// as in the table.
func valuesOf(t *testing.T, path string, value any) map[string]string {
	t.Helper()
	found := map[string]string{}
	add := func(name string, value any) {
		for path, text := range valuesOf(t, strings.TrimPrefix(path+name, "."), value) {
			found[path] = text
		}
	}
	switch v := value.(type) {
	case types.InstanceTypeInfo:
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		add("", members)
	case map[string]any:
		for name, member := range v {
			add("."+name, member)
		}
	case []any:
		for i, element := range v {
			add(fmt.Sprintf("[%d]", i), element)
		}
	case float64:
		found[path] = strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		found[path] = strconv.FormatBool(v)
	case string:
		if v != "" {
			found[path] = v
		}
	}
	return found
}

// onlyOf leaves out members that the table has no column for.
func onlyOf(columns []string, values map[string]string) map[string]string {
	support := map[string]string{"supported": "true", "unsupported": "false"}
	kept := map[string]string{}
	for path, value := range values {
		bare := path
		for strings.Contains(bare, "[") {
			start, end := strings.Index(bare, "["), strings.Index(bare, "]")
			bare = bare[:start] + bare[end+1:]
		}
		if !slices.Contains(columns, bare) {
			continue
		}
		if known, is := support[value]; is && bare != "EbsInfo.EbsOptimizedSupport" && !strings.HasSuffix(bare, "NvmeSupport") && !strings.HasSuffix(bare, "EnaSupport") &&
			bare != "InstanceStorageInfo.EncryptionSupport" {
			value = known
		}
		kept[path] = value
	}
	return kept
}

// TestInstanceTypesFromInstanceRequirements holds attributes to facts of AWS's instance types.
// Cluster Autoscaler sizes groups by this call.
func TestInstanceTypesFromInstanceRequirements(t *testing.T) {
	t.Parallel()
	r := newRig(t, withWorld(func(w *world.World) {
		w.InstanceTypes = world.Catalogue()
		w.Regions[0].NotOffered = []world.Absence{{InstanceType: "m5.large"}}
	}))
	type request = types.InstanceRequirementsRequest
	for _, row := range []struct {
		reason string
		change func(*request)
		want   []string
	}{
		{"two vCPUs and 8 GiB of the family m6i", func(q *request) { q.AllowedInstanceTypes = []string{"m6i.*"} }, []string{"m6i.large"}},
		{"a type that the Region does not offer", func(q *request) { q.AllowedInstanceTypes = []string{"m5.*"} }, nil},
		{"hibernation", func(q *request) {
			q.AllowedInstanceTypes, q.RequireHibernateSupport = []string{"m6i.large", "m5zn.large"}, aws.Bool(true)
		}, []string{"m6i.large"}},
		{"disks", func(q *request) {
			q.AllowedInstanceTypes, q.LocalStorage = []string{"m6i*.large"}, types.LocalStorageRequired
		}, []string{"m6id.large", "m6idn.large"}},
		{"bandwidth of the network", func(q *request) {
			q.AllowedInstanceTypes, q.NetworkBandwidthGbps = []string{"m6i*.large"}, &types.NetworkBandwidthGbpsRequest{Min: aws.Float64(3)}
		}, []string{"m6idn.large", "m6in.large"}},
		{"half of an L4", func(q *request) {
			q.VCpuCount, q.MemoryMiB, q.AcceleratorNames = &types.VCpuCountRangeRequest{Min: aws.Int32(16)}, &types.MemoryMiBRequest{Min: aws.Int32(1)}, []types.AcceleratorName{"l4"}
			q.AcceleratorTotalMemoryMiB = &types.AcceleratorTotalMemoryMiBRequest{Max: aws.Int32(11444)}
		}, []string{"g6f.4xlarge", "gr6f.4xlarge"}},
		{"FPGAs", func(q *request) {
			q.MemoryMiB, q.VCpuCount, q.AcceleratorTypes = &types.MemoryMiBRequest{Min: aws.Int32(1)}, &types.VCpuCountRangeRequest{Min: aws.Int32(1)}, []types.AcceleratorType{types.AcceleratorTypeFpga}
		}, []string{"f2.12xlarge", "f2.48xlarge", "f2.6xlarge"}},
		{"nothing", func(q *request) { q.VCpuCount.Min, q.VCpuCount.Max = aws.Int32(100000), nil }, nil},
	} {
		wanted := &request{
			VCpuCount: &types.VCpuCountRangeRequest{Min: aws.Int32(2), Max: aws.Int32(2)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(8192), Max: aws.Int32(8192)},
			OnDemandMaxPricePercentageOverLowestPrice: aws.Int32(1),
		}
		row.change(wanted)
		var got []string
		pages := ec2.NewGetInstanceTypesFromInstanceRequirementsPaginator(r.ec2, &ec2.GetInstanceTypesFromInstanceRequirementsInput{
			ArchitectureTypes: []types.ArchitectureType{types.ArchitectureTypeX8664}, VirtualizationTypes: []types.VirtualizationType{types.VirtualizationTypeHvm},
			InstanceRequirements: wanted, MaxResults: aws.Int32(1),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", row.reason, err)
			}
			for _, i := range page.InstanceTypes {
				got = append(got, *i.InstanceType)
			}
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

func TestInstanceRequirementsThatAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	type input = ec2.GetInstanceTypesFromInstanceRequirementsInput
	for _, row := range []struct {
		reason, code string
		change       func(*input)
	}{
		{"no architecture", "MissingParameter", func(in *input) { in.ArchitectureTypes = []types.ArchitectureType{} }},
		{"no virtualization", "MissingParameter", func(in *input) { in.VirtualizationTypes = []types.VirtualizationType{} }},
		{"a maximum below the minimum", "InvalidParameterValue", func(in *input) { in.InstanceRequirements.VCpuCount.Max = aws.Int32(1) }},
		{"an architecture that is none", "InvalidParameterValue", func(in *input) { in.ArchitectureTypes = []types.ArchitectureType{"sparc"} }},
		{"types that are allowed and excluded", "InvalidParameterCombination", func(in *input) {
			in.InstanceRequirements.AllowedInstanceTypes, in.InstanceRequirements.ExcludedInstanceTypes = []string{"m5.*"}, []string{"m5.large"}
		}},
		{"a dry run", "DryRunOperation", func(in *input) { in.DryRun = aws.Bool(true) }},
	} {
		in := &input{
			ArchitectureTypes: []types.ArchitectureType{types.ArchitectureTypeArm64}, VirtualizationTypes: []types.VirtualizationType{types.VirtualizationTypeHvm},
			InstanceRequirements: &types.InstanceRequirementsRequest{
				VCpuCount: &types.VCpuCountRangeRequest{Min: aws.Int32(2)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(1)},
			},
		}
		row.change(in)
		_, err := r.ec2.GetInstanceTypesFromInstanceRequirements(t.Context(), in)
		if got := code(t, err); got != row.code {
			t.Errorf("%s: got code %q, want %q (%v)", row.reason, got, row.code, err)
		}
	}
}

// TestRegionsOfTheDefaultWorld launches in another region than the tests', into its default VPC, by
// AWS's parameters.
func TestRegionsOfTheDefaultWorld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, image := range []string{
		"/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64", "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id",
		"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id",
	} {
		out, err := r.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "t3.micro", ImageId: aws.String("resolve:ssm:" + image),
		}, func(o *ec2.Options) { o.Region = "eu-west-1" })
		if err != nil {
			t.Errorf("%s: %v", image, err)
			continue
		}
		if zone := *out.Instances[0].Placement.AvailabilityZone; !strings.HasPrefix(zone, "eu-west-1") {
			t.Errorf("launched in %s", zone)
		}
	}
}
