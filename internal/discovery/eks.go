package discovery

import (
	"fmt"
	"strconv"
	"strings"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// lastAmazonLinux2 is the last minor version of Kubernetes 1 for which EKS built Amazon Linux 2
// images (AWS: eks-ami-deprecation-faqs).
const lastAmazonLinux2 = 32

// eksImages are all amiTypes that name images, with the name of the parameter that holds the id of
// the newest one for a minor version of Kubernetes, for which %s stands (AWS: retrieve-ami-id,
// retrieve-ami-id-bottlerocket, retrieve-windows-ami-id).
var eksImages = map[infrav1.ManagedMachineAMIType]string{
	infrav1.AMITypeAL2X86:                    amazonLinux("amazon-linux-2"),
	infrav1.AMITypeAL2X86GPU:                 amazonLinux("amazon-linux-2-gpu"),
	infrav1.AMITypeAL2ARM:                    amazonLinux("amazon-linux-2-arm64"),
	infrav1.AMITypeAL2023X86:                 amazonLinux("amazon-linux-2023/x86_64/standard"),
	infrav1.AMITypeAL2023ARM:                 amazonLinux("amazon-linux-2023/arm64/standard"),
	infrav1.AMITypeAL2023X86Nvidia:           amazonLinux("amazon-linux-2023/x86_64/nvidia"),
	infrav1.AMITypeAL2023ARMNvidia:           amazonLinux("amazon-linux-2023/arm64/nvidia"),
	infrav1.AMITypeAL2023X86Neuron:           amazonLinux("amazon-linux-2023/x86_64/neuron"),
	infrav1.AMITypeBottlerocketX86:           bottlerocket("", "x86_64"),
	infrav1.AMITypeBottlerocketARM:           bottlerocket("", "arm64"),
	infrav1.AMITypeBottlerocketX86FIPS:       bottlerocket("-fips", "x86_64"),
	infrav1.AMITypeBottlerocketARMFIPS:       bottlerocket("-fips", "arm64"),
	infrav1.AMITypeBottlerocketX86Nvidia:     bottlerocket("-nvidia", "x86_64"),
	infrav1.AMITypeBottlerocketARMNvidia:     bottlerocket("-nvidia", "arm64"),
	infrav1.AMITypeBottlerocketX86NvidiaFIPS: bottlerocket("-nvidia-fips", "x86_64"),
	infrav1.AMITypeBottlerocketARMNvidiaFIPS: bottlerocket("-nvidia-fips", "arm64"),
	infrav1.AMITypeWindowsCore2019:           windowsServer("2019-English-Core"),
	infrav1.AMITypeWindowsFull2019:           windowsServer("2019-English-Full"),
	infrav1.AMITypeWindowsCore2022:           windowsServer("2022-English-Core"),
	infrav1.AMITypeWindowsFull2022:           windowsServer("2022-English-Full"),
	infrav1.AMITypeWindowsCore2025:           windowsServer("2025-English-Core"),
	infrav1.AMITypeWindowsFull2025:           windowsServer("2025-English-Full"),
}

func amazonLinux(variant string) string {
	return "/aws/service/eks/optimized-ami/%s/" + variant + "/recommended/image_id"
}

func bottlerocket(variant, architecture string) string {
	return "/aws/service/bottlerocket/aws-k8s-%s" + variant + "/" + architecture + "/latest/image_id"
}

func windowsServer(edition string) string {
	return "/aws/service/ami-windows-latest/Windows_Server-" + edition + "-EKS_Optimized-%s/image_id"
}

// lookups maps the kinds of images that can be looked up to their amiTypes for x86_64 and for
// arm64; empty where Amazon publishes none.
var lookups = map[infrav1.EKSAMILookupType][2]infrav1.ManagedMachineAMIType{
	infrav1.EKSAMILookupTypeAmazonLinux:            {infrav1.AMITypeAL2X86, infrav1.AMITypeAL2ARM},
	infrav1.EKSAMILookupTypeAmazonLinuxGPU:         {infrav1.AMITypeAL2X86GPU},
	infrav1.EKSAMILookupTypeAmazonLinux2023:        {infrav1.AMITypeAL2023X86, infrav1.AMITypeAL2023ARM},
	infrav1.EKSAMILookupTypeAmazonLinux2023GPU:     {infrav1.AMITypeAL2023X86Nvidia, infrav1.AMITypeAL2023ARMNvidia},
	infrav1.EKSAMILookupTypeAmazonLinux2023Neuron:  {infrav1.AMITypeAL2023X86Neuron},
	infrav1.EKSAMILookupTypeBottlerocket:           {infrav1.AMITypeBottlerocketX86, infrav1.AMITypeBottlerocketARM},
	infrav1.EKSAMILookupTypeBottlerocketFIPS:       {infrav1.AMITypeBottlerocketX86FIPS, infrav1.AMITypeBottlerocketARMFIPS},
	infrav1.EKSAMILookupTypeBottlerocketNvidia:     {infrav1.AMITypeBottlerocketX86Nvidia, infrav1.AMITypeBottlerocketARMNvidia},
	infrav1.EKSAMILookupTypeBottlerocketNvidiaFIPS: {infrav1.AMITypeBottlerocketX86NvidiaFIPS, infrav1.AMITypeBottlerocketARMNvidiaFIPS},
	infrav1.EKSAMILookupTypeWindowsCore2019:        {infrav1.AMITypeWindowsCore2019},
	infrav1.EKSAMILookupTypeWindowsFull2019:        {infrav1.AMITypeWindowsFull2019},
	infrav1.EKSAMILookupTypeWindowsCore2022:        {infrav1.AMITypeWindowsCore2022},
	infrav1.EKSAMILookupTypeWindowsFull2022:        {infrav1.AMITypeWindowsFull2022},
	infrav1.EKSAMILookupTypeWindowsCore2025:        {infrav1.AMITypeWindowsCore2025},
	infrav1.EKSAMILookupTypeWindowsFull2025:        {infrav1.AMITypeWindowsFull2025},
}

// eksParameter returns the name of the public parameter that holds the newest EKS-optimized image.
func eksParameter(query ImageQuery) (string, error) {
	major, minor, err := majorMinor(query.KubernetesVersion)
	if err != nil {
		return "", err
	}
	kind := query.EKSLookupType
	hasAmazonLinux2 := major == 1 && minor <= lastAmazonLinux2
	if kind == "" {
		kind = infrav1.EKSAMILookupTypeAmazonLinux2023
		if hasAmazonLinux2 {
			kind = infrav1.EKSAMILookupTypeAmazonLinux
		}
	}
	var amiType infrav1.ManagedMachineAMIType
	switch query.Architecture {
	case string(ec2types.ArchitectureValuesX8664):
		amiType = lookups[kind][0]
	case string(ec2types.ArchitectureValuesArm64):
		amiType = lookups[kind][1]
	}
	if amiType == "" {
		return "", &NotFoundError{Kind: "EKS optimized image", What: fmt.Sprintf("eksLookupType %s, architecture %s", kind, query.Architecture)}
	}
	if !hasAmazonLinux2 && strings.HasPrefix(string(amiType), "AL2_") {
		return "", &NotFoundError{
			Kind: "EKS optimized image", What: fmt.Sprintf("eksLookupType %s, Kubernetes %d.%d", kind, major, minor),
			Advice: fmt.Sprintf("Amazon Linux 2 supports Kubernetes only up to 1.%d. Use %s or %s",
				lastAmazonLinux2, infrav1.EKSAMILookupTypeAmazonLinux2023, infrav1.EKSAMILookupTypeAmazonLinux2023GPU),
		}
	}
	return fmt.Sprintf(eksImages[amiType], fmt.Sprintf("%d.%d", major, minor)), nil
}

// majorMinor reads v1.30.2, 1.30 and the like.
func majorMinor(version string) (major, minor int, err error) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) >= 2 {
		var errMajor, errMinor error
		major, errMajor = strconv.Atoi(parts[0])
		minor, errMinor = strconv.Atoi(parts[1])
		if errMajor == nil && errMinor == nil {
			return major, minor, nil
		}
	}
	return 0, 0, &InvalidQueryError{Message: fmt.Sprintf("Kubernetes version %q is not of the form v1.30.0", version)}
}
