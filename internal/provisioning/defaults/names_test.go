package defaults

import (
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// TestNames holds that names are what EC2 takes, and that two provisioners never share all of
// theirs, although plain names may meet.
func TestNames(t *testing.T) {
	t.Parallel()
	of := func(cluster, name string) *provisioningv1.Provisioner {
		made := provisioner("1")
		made.Name, made.Spec.Cluster.Name = name, cluster
		return made
	}
	long := strings.Repeat("a", 100)
	seen := map[string]string{}
	for _, row := range []struct {
		reason, cluster, name, uid string
		plain                      bool
	}{
		{"short", "prod", "default", "1", true},
		{"the plain name is another's", "prod-default", "x", "1", true},
		{"as this one", "prod", "default-x", "1", true},
		{"another cluster of the name", "prod", "default", "2", true},
		{"exactly as long as EC2 takes", strings.Repeat("a", 100), strings.Repeat("b", longestName-len("provisioner---amd64")-100), "1", true},
		{"one longer", strings.Repeat("a", 100), strings.Repeat("b", longestName-len("provisioner---amd64")-99), "1", false},
		{"very long", long, long, "1", false},
		{"very long, and it differs at the end", long, long + "b", "1", false},
	} {
		got := names(of(row.cluster, row.name), "amd64", row.uid)
		if plain := got[0] == "provisioner-"+row.cluster+"-"+row.name+"-amd64"; plain != row.plain || len(got) != 2+map[bool]int{true: 1}[plain] {
			t.Errorf("%s: the names are %q", row.reason, got)
		}
		for _, name := range got {
			if len(name) > longestName || len(name) < 3 {
				t.Errorf("%s: %s has %d characters", row.reason, name, len(name))
			}
		}
		own := got[len(got)-2]
		if other := seen[own]; other != "" {
			t.Errorf("%s has the name %s of: %s", row.reason, own, other)
		}
		seen[own] = row.reason
	}
}

// TestReferences holds which security groups and subnets nodes have where the spec names none:
// everything with the tag of the cluster.
func TestReferences(t *testing.T) {
	t.Parallel()
	of := []infrav1.AWSResourceReference{{Filters: []infrav1.Filter{{Name: "tag-key", Values: []string{"kubernetes.io/cluster/prod"}}}}}
	named := []infrav1.AWSResourceReference{{ID: awssdk.String("subnet-1")}}
	subject := provisioner("1")
	if diff := cmp.Diff(of, Subnets(subject)); diff != "" {
		t.Errorf("subnets of a spec without any (-want +got):\n%s", diff)
	}
	subject.Spec.Subnets = named
	if diff := cmp.Diff(named, Subnets(subject)); diff != "" {
		t.Errorf("subnets of the spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(subject.Spec.SecurityGroups, securityGroups(subject)); diff != "" {
		t.Errorf("security groups of the spec (-want +got):\n%s", diff)
	}
	subject.Spec.SecurityGroups = nil
	if diff := cmp.Diff(of, securityGroups(subject)); diff != "" {
		t.Errorf("security groups of a spec without any (-want +got):\n%s", diff)
	}
}

// TestMinor holds which release the images of a version of Kubernetes belong to.
func TestMinor(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"v1.36.3": "1.36", "1.36": "1.36", "v1.36.3-eks.1+x": "1.36", "v2": "2", "": "", "v": ""} {
		if got := minor(version); got != want {
			t.Errorf("of %q it is %q, want %q", version, got, want)
		}
	}
}
