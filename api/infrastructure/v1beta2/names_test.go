package v1beta2_test

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

func TestDefaultNodegroupName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 60)
	for _, c := range []struct{ reason, namespace, name, want string }{
		{"CAPA's name", "default", "workers", "default_workers"},
		{"EKS takes no dots", "default", "workers.one", "default_workers_one"},
		{"63 characters are allowed", "ns", long, "ns_" + long},
		{"more are not: CAPA's hash", "ns", long + "b", "capa_fzu5lemasu8b6vfyfi2qv2sgu5t"},
	} {
		if got := infrav1.DefaultNodegroupName(c.namespace, c.name); got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}

// TestDefaultNodegroupNamesAreNames holds that any pool has a name that EKS takes, and that pools
// with long names have different ones.
func TestDefaultNodegroupNamesAreNames(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)
	rapid.Check(t, func(rt *rapid.T) {
		namespace := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`).Draw(rt, "namespace")
		name := rapid.StringMatching(`[a-z0-9]([a-z0-9.-]{0,120}[a-z0-9])?`).Draw(rt, "name")
		got := infrav1.DefaultNodegroupName(namespace, name)
		if !valid.MatchString(got) {
			rt.Fatalf("%q is not the name of a node group", got)
		}
		if other := infrav1.DefaultNodegroupName(namespace, name+strings.Repeat("x", 63)); other == got {
			rt.Fatalf("two pools are both %q", got)
		}
	})
}

func TestDeprecatedFields(t *testing.T) {
	t.Parallel()
	spec := infrav1.AWSManagedMachinePoolSpec{AMIType: ptr.To(infrav1.AMITypeAL2X86), InstanceType: ptr.To("")}
	if said := spec.DeprecationMessage(); said != "" {
		t.Errorf("CAPA's default and an empty string count as requests of the user: %q", said)
	}
	spec.DiskSize, spec.AMIVersion = ptr.To[int32](20), ptr.To("1.33.0-1")
	want := "spec.amiVersion, diskSize: without a launch template until September 2027 at least; " +
		"make a new pool with awsLaunchTemplate.rootVolume.size, and move to it"
	if said := spec.DeprecationMessage(); said != want {
		t.Errorf("got %q\nwant %q", said, want)
	}
	spec.DiskSize = nil
	if said := spec.DeprecationMessage(); !strings.HasSuffix(said, "make a new pool with awsLaunchTemplate, and move to it") {
		t.Errorf("got %q", said)
	}
	spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{}
	if said := spec.DeprecationMessage(); said != "" {
		t.Errorf("beside a launch template the release stays: %q", said)
	}
}
