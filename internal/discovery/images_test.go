package discovery

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/cluster"
)

const ownOrg = "111122223333"

// ownImages are images that differ in the properties that a lookup distinguishes.
func ownImages(r *world.Region) {
	image := func(id, name, architecture string, day int, change func(*world.Image)) {
		i := world.Image{
			ID: id, Name: name, OwnerID: ownOrg, Architecture: architecture, CreationDate: time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC),
			RootDeviceName: "/dev/xvda", VirtualizationType: "hvm",
			BlockDevices: []world.BlockDevice{
				{DeviceName: "/dev/xvdb", SnapshotID: "snap-0a000000000000002", SizeGiB: 100, VolumeType: "gp3"},
				{DeviceName: "/dev/xvda", SnapshotID: "snap-0a000000000000001", SizeGiB: 12, VolumeType: "gp3", Encrypted: true},
			},
		}
		if change != nil {
			change(&i)
		}
		r.Images = append(r.Images, i)
	}
	image("ami-0a000000000000001", "own-flatcar-1.30.0-a", "x86_64", 1, nil)
	image("ami-0a000000000000002", "own-flatcar-1.30.0-b", "x86_64", 3, nil)
	image("ami-0a000000000000003", "own-flatcar-1.30.0-c", "x86_64", 2, nil)
	image("ami-0a000000000000004", "own-flatcar-1.30.0-d", "x86_64", 9, func(i *world.Image) { i.State = "pending" })
	image("ami-0a000000000000005", "own-flatcar-1.30.0-e", "x86_64", 9, func(i *world.Image) { i.OwnerID = "999999999999" })
	image("ami-0a000000000000006", "own-flatcar-1.30.0-f", "arm64", 1, nil)
	image("ami-0a000000000000007", "own-flatcar-1.30.0-g", "arm64", 1, nil)
	image("ami-0a000000000000008", "own-ubuntu-24.04-1.31.0", "x86_64", 1, nil)
	r.Parameters = append(r.Parameters,
		world.Parameter{Name: "/own/image", Value: "ami-0a000000000000001"},
		world.Parameter{Name: "/own/text", Value: "hello"},
		world.Parameter{Name: "/own/gone", Value: "ami-0a00000000000ffff"},
	)
}

func TestImageByName(t *testing.T) {
	t.Parallel()
	p := newPlace(t, ownImages)
	own := cluster.ImageLookup{Format: "own-{{.BaseOS}}-{{.K8sVersion}}-*", Org: ownOrg, BaseOS: "flatcar"}
	cases := []struct {
		name, reason string
		query        ImageQuery
		want         string
	}{
		{name: "newest", reason: "Of the available ones of that owner and architecture.", query: ImageQuery{KubernetesVersion: "v1.30.0", Architecture: "x86_64", Lookup: own}, want: "ami-0a000000000000002"},
		{name: "no v", reason: "Versions are written either way.", query: ImageQuery{KubernetesVersion: "1.30.0", Architecture: "x86_64", Lookup: own}, want: "ami-0a000000000000002"},
		{name: "made at once", reason: "The choice is always the same.", query: ImageQuery{KubernetesVersion: "v1.30.0", Architecture: "arm64", Lookup: own}, want: "ami-0a000000000000007"},
		{name: "default operating system", reason: "CAPA's is ubuntu-24.04.", query: ImageQuery{KubernetesVersion: "v1.31.0", Architecture: "x86_64", Lookup: cluster.ImageLookup{Format: "own-{{.BaseOS}}-{{.K8sVersion}}", Org: ownOrg}}, want: "ami-0a000000000000008"},
		{name: "EKS with a lookup", reason: "Who names images wants those.", query: ImageQuery{KubernetesVersion: "v1.30.0", Architecture: "x86_64", Lookup: own, EKS: true}, want: "ami-0a000000000000002"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := p.Image(t.Context(), tc.query)
			if err != nil {
				t.Fatal(err)
			}
			if got.ID != tc.want {
				t.Errorf("%s got %s from %s, want %s", tc.reason, got.ID, got.CreationDate, tc.want)
			}
		})
	}
}

