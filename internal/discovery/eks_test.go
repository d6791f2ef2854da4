package discovery

import (
	"slices"
	"strings"
	"testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/userdata"
)

// families are the kinds of images by architecture, with how their names begin for Kubernetes 1.32.
var families = []struct {
	kind         infrav1.EKSAMILookupType
	architecture string
	amiType      infrav1.ManagedMachineAMIType
	name         string
	family       userdata.Family
}{
	{infrav1.EKSAMILookupTypeAmazonLinux, "x86_64", infrav1.AMITypeAL2X86, "amazon-eks-node-1.32-", userdata.FamilyAmazonLinux2},
	{infrav1.EKSAMILookupTypeAmazonLinux, "arm64", infrav1.AMITypeAL2ARM, "amazon-eks-arm64-node-1.32-", userdata.FamilyAmazonLinux2},
	{infrav1.EKSAMILookupTypeAmazonLinuxGPU, "x86_64", infrav1.AMITypeAL2X86GPU, "amazon-eks-gpu-node-1.32-", userdata.FamilyAmazonLinux2},
	{infrav1.EKSAMILookupTypeAmazonLinux2023, "x86_64", infrav1.AMITypeAL2023X86, "amazon-eks-node-al2023-x86_64-standard-1.32-", userdata.FamilyAmazonLinux2023},
	{infrav1.EKSAMILookupTypeAmazonLinux2023, "arm64", infrav1.AMITypeAL2023ARM, "amazon-eks-node-al2023-arm64-standard-1.32-", userdata.FamilyAmazonLinux2023},
	{infrav1.EKSAMILookupTypeAmazonLinux2023GPU, "x86_64", infrav1.AMITypeAL2023X86Nvidia, "amazon-eks-node-al2023-x86_64-nvidia-1.32-", userdata.FamilyAmazonLinux2023},
	{infrav1.EKSAMILookupTypeAmazonLinux2023GPU, "arm64", infrav1.AMITypeAL2023ARMNvidia, "amazon-eks-node-al2023-arm64-nvidia-1.32-", userdata.FamilyAmazonLinux2023},
	{infrav1.EKSAMILookupTypeAmazonLinux2023Neuron, "x86_64", infrav1.AMITypeAL2023X86Neuron, "amazon-eks-node-al2023-x86_64-neuron-1.32-", userdata.FamilyAmazonLinux2023},
	{infrav1.EKSAMILookupTypeBottlerocket, "x86_64", infrav1.AMITypeBottlerocketX86, "bottlerocket-aws-k8s-1.32-x86_64-", userdata.FamilyBottlerocket},
	{infrav1.EKSAMILookupTypeBottlerocket, "arm64", infrav1.AMITypeBottlerocketARM, "bottlerocket-aws-k8s-1.32-arm64-", userdata.FamilyBottlerocket},
	{infrav1.EKSAMILookupTypeBottlerocketFIPS, "x86_64", infrav1.AMITypeBottlerocketX86FIPS, "bottlerocket-aws-k8s-1.32-fips-x86_64-", userdata.FamilyBottlerocket},
	{infrav1.EKSAMILookupTypeBottlerocketFIPS, "arm64", infrav1.AMITypeBottlerocketARMFIPS, "bottlerocket-aws-k8s-1.32-fips-arm64-", userdata.FamilyBottlerocket},
	{infrav1.EKSAMILookupTypeBottlerocketNvidia, "x86_64", infrav1.AMITypeBottlerocketX86Nvidia, "bottlerocket-aws-k8s-1.32-nvidia-x86_64-", userdata.FamilyBottlerocket},
	{infrav1.EKSAMILookupTypeBottlerocketNvidia, "arm64", infrav1.AMITypeBottlerocketARMNvidia, "bottlerocket-aws-k8s-1.32-nvidia-arm64-", userdata.FamilyBottlerocket},
	{infrav1.EKSAMILookupTypeBottlerocketNvidiaFIPS, "x86_64", infrav1.AMITypeBottlerocketX86NvidiaFIPS, "bottlerocket-aws-k8s-1.32-nvidia-fips-x86_64-", userdata.FamilyBottlerocket},
	{infrav1.EKSAMILookupTypeBottlerocketNvidiaFIPS, "arm64", infrav1.AMITypeBottlerocketARMNvidiaFIPS, "bottlerocket-aws-k8s-1.32-nvidia-fips-arm64-", userdata.FamilyBottlerocket},
	{infrav1.EKSAMILookupTypeWindowsCore2019, "x86_64", infrav1.AMITypeWindowsCore2019, "Windows_Server-2019-English-Core-EKS_Optimized-1.32-", userdata.FamilyWindows},
	{infrav1.EKSAMILookupTypeWindowsFull2019, "x86_64", infrav1.AMITypeWindowsFull2019, "Windows_Server-2019-English-Full-EKS_Optimized-1.32-", userdata.FamilyWindows},
	{infrav1.EKSAMILookupTypeWindowsCore2022, "x86_64", infrav1.AMITypeWindowsCore2022, "Windows_Server-2022-English-Core-EKS_Optimized-1.32-", userdata.FamilyWindows},
	{infrav1.EKSAMILookupTypeWindowsFull2022, "x86_64", infrav1.AMITypeWindowsFull2022, "Windows_Server-2022-English-Full-EKS_Optimized-1.32-", userdata.FamilyWindows},
	{infrav1.EKSAMILookupTypeWindowsCore2025, "x86_64", infrav1.AMITypeWindowsCore2025, "Windows_Server-2025-English-Core-EKS_Optimized-1.32-", userdata.FamilyWindows},
	{infrav1.EKSAMILookupTypeWindowsFull2025, "x86_64", infrav1.AMITypeWindowsFull2025, "Windows_Server-2025-English-Full-EKS_Optimized-1.32-", userdata.FamilyWindows},
}

