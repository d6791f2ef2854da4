package variants

import (
	"strings"
	"testing"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

func TestFor(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, architecture string
		resources            []string
		want, refused        string
	}{
		{"no device", "amd64", nil, "amd64", ""},
		{"a resource that any image offers", "arm64", []string{"example.com/licenses"}, "arm64", ""},
		{"a GPU of NVIDIA", "amd64", []string{"nvidia.com/gpu"}, "amd64-nvidia", ""},
		{"a part of one", "arm64", []string{"nvidia.com/mig-1g.5gb"}, "arm64-nvidia", ""},
		{"Neuron", "amd64", []string{"aws.amazon.com/neuroncore"}, "amd64-neuron", ""},
		{"Neuron has no image for arm64", "arm64", []string{"aws.amazon.com/neuron"}, "", "aws.amazon.com/neuron on arm64"},
		{"a GPU of AMD has no image", "amd64", []string{"amd.com/gpu"}, "", "amd.com/gpu"},
		{"EFA takes interfaces that the default launch template lacks", "amd64", []string{"nvidia.com/gpu", "vpc.amazonaws.com/efa"}, "", "vpc.amazonaws.com/efa"},
		{"huge pages are a matter of user data", "amd64", []string{"hugepages-2Mi"}, "", "hugepages-2Mi"},
		{"no image has both drivers", "amd64", []string{"aws.amazon.com/neuron", "nvidia.com/gpu"}, "", "nvidia.com/gpu"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			got, err := For(row.architecture, row.resources)
			if got != row.want || (err != nil) != (row.refused != "") {
				t.Errorf("%q, error %v", got, err)
			}
			if err != nil && (!strings.Contains(err.Error(), row.refused+".") || !strings.Contains(err.Error(), "Set spec.launchTemplateRef")) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestOffers holds which devices of its instance type a node will offer, by what it was launched from.
func TestOffers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		generated bool
		awaited   []string
		resource  string
		want      bool
	}{
		{"the standard image has no driver of NVIDIA", true, nil, "nvidia.com/gpu", false},
		{"nor of Neuron", true, nil, "aws.amazon.com/neuroncore", false},
		{"NVIDIA's has", true, []string{"nvidia.com/gpu"}, "nvidia.com/gpu", true},
		{"and not of Neuron", true, []string{"nvidia.com/gpu"}, "aws.amazon.com/neuron", false},
		{"no image has the driver of AMD", true, nil, "amd.com/gpu", false},
		{"what an agent offers needs no driver", true, nil, "example.com/licenses", true},
		{"what a user's image contains is unknown", false, nil, "nvidia.com/gpu", true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			node := &provisioningv1.ProvisionedNode{}
			node.Spec.Architecture, node.Spec.AwaitedResources = provisioningv1.ArchitectureAMD64, row.awaited
			node.Spec.LaunchTemplate.Generated = row.generated
			if got := Offers(node, row.resource); got != row.want {
				t.Errorf("it offers %s: %t", row.resource, got)
			}
		})
	}
}