func TestImageByCAPAsDefaults(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	for _, version := range []string{"v1.22.0", "v1.25.0", "v1.36.3"} {
		for _, architecture := range []string{"x86_64", "arm64"} {
			got, err := p.Image(t.Context(), ImageQuery{KubernetesVersion: version, Architecture: architecture})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got.Name, "capa-ami-ubuntu-24.04-"+version+"-") || got.Architecture != architecture || got.OwnerID != "819546954734" || got.RootDeviceName != "/dev/sda1" {
				t.Errorf("%s on %s: %+v", version, architecture, got)
			}
		}
	}
}

func TestImageOfEKS(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	cases := []struct {
		name, reason, version, architecture string
		kind                                infrav1.EKSAMILookupType
		want                                string
		err                                 error
	}{
		{name: "default, old", reason: "CAPA's choice, where it exists.", version: "v1.30.2", architecture: "x86_64", want: "amazon-eks-node-1.30-"},
		{name: "default, old, arm", reason: "The same.", version: "1.32", architecture: "arm64", want: "amazon-eks-arm64-node-1.32-"},
		{name: "default, new", reason: "There is no Amazon Linux 2 from 1.33 on.", version: "v1.33.1", architecture: "x86_64", want: "amazon-eks-node-al2023-x86_64-standard-1.33-"},
		{name: "default, new, arm", reason: "The same.", version: "v1.35.0", architecture: "arm64", want: "amazon-eks-node-al2023-arm64-standard-1.35-"},
		{name: "Amazon Linux 2023", reason: "As asked for.", version: "v1.30.0", architecture: "arm64", kind: infrav1.EKSAMILookupTypeAmazonLinux2023, want: "amazon-eks-node-al2023-arm64-standard-1.30-"},
		{name: "GPU", reason: "As asked for.", version: "v1.30.0", architecture: "x86_64", kind: infrav1.EKSAMILookupTypeAmazonLinuxGPU, want: "amazon-eks-gpu-node-1.30-"},
		{name: "GPU 2023", reason: "As asked for.", version: "v1.34.0", architecture: "x86_64", kind: infrav1.EKSAMILookupTypeAmazonLinux2023GPU, want: "amazon-eks-node-al2023-x86_64-nvidia-1.34-"},
		{name: "GPU 2023 on arm", reason: "CAPA would launch an x86_64 image on it.", version: "v1.34.0", architecture: "arm64", kind: infrav1.EKSAMILookupTypeAmazonLinux2023GPU, want: "amazon-eks-node-al2023-arm64-nvidia-1.34-"},
		{
			name: "Amazon Linux 2 no more", reason: "The message says what to do.", version: "v1.33.0", architecture: "x86_64", kind: infrav1.EKSAMILookupTypeAmazonLinux,
			err: &NotFoundError{
				Kind: "EKS optimized image", What: "eksLookupType AmazonLinux, Kubernetes 1.33",
				Advice: "Amazon Linux 2 supports Kubernetes only up to 1.32. Use AmazonLinux2023 or " +
					"AmazonLinux2023GPU",
			},
		},
		{
			name: "GPU on arm", reason: "There never was one.", version: "v1.30.0", architecture: "arm64", kind: infrav1.EKSAMILookupTypeAmazonLinuxGPU,
			err: &NotFoundError{Kind: "EKS optimized image", What: "eksLookupType AmazonLinuxGPU, architecture arm64"},
		},
		{
			name: "version EKS has not", reason: "AWS does not say more than that.", version: "v1.99.0", architecture: "x86_64",
			err: &NotFoundError{
				Kind: "Systems Manager parameter", What: "/aws/service/eks/optimized-ami/1.99/amazon-linux-2023/x86_64/standard/recommended/image_id",
				Advice: "EKS has no such image for this Kubernetes version in this region",
			},
		},
		{name: "no version", reason: "Said before AWS is asked.", version: "latest", architecture: "x86_64", err: &InvalidQueryError{Message: `Kubernetes version "latest" is not of the form v1.30.0`}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := p.Image(t.Context(), ImageQuery{KubernetesVersion: tc.version, Architecture: tc.architecture, EKS: true, EKSLookupType: tc.kind})
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Fatalf("%s error (-want +got):\n%s", tc.reason, diff)
			}
			if err == nil && (!strings.HasPrefix(got.Name, tc.want) || got.Architecture != tc.architecture) {
				t.Errorf("%s got %s (%s), want %s", tc.reason, got.Name, got.Architecture, tc.want)
			}
		})
	}
}

