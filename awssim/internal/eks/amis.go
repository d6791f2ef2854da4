package eks

import (
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/world"
)

// family is the operating system of an image, which decides what user data looks like.
type family string

const (
	amazonLinux2    family = "Amazon Linux 2"
	amazonLinux2023 family = "Amazon Linux 2023"
	bottlerocket    family = "Bottlerocket"
	windows         family = "Windows"
)

// imageLine is the line of images behind an AMI type. In name {minor} stands for the Kubernetes
// version; what follows is of each build.
type imageLine struct {
	family       family
	architecture string
	accelerator  string // nvidia or neuron
	name         string
}

// imageLines are the AMI types (SDK types.AMITypes) with the names of their images (UG
// eks-optimized-ami, and what the accounts publish).
var imageLines = map[types.AMITypes]imageLine{
	types.AMITypesAl2X8664:                    {amazonLinux2, "x86_64", "", "amazon-eks-node-{minor}-v"},
	types.AMITypesAl2X8664Gpu:                 {amazonLinux2, "x86_64", "nvidia", "amazon-eks-gpu-node-{minor}-v"},
	types.AMITypesAl2Arm64:                    {amazonLinux2, "arm64", "", "amazon-eks-arm64-node-{minor}-v"},
	types.AMITypesAl2023X8664Standard:         {amazonLinux2023, "x86_64", "", "amazon-eks-node-al2023-x86_64-standard-{minor}-v"},
	types.AMITypesAl2023Arm64Standard:         {amazonLinux2023, "arm64", "", "amazon-eks-node-al2023-arm64-standard-{minor}-v"},
	types.AMITypesAl2023X8664Nvidia:           {amazonLinux2023, "x86_64", "nvidia", "amazon-eks-node-al2023-x86_64-nvidia-{minor}-v"},
	types.AMITypesAl2023Arm64Nvidia:           {amazonLinux2023, "arm64", "nvidia", "amazon-eks-node-al2023-arm64-nvidia-{minor}-v"},
	types.AMITypesAl2023X8664Neuron:           {amazonLinux2023, "x86_64", "neuron", "amazon-eks-node-al2023-x86_64-neuron-{minor}-v"},
	types.AMITypesBottlerocketX8664:           {bottlerocket, "x86_64", "", "bottlerocket-aws-k8s-{minor}-x86_64-v"},
	types.AMITypesBottlerocketArm64:           {bottlerocket, "arm64", "", "bottlerocket-aws-k8s-{minor}-arm64-v"},
	types.AMITypesBottlerocketX8664Nvidia:     {bottlerocket, "x86_64", "nvidia", "bottlerocket-aws-k8s-{minor}-nvidia-x86_64-v"},
	types.AMITypesBottlerocketArm64Nvidia:     {bottlerocket, "arm64", "nvidia", "bottlerocket-aws-k8s-{minor}-nvidia-arm64-v"},
	types.AMITypesBottlerocketX8664Fips:       {bottlerocket, "x86_64", "", "bottlerocket-aws-k8s-{minor}-fips-x86_64-v"},
	types.AMITypesBottlerocketArm64Fips:       {bottlerocket, "arm64", "", "bottlerocket-aws-k8s-{minor}-fips-arm64-v"},
	types.AMITypesBottlerocketX8664NvidiaFips: {bottlerocket, "x86_64", "nvidia", "bottlerocket-aws-k8s-{minor}-nvidia-fips-x86_64-v"},
	types.AMITypesBottlerocketArm64NvidiaFips: {bottlerocket, "arm64", "nvidia", "bottlerocket-aws-k8s-{minor}-nvidia-fips-arm64-v"},
	types.AMITypesWindowsCore2019X8664:        {windows, "x86_64", "", "Windows_Server-2019-English-Core-EKS_Optimized-{minor}-"},
	types.AMITypesWindowsFull2019X8664:        {windows, "x86_64", "", "Windows_Server-2019-English-Full-EKS_Optimized-{minor}-"},
	types.AMITypesWindowsCore2022X8664:        {windows, "x86_64", "", "Windows_Server-2022-English-Core-EKS_Optimized-{minor}-"},
	types.AMITypesWindowsFull2022X8664:        {windows, "x86_64", "", "Windows_Server-2022-English-Full-EKS_Optimized-{minor}-"},
	types.AMITypesWindowsCore2025X8664:        {windows, "x86_64", "", "Windows_Server-2025-English-Core-EKS_Optimized-{minor}-"},
	types.AMITypesWindowsFull2025X8664:        {windows, "x86_64", "", "Windows_Server-2025-English-Full-EKS_Optimized-{minor}-"},
}

// release is one build of an EKS image.
type release struct {
	// 1.30.0-20240501 for Amazon Linux, 1.0.0-20240501 for Bottlerocket, 1.30-2024.05.01 for Windows
	version string
	image   string
	built   time.Time
}

var (
	kubernetesOf = regexp.MustCompile(`k8s: ([0-9.]+)`)
	dayOf        = regexp.MustCompile(`(\d{8})$`)
	windowsOf    = regexp.MustCompile(`EKS_Optimized-([0-9.]+-[0-9.]+)$`)
	systemOf     = regexp.MustCompile(`-v(\d+\.\d+\.\d+)-`)
)

// releaseName returns EKS's name of a build (UG eks-linux-ami-versions: "[major version].[minor
// version].[patch version]-[release date]").
func releaseName(image world.Image, version string) string {
	day := dayOf.FindString(image.Name)
	if day == "" {
		day = image.CreationDate.Format("20060102")
	}
	if m := windowsOf.FindStringSubmatch(image.Name); m != nil {
		return m[1]
	}
	if m := systemOf.FindStringSubmatch(image.Name); m != nil {
		return m[1] + "-" + day
	}
	if m := kubernetesOf.FindStringSubmatch(image.Description); m != nil {
		return m[1] + "-" + day
	}
	return version + "-" + day
}

// defaultType returns the AMI type of a group without one (UG eks-optimized-ami: "AL2023 is the
// default for Kubernetes version 1.30 and later").
func defaultType(version string) types.AMITypes {
	if minor(version) >= 30 {
		return types.AMITypesAl2023X8664Standard
	}
	return types.AMITypesAl2X8664
}

// fits reports whether an instance type can run the images of an AMI type.
func (l imageLine) fits(t *world.InstanceType) bool {
	if !slices.Contains(t.Architectures, l.architecture) {
		return false
	}
	switch l.accelerator {
	case "nvidia":
		return len(t.GPUs) > 0
	case "neuron":
		return len(t.NeuronDevices) > 0
	default:
		return l.family == windows || l.family == bottlerocket || len(t.GPUs)+len(t.NeuronDevices) == 0
	}
}
