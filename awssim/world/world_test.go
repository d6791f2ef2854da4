package world

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDefaultWorldHasWhatItPromises(t *testing.T) {
	t.Parallel()
	w := Default()
	r := w.Region("us-east-1")
	if r == nil || len(r.Zones) != 3 {
		t.Fatalf("us-east-1 must have three zones, is %+v", r)
	}
	if n := len(w.InstanceTypes); n < 60 {
		t.Errorf("got %d instance types, want about 60 or more", n)
	}
	for _, it := range w.InstanceTypes {
		if it.OnDemandUSD <= 0 || it.SpotPrice() <= 0 || it.SpotPrice() >= it.OnDemandUSD {
			t.Errorf("%s: prices %v on demand and %v spot are not credible", it.Name, it.OnDemandUSD, it.SpotPrice())
		}
		if it.Cores*it.ThreadsPerCore != it.VCPUs {
			t.Errorf("%s: %d cores of %d threads are not %d vCPUs", it.Name, it.Cores, it.ThreadsPerCore, it.VCPUs)
		}
	}
	names := map[string]bool{}
	byID := map[string]Image{}
	for _, i := range r.Images {
		if names[i.OwnerID+"/"+i.Name] {
			t.Errorf("image name %s is there twice for one owner", i.Name)
		}
		names[i.OwnerID+"/"+i.Name] = true
		byID[i.ID] = i
	}
	for _, p := range r.Parameters {
		if i, ok := byID[p.Value]; strings.HasSuffix(p.Name, "/image_id") && !ok {
			t.Errorf("parameter %s names no image", p.Name)
		} else if ok && strings.Contains(p.Name, "arm64") != (i.Architecture == "arm64") {
			t.Errorf("parameter %s names an image for %s", p.Name, i.Architecture)
		}
	}
}

func TestDefaultWorldImages(t *testing.T) {
	t.Parallel()
	r := Default().Region("us-east-1")
	rows := []struct {
		reason    string
		prefix    string
		arch      string
		parameter string
		want      int
	}{
		{reason: "seed 003 uses v1.25.0", prefix: "capa-ami-ubuntu-24.04-v1.25.0-", arch: "x86_64", want: 1},
		{reason: "seed 003 uses v1.22.0", prefix: "capa-ami-ubuntu-24.04-v1.22.0-", arch: "arm64", want: 1},
		{reason: "patches have images of their own", prefix: "capa-ami-ubuntu-24.04-v1.36.3-", arch: "x86_64", want: 1},
		{reason: "EKS has one image per minor", prefix: "amazon-eks-node-al2023-x86_64-standard-1.36-", arch: "x86_64", want: 1},
		{reason: "Amazon Linux 2 ends with 1.32", prefix: "amazon-eks-node-1.33-", arch: "x86_64", want: 0},
		{reason: "Amazon Linux 2 includes 1.32", prefix: "amazon-eks-node-1.32-", arch: "x86_64", want: 1},
		{reason: "Amazon Linux 2023 begins with 1.23", prefix: "amazon-eks-node-al2023-x86_64-standard-1.22-", arch: "x86_64", want: 0},
		{reason: "CAPA's parameter for AL2", parameter: "/aws/service/eks/optimized-ami/1.22/amazon-linux-2/recommended/image_id", want: 1},
		{reason: "CAPA's parameter for AL2023", parameter: "/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/arm64/standard/recommended/image_id", want: 1},
		{reason: "CAPA's parameter for GPUs", parameter: "/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/x86_64/nvidia/recommended/image_id", want: 1},
		{reason: "releases of EKS's images", parameter: "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/release_version", want: 1},
		{reason: "Bottlerocket's releases", parameter: "/aws/service/bottlerocket/aws-k8s-1.34-nvidia-fips/arm64/latest/image_version", want: 1},
		{reason: "Windows", prefix: "Windows_Server-2022-English-Core-EKS_Optimized-1.34-", arch: "x86_64", want: 1},
		{reason: "Windows by its parameter", parameter: "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.34/image_id", want: 1},
		{reason: "Bottlerocket's parameter", parameter: "/aws/service/bottlerocket/aws-k8s-1.30/arm64/latest/image_id", want: 1},
	}
	for _, row := range rows {
		got := 0
		for _, i := range r.Images {
			if row.prefix != "" && strings.HasPrefix(i.Name, row.prefix) && i.Architecture == row.arch {
				got++
			}
		}
		for _, p := range r.Parameters {
			if p.Name == row.parameter {
				got++
			}
		}
		if got != row.want {
			t.Errorf("%s: %s%s is there %d times, want %d", row.reason, row.prefix, row.parameter, got, row.want)
		}
	}
}

