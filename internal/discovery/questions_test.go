package discovery

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/cluster"
)

// TestNamesThatAreIDs holds that a launch template which has the ID of another as its name is never
// taken for the other, whichever is asked for first.
func TestNamesThatAreIDs(t *testing.T) {
	t.Parallel()
	for _, nameFirst := range []bool{false, true} {
		p := newPlace(t, nil)
		one := p.template(t, "one", "m5.large")
		other := p.template(t, one, "m5.large")
		ask := func(id, name, want string) {
			t.Helper()
			if got, err := p.LaunchTemplate(t.Context(), id, name); err != nil || got.ID != want {
				t.Errorf("with ID %q and name %q it is %s, want %s, error %v", id, name, got.ID, want, err)
			}
		}
		if nameFirst {
			ask("", one, other)
		}
		ask(one, "", one)
		ask("", one, other)
		ask(one, "one", one)
	}
}

// TestSuits holds which images could have been what a query led to at their time.
func TestSuits(t *testing.T) {
	t.Parallel()
	format := func(text string) cluster.ImageLookup { return cluster.ImageLookup{Format: text} }
	for _, row := range []struct {
		reason string
		query  ImageQuery
		image  Image
		want   bool
	}{
		{"another architecture", ImageQuery{KubernetesVersion: "v1.30.2", Architecture: "arm64", EKS: true}, Image{Name: "amazon-eks-node-1.30-v1", Architecture: "x86_64"}, false},
		{"any architecture", ImageQuery{KubernetesVersion: "v1.30.2", EKS: true}, Image{Name: "amazon-eks-node-1.30-v1", Architecture: "x86_64"}, true},
		{"EKS, another minor release", ImageQuery{KubernetesVersion: "v1.31.0", EKS: true}, Image{Name: "amazon-eks-node-1.30-v1"}, false},
		{"EKS, a release whose number begins the same", ImageQuery{KubernetesVersion: "1.3", EKS: true}, Image{Name: "amazon-eks-node-1.30-v1"}, false},
		{"EKS, a version without a minor release shows nothing", ImageQuery{KubernetesVersion: "v1", EKS: true}, Image{Name: "amazon-eks-node-1.30-v1"}, true},
		{"a family of EKS, in a cluster that looks images up by name", ImageQuery{KubernetesVersion: "v1.30.2", EKSLookupType: infrav1.EKSAMILookupTypeBottlerocket, Lookup: format("mine-*")}, Image{Name: "bottlerocket-aws-k8s-1.30-x86_64-v1"}, true},
		{"by the default name", ImageQuery{KubernetesVersion: "v1.30.2"}, Image{Name: "capa-ami-ubuntu-24.04-v1.30.2-1234"}, true},
		{"by the default name, another patch release", ImageQuery{KubernetesVersion: "v1.30.2"}, Image{Name: "capa-ami-ubuntu-24.04-v1.30.20-1234"}, false},
		{"by a name of the cluster's", ImageQuery{KubernetesVersion: "v1.30.2", EKS: true, Lookup: format("mine-{{.K8sVersion}}")}, Image{Name: "mine-1.30.2"}, true},
		{"by a name of the cluster's, and it has EKS's", ImageQuery{KubernetesVersion: "v1.30.2", EKS: true, Lookup: format("mine-{{.K8sVersion}}")}, Image{Name: "amazon-eks-node-1.30-v1"}, false},
		{"by a name that says nothing", ImageQuery{KubernetesVersion: "v1.30.2", Lookup: format("{{.Nonsense}}")}, Image{Name: "{{.Nonsense}}"}, false},
	} {
		if got := Suits(row.query, row.image); got != row.want {
			t.Errorf("%s: %v", row.reason, got)
		}
	}
}

// TestMatchesFilterIsEC2s holds that a pattern matches what the regular expression matches that it
// stands for.
func TestMatchesFilterIsEC2s(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(label, of string, most int) string {
			return string(rapid.SliceOfN(rapid.SampledFrom([]rune(of)), 0, most).Draw(t, label))
		}
		pattern, name := text("pattern", "aä.*?*", 6), text("name", "aä.", 4)
		expression := regexp.MustCompile("^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + "$")
		if got, want := matchesFilter(pattern, name), expression.MatchString(name); got != want {
			t.Fatalf("%q matches %q: %v, want %v", pattern, name, got, want)
		}
	})
}