// TestEveryFamilyIsFound holds that each kind is looked up as the image of its amiType, and that
// the image says what it is.
func TestEveryFamilyIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range families {
		t.Run(string(c.amiType), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, nil) // of one's own: together they would be above AWS's rate for parameters
			query := ImageQuery{KubernetesVersion: "v1.32.1", Architecture: c.architecture, EKS: true, EKSLookupType: c.kind}
			image, err := p.Image(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(image.Name, c.name) || image.Architecture != c.architecture || image.Windows != (c.family == userdata.FamilyWindows) {
				t.Errorf("got %+v, want the name to begin with %s", image, c.name)
			}
			if family, known := userdata.FamilyOfImage(image.Name); !known || family != c.family {
				t.Errorf("%s is of family %q", image.Name, family)
			}
			if family, known := userdata.FamilyOf(string(c.amiType)); !known || family != c.family {
				t.Errorf("%s is of family %q", c.amiType, family)
			}
			if !Suits(query, image) {
				t.Errorf("%s would not be kept when a pool is taken over", image.Name)
			}
		})
	}
}

// TestFamiliesAreComplete fails for an amiType that cannot be looked up, and for a kind that is not
// tried.
func TestFamiliesAreComplete(t *testing.T) {
	t.Parallel()
	var amiTypes []infrav1.ManagedMachineAMIType
	for _, c := range families {
		amiTypes = append(amiTypes, c.amiType)
		if index := slices.Index([]string{"x86_64", "arm64"}, c.architecture); lookups[c.kind][index] != c.amiType {
			t.Errorf("%s for %s leads to %s", c.kind, c.architecture, lookups[c.kind][index])
		}
	}
	for amiType := range eksImages {
		if !slices.Contains(amiTypes, amiType) {
			t.Errorf("%s is not tried", amiType)
		}
	}
	if len(amiTypes) != len(eksImages) {
		t.Errorf("%d are tried, and there are %d", len(amiTypes), len(eksImages))
	}
}