func TestParseIsReproducible(t *testing.T) {
	t.Parallel()
	a, err := Parse([]byte("extends: default"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), a, cmpopts.IgnoreUnexported(Region{}), cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Name" }, cmp.Ignore())); diff != "" {
		t.Errorf("a world that extends the default by nothing differs from it:\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	rows := []struct{ reason, yaml, want string }{
		{"a misspelt field", "extends: default\nregion: []", `unknown field "region"`},
		{"two catalogues", "extends: default\nwholeCatalogue: true\ninstanceTypes: []\n", "only one of them may be there"},
		{"a type that the catalogue lacks", "extends: default\ncatalogueTypes: [m1.huge]", `no instance type "m1.huge"`},
		{"nothing at all", "name: x", "regions: there is none"},
		{"an unknown base", "extends: other", `"other" is no world`},
		{"a subnet without its VPC", "extends: default\nregions:\n- name: x\n  zones: [{name: xa, id: x1}]\n  subnets: [{id: s, vpc: v, zone: xa, cidr: 10.0.0.0/24}]", `regions[x].subnets[s].vpc: there is no VPC "v"`},
		{"a subnet without its zone", "extends: default\nregions:\n- name: x\n  zones: [{name: xa, id: x1}]\n  vpcs: [{id: v, cidr: 10.0.0.0/16}]\n  subnets: [{id: s, vpc: v, zone: xb, cidr: 10.0.0.0/24}]", `there is no zone "xb"`},
		{"a malformed network", "extends: default\nregions:\n- name: x\n  zones: [{name: xa, id: x1}]\n  vpcs: [{id: v, cidr: 10.0.0.0}]", "regions[x].vpcs[v].cidr"},
		{"a duplicate", "extends: default\nregions:\n- name: x\n  zones: [{name: xa, id: x1}, {name: xa, id: x2}]", `"xa" is there twice`},
		{"a profile without its role", "extends: default\ninstanceProfiles: [{name: p, role: none}]", `there is no role "none"`},
		{"a type that is not there", "extends: default\nregions:\n- name: x\n  zones: [{name: xa, id: x1}]\n  notOffered: [{instanceType: m1.huge}]", `there is no instance type "m1.huge"`},
		{"a release that is no version", "extends: default\nkubernetesReleases: [{version: new, date: 2026-01-01T00:00:00Z}]", `"new" is not a Kubernetes version`},
		{"an impossible instance type", "extends: default\ninstanceTypes: [{name: a.b, architectures: [sparc]}]", `"sparc" is none of`},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "world.yaml")
			if err := os.WriteFile(path, []byte(row.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(path)
			if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got error %v, want one that names the file and says %q", err, row.want)
			}
		})
	}
}

func TestOffers(t *testing.T) {
	t.Parallel()
	r := Region{NotOffered: []Absence{{InstanceType: "a.x", Zones: []string{"z1"}}, {InstanceType: "b.x"}}}
	for _, row := range []struct {
		instanceType, zone string
		want               bool
	}{{"a.x", "z1", false}, {"a.x", "z2", true}, {"b.x", "z2", false}, {"c.x", "z1", true}} {
		if got := r.Offers(row.instanceType, row.zone); got != row.want {
			t.Errorf("Offers(%s, %s) = %v, want %v", row.instanceType, row.zone, got, row.want)
		}
	}
}

// TestRegionsThatAWSOpensByDefault holds what each region of a new account has.
func TestRegionsThatAWSOpensByDefault(t *testing.T) {
	t.Parallel()
	w := Default()
	if got := len(w.Regions); got != 17 || w.Regions[0].Name != "us-east-1" {
		t.Errorf("%d regions, the first %s, want 17, of which us-east-1 is the first", got, w.Regions[0].Name)
	}
	for i := range w.Regions {
		r := w.Regions[i].Complete()
		if len(r.Zones) < 2 || len(r.VPCs) != 1 || !r.VPCs[0].Default {
			t.Errorf("%s: zones %v, VPCs %v", r.Name, r.Zones, r.VPCs)
		}
		for _, zone := range r.Zones {
			if !strings.HasPrefix(zone.Name, r.Name) || !slices.ContainsFunc(r.Subnets, func(s Subnet) bool { return s.Zone == zone.Name && s.DefaultForZone && s.MapPublicIPOnLaunch }) {
				t.Errorf("%s: zone %s has no default subnet", r.Name, zone.Name)
			}
		}
		if !slices.ContainsFunc(r.SecurityGroups, func(g SecurityGroup) bool { return g.Name == "default" && g.VPC == r.VPCs[0].ID }) {
			t.Errorf("%s: the default VPC has no default security group", r.Name)
		}
		images := map[string]string{}
		for _, image := range r.Images {
			images[image.ID] = image.Name
		}
		if len(images) != len(r.Images) || len(images) < 100 {
			t.Errorf("%s: %d ids of %d images", r.Name, len(images), len(r.Images))
		}
		for parameter, image := range map[string]string{
			"/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64":                      "al2023-ami-2023.",
			"/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-arm64-gp2":                               "amzn2-ami-",
			"/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64/hvm/ebs-gp3/ami-id":         "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-arm64-server-",
			"/aws/service/canonical/ubuntu/server/jammy/stable/current/amd64/hvm/ebs-gp2/ami-id":         "ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-",
			"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id": "amazon-eks-node-al2023-x86_64-standard-1.34-",
			"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/standard/recommended/image_id":  "amazon-eks-node-al2023-arm64-standard-1.36-",
			"/aws/service/bottlerocket/aws-k8s-1.34/x86_64/latest/image_id":                              "bottlerocket-aws-k8s-1.34-x86_64-",
		} {
			n := slices.IndexFunc(r.Parameters, func(p Parameter) bool { return p.Name == parameter })
			if n < 0 || !strings.HasPrefix(images[r.Parameters[n].Value], image) {
				t.Errorf("%s: parameter %s does not name an image %s…", r.Name, parameter, image)
			}
		}
	}
	if a, b := w.Region("eu-west-1").Complete(), w.Region("us-west-2").Complete(); a.Images[0].ID == b.Images[0].ID || a.VPCs[0].ID == b.VPCs[0].ID || a.Subnets[0].ID == b.Subnets[0].ID {
		t.Error("two regions share an identifier")
	}
}