// TestImageNamesAreBounded holds that no format of a tenant's becomes a name that is longer than
// EC2 takes, has braces, or repeats more than it says.
func TestImageNamesAreBounded(t *testing.T) {
	t.Parallel()
	parts := []string{"{{.BaseOS}}", "{{ .K8sVersion }}", "{{.Other}}", "{{", "}}", "{", "}", "a", "*", "?", "{{.BaseOS}", "{{{.BaseOS}}}", strings.Repeat("x", 100)}
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.SliceOfN(rapid.SampledFrom(parts), 0, 6).Draw(t, "parts")
		format := strings.Join(drawn, "")
		name, err := imageName(format, "ubuntu", "1.30.2")
		replaced := strings.NewReplacer("{{.BaseOS}}", "ubuntu", "{{ .K8sVersion }}", "1.30.2").Replace(format)
		legal := len(replaced) <= longestImageName && !strings.ContainsAny(replaced, "{}")
		switch {
		case err == nil && (name != replaced || !legal):
			t.Fatalf("%q becomes %q, want %q", format, name, replaced)
		case err != nil && legal:
			t.Fatalf("%q is refused: %v", format, err)
		}
	})
}

// TestQuotesAreShort holds that a message quotes only the beginning of a tenant's long text,
// whatever it contains, and that the quotation is valid UTF-8.
func TestQuotesAreShort(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "short", strings.Repeat("a", 100), strings.Repeat("a", 101), strings.Repeat("ä", 150), strings.Repeat("\xff", 1000), strings.Repeat("\x00", 1000), strings.Repeat("😀", 1_000_000)} {
		quoted := quotedShort(text)
		if part, err := strconv.Unquote(quoted); err != nil || utf8.RuneCountInString(part) > 101 || !utf8.ValidString(quoted) {
			t.Errorf("%d bytes are quoted as %.40s, error %v", len(text), quoted, err)
		}
		if whole := fmt.Sprintf("%q", text); (utf8.RuneCountInString(text) <= 100) != (quoted == whole) {
			t.Errorf("%d characters are quoted as %.40s", utf8.RuneCountInString(text), quoted)
		}
	}
}

// TestQuestionsAreKeptApart holds that two questions have one key only if they are equal, and that
// no key is long, although tenants write questions.
func TestQuestionsAreKeptApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", longestKey)
	questions := [][]infrav1.Filter{
		nil,
		{{Name: "tag:a", Values: []string{"b", "c"}}},
		{{Name: "tag:a", Values: []string{"b,c"}}},
		{{Name: "tag:a", Values: []string{"b"}}, {Name: "tag:a", Values: []string{"c"}}},
		{{Name: "tag:a=b", Values: []string{"c"}}},
		{{Name: `tag:a","values":["b"`, Values: []string{"c"}}},
		{{Name: "tag:a", Values: []string{long}}},
		{{Name: "tag:a", Values: []string{long + "x"}}},
		{{Name: "tag:a", Values: []string{"sha256:" + long}}},
	}
	seen := map[string]int{}
	for i, question := range questions {
		text := shortened(key(question))
		if other, known := seen[text]; known {
			t.Errorf("questions %d and %d have the key %s", other, i, text)
		}
		seen[text] = i
		if len(text) > longestKey {
			t.Errorf("the key of question %d has %d characters", i, len(text))
		}
		if again := shortened(key(question)); again != text {
			t.Errorf("question %d has the keys %s and %s", i, text, again)
		}
	}
}

// TestArchitectures holds which architecture an image for a type should have.
func TestArchitectures(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][][]string{
		"": {nil, {"i386"}, {"x86_64_mac"}, {"arm64_mac"}}, "x86_64": {{"x86_64"}, {"i386", "x86_64"}, {"x86_64", "arm64"}}, "arm64": {{"arm64"}, {"arm64_mac", "arm64"}},
	} {
		for _, architectures := range all {
			if got := (InstanceType{Architectures: architectures}).Architecture(); got != want {
				t.Errorf("of %q it is %q, want %q", architectures, got, want)
			}
		}
	}
}