// TestImageOfEKSWins holds that a family that the pool names has an effect in every cluster.
func TestImageOfEKSWins(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	for _, row := range []struct {
		reason string
		change func(*ImageQuery)
	}{
		{"an EKS cluster that looks images up by name", func(q *ImageQuery) {
			q.EKS, q.Lookup = true, cluster.ImageLookup{Format: "own-{{.K8sVersion}}", Org: "111122223333", BaseOS: "flatcar"}
		}},
		{"a cluster that is not of EKS", func(*ImageQuery) {}},
	} {
		query := ImageQuery{KubernetesVersion: "v1.34.0", Architecture: "arm64", EKSLookupType: infrav1.EKSAMILookupTypeAmazonLinux2023}
		row.change(&query)
		got, err := p.Image(t.Context(), query)
		if err != nil || !strings.HasPrefix(got.Name, "amazon-eks-node-al2023-arm64-standard-1.34-") {
			t.Errorf("%s: the image is %s: %v", row.reason, got.Name, err)
		}
		if !Suits(query, got) || Suits(query, Image{Name: "own-1.34.0", Architecture: "arm64"}) {
			t.Errorf("%s: the image that was looked up does not suit, or another does", row.reason)
		}
	}
}

func TestImageByID(t *testing.T) {
	t.Parallel()
	p := newPlace(t, ownImages)
	want := Image{
		ID: "ami-0a000000000000001", Name: "own-flatcar-1.30.0-a", Architecture: "x86_64", RootDeviceName: "/dev/xvda", RootSnapshotSizeGiB: 12,
		RootEncrypted: true, EBSBacked: true, OwnerID: ownOrg, CreationDate: "2026-03-01T00:00:00.000Z", State: "available",
		VolumeSizesGiB: map[string]int32{"/dev/xvda": 12, "/dev/xvdb": 100},
	}
	const advice = "it does not exist in this region, or is not shared with this account"
	cases := []struct {
		name, reason, id string
		err              error
	}{
		{name: "id", reason: "All that templates need of it; of two volumes the root counts.", id: "ami-0a000000000000001"},
		{name: "parameter", reason: "The id that it holds.", id: "resolve:ssm:/own/image"},
		{name: "unknown", reason: "A typo, or an image of another region.", id: "ami-0a00000000000ffff", err: &NotFoundError{Kind: "image", What: "ami-0a00000000000ffff", Advice: advice}},
		{name: "parameter of an unknown image", reason: "The image is what is missing.", id: "resolve:ssm:/own/gone", err: &NotFoundError{Kind: "image", What: "ami-0a00000000000ffff", Advice: advice}},
		{name: "unknown parameter", reason: "The parameter is what is missing.", id: "resolve:ssm:/own/typo", err: &NotFoundError{Kind: "Systems Manager parameter", What: "/own/typo", Advice: "the parameter does not exist in this " +
			"region"}},
		{name: "parameter of something else", reason: "It would be refused at the first launch.", id: "resolve:ssm:/own/text", err: &InvalidQueryError{Message: "Systems Manager parameter /own/text " +
			"does not contain an image ID"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := p.ImageByID(t.Context(), tc.id)
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Fatalf("%s error (-want +got):\n%s", tc.reason, diff)
			}
			if err != nil {
				if fate := aws.FateOf(err); fate.Kind != aws.WaitForUser {
					t.Errorf("%s fate %v", tc.reason, fate)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestImageQueriesAtFault(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	cases := []struct {
		name, reason string
		query        ImageQuery
		parts        []string
	}{
		{name: "no version", reason: "The message names both ways out.", query: ImageQuery{Architecture: "x86_64"}, parts: []string{"spec.template.spec.version", "ami.id"}},
		{name: "broken format", reason: "The message shows the format and what may be in it.", query: ImageQuery{KubernetesVersion: "v1.30.0", Architecture: "x86_64", Lookup: cluster.ImageLookup{Format: "{{.K8sVersion"}}, parts: []string{"{{.K8sVersion", "{{.BaseOS}}"}},
		{name: "a loop", reason: "A template that is executed would take all memory at every start.", query: ImageQuery{KubernetesVersion: "v1.30.0", Architecture: "x86_64", Lookup: cluster.ImageLookup{Format: "{{range 2000000000}}aaaa{{end}}"}}, parts: []string{"an unsupported expression"}},
		{name: "fields without end", reason: "A cluster's pattern and base OS have no bound of their own.", query: ImageQuery{KubernetesVersion: "v1.30.0", Architecture: "x86_64", Lookup: cluster.ImageLookup{Format: strings.Repeat("{{.BaseOS}}", 1<<16), BaseOS: strings.Repeat("x", 1<<20)}}, parts: []string{"longer than 255 characters", "…"}},
		{name: "an owner without end", reason: "It would be in every message.", query: ImageQuery{KubernetesVersion: "v1.30.0", Architecture: "x86_64", Lookup: cluster.ImageLookup{Org: strings.Repeat("1", 1<<20)}}, parts: []string{"imageLookupOrg", "…"}},
		{name: "a brace", reason: "No image has one in its name.", query: ImageQuery{KubernetesVersion: "v1.30.0", Architecture: "x86_64", Lookup: cluster.ImageLookup{Format: "golden}-*"}}, parts: []string{"braces do not match"}},
		{name: "unknown field", reason: "The same.", query: ImageQuery{KubernetesVersion: "v1.30.0", Architecture: "x86_64", Lookup: cluster.ImageLookup{Format: "{{.Version}}"}}, parts: []string{"{{.Version}}", "{{.K8sVersion}}"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := p.Image(t.Context(), tc.query)
			var invalid *InvalidQueryError
			if !errors.As(err, &invalid) {
				t.Fatalf("%s got %v", tc.reason, err)
			}
			for _, part := range tc.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s %q lacks %q", tc.reason, err, part)
				}
			}
		})
	}
	t.Run("nothing found", func(t *testing.T) {
		t.Parallel()
		_, err := p.Image(t.Context(), ImageQuery{KubernetesVersion: "v1.99.0", Architecture: "arm64"})
		var missing *NotFoundError
		if !errors.As(err, &missing) || missing.What != `name "capa-ami-ubuntu-24.04-?1.99.0-*", architecture arm64, owner 819546954734` {
			t.Errorf("got %v", err)
		}
	})
}

func TestLookupsAreShared(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	for range 5 {
		if _, err := p.Image(t.Context(), ImageQuery{KubernetesVersion: "v1.30.0", Architecture: "x86_64"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.asked("DescribeImages"); n != 1 {
		t.Errorf("%d calls: what was found need not be described again", n)
	}
}

func TestImageName(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, format, want string }{
		{"CAPA's default", defaultImageFormat, "capa-ami-flatcar-?1.30.2-*"},
		{"white space as a Go template takes it", "{{ .BaseOS }}-{{\t.K8sVersion\n}}", "flatcar-1.30.2"},
		{"no field", "golden-*", "golden-*"},
		{"a field twice", "{{.BaseOS}}{{.BaseOS}}", "flatcarflatcar"},
	} {
		if got, err := imageName(row.format, "flatcar", "1.30.2"); err != nil || got != row.want {
			t.Errorf("%s: name %q, error %v, want %q", row.reason, got, err, row.want)
		}
	}
	for _, format := range []string{"{{.K8sVersion", "{{}}", "{{ . }}", "{{.BaseOS | printf}}", "{{- .BaseOS -}}", "{{{.BaseOS}}}", "}}", "{", "{{/* */}}", "{{with .}}{{end}}"} {
		if got, err := imageName(format, "flatcar", "1.30.2"); err == nil {
			t.Errorf("format %q became %q", format, got)
		}
	}
}

func TestMatchesFilter(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, pattern, name string
		want                  bool
	}{
		{"the same", "abc", "abc", true},
		{"a part is not all", "ab", "abc", false},
		{"more than all", "abcd", "abc", false},
		{"any characters", "a*c", "abbbc", true},
		{"none", "a*c", "ac", true},
		{"one character", "a?c", "abc", true},
		{"not none", "a?c", "ac", false},
		{"the last star gives way", "*-1.30*-x", "a-1.30-1.30.2-x", true},
		{"stars at the end", "a**", "a", true},
		{"characters of a regular expression", "a.(b", "a.(b", true},
		{"stand for themselves", "a.c", "abc", false},
		{"hostile patterns end soon", strings.Repeat("*a", 120) + "b", strings.Repeat("a", 128), false},
	} {
		if got := matchesFilter(row.pattern, row.name); got != row.want {
			t.Errorf("%s: %q matches %q: %t, want %t", row.reason, row.pattern, row.name, got, row.want)
		}
	}
}