// TestZonesOfClusters holds which of a cluster's subnets a pool's zones lead to, and which error a
// user gets for a zone without one.
func TestZonesOfClusters(t *testing.T) {
	t.Parallel()
	subnets := []cluster.Subnet{
		{ID: "public-a", AvailabilityZone: "a", Public: true}, {ID: "private-a", AvailabilityZone: "a"}, {ID: "private-b", AvailabilityZone: "b"}, {ID: "private-b", AvailabilityZone: "b"},
		{ID: "edge", AvailabilityZone: "a-edge", Edge: true},
	}
	for _, row := range []struct {
		reason, want, says string
		query              SubnetQuery
	}{
		{reason: "all of a zone", want: "public-a/a private-a/a", query: SubnetQuery{AvailabilityZones: []string{"a"}}},
		{reason: "each once", want: "private-b/b public-a/a private-a/a", query: SubnetQuery{AvailabilityZones: []string{"b", "a", "b"}}},
		{reason: "public ones", want: "public-a/a", query: SubnetQuery{AvailabilityZones: []string{"a"}, Type: infrav1.AZSubnetTypePublic}},
		{reason: "private ones", want: "private-a/a", query: SubnetQuery{AvailabilityZones: []string{"a"}, Type: infrav1.AZSubnetTypePrivate}},
		{reason: "all", want: "public-a/a private-a/a", query: SubnetQuery{AvailabilityZones: []string{"a"}, Type: infrav1.AZSubnetTypeAll}},
		{reason: "failure domains where there are no zones", want: "private-b/b", query: SubnetQuery{FailureDomains: []string{"b"}}},
		{reason: "zones before failure domains", want: "private-b/b", query: SubnetQuery{AvailabilityZones: []string{"b"}, FailureDomains: []string{"a"}}},
		{reason: "private ones where there are neither", want: "private-a/a private-b/b"},
		{reason: "an edge zone that is named", want: "edge/a-edge", query: SubnetQuery{AvailabilityZones: []string{"a-edge"}}},
		{reason: "one of the zones has none", says: "availability zone c: the cluster has no subnet there", query: SubnetQuery{AvailabilityZones: []string{"a", "c"}}},
		{reason: "none of that kind", says: "availability zone b: the cluster has no public subnet there", query: SubnetQuery{AvailabilityZones: []string{"b"}, Type: infrav1.AZSubnetTypePublic}},
	} {
		row.query.ClusterSubnets = subnets
		found, err := (&Discovery{}).SubnetIDs(t.Context(), row.query)
		var got []string
		for _, subnet := range found {
			got = append(got, subnet.ID+"/"+subnet.Zone)
		}
		if strings.Join(got, " ") != row.want || row.says != "" && !notFound(err, row.says) || row.says == "" && err != nil {
			t.Errorf("%s: %q, error %v", row.reason, got, err)
		}
	}
	if _, err := (&Discovery{}).SubnetIDs(t.Context(), SubnetQuery{ClusterSubnets: subnets[:1]}); !notFound(err, "the cluster: set subnets in spec.subnets of the pool") {
		t.Errorf("without private subnets: %v", err)
	}
}

// TestFailuresOfRegions holds that a failure of any page fails the whole description, so that no
// part of a region is taken for all of it, and that the error names what was asked.
func TestFailuresOfRegions(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	for action, ask := range map[string]func(context.Context) error{
		"DescribeInstanceTypes":         func(ctx context.Context) error { _, err := p.InstanceTypes(ctx); return err },
		"DescribeInstanceTypeOfferings": func(ctx context.Context) error { _, err := p.TypeOfferings(ctx); return err },
		"DescribeSpotPriceHistory":      func(ctx context.Context) error { _, err := p.SpotPrices(ctx); return err },
		"DescribeSubnets":               func(ctx context.Context) error { _, err := p.SubnetsByID(ctx, []string{public1a}); return err },
		"DescribeSecurityGroups": func(ctx context.Context) error {
			_, err := p.MissingSecurityGroups(ctx, []string{groupA})
			return err
		},
		"DescribeCapacityReservations": func(ctx context.Context) error {
			_, err := p.CapacityReservation(ctx, "cr-00000000000000000")
			return err
		},
		"DescribeImages": func(ctx context.Context) error { _, err := p.ImageByID(ctx, "ami-00000000000000000"); return err },
		"DescribeLaunchTemplates": func(ctx context.Context) error {
			_, err := p.LaunchTemplate(ctx, "lt-00000000000000000", "")
			return err
		},
	} {
		fault, err := p.sim.AddFault(awssim.Fault{Service: "ec2", Action: action, Code: "UnauthorizedOperation", Message: "not now", Status: 403})
		if err != nil {
			t.Fatal(err)
		}
		err = ask(t.Context())
		var none *NotFoundError
		if err == nil || errors.As(err, &none) || !strings.Contains(err.Error(), "not now") || !strings.HasPrefix(err.Error(), "describing ") {
			t.Errorf("%s: the error is %v", action, err)
		}
		p.sim.RemoveFault(fault)
		if err := ask(t.Context()); err != nil && !errors.As(err, &none) {
			t.Errorf("%s fails afterwards: %v", action, err)
		}
	}
}

// TestImpatientCallers holds that a caller that gives up gets its context's error, and that the
// answer to its question is kept for the next one all the same.
func TestImpatientCallers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	asking, answer := make(chan struct{}), make(chan struct{})
	kept := newCache[string](p.clock, subnetsTTL)
	impatient, giveUp := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := kept.get(impatient, "question", func(ctx context.Context) (string, error) {
			close(asking)
			<-answer
			return "answer", ctx.Err()
		})
		failed <- err
	}()
	<-asking
	giveUp()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up got %v", err)
	}
	close(answer)
	got, err := kept.get(t.Context(), "question", func(context.Context) (string, error) { return "", errors.New("asked again") })
	if diff := cmp.Diff("answer", got); diff != "" || err != nil {
		t.Errorf("the next one got an error %v (-want +got):\n%s", err, diff)
	}
}
