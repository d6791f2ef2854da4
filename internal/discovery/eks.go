package discovery

import (
	"fmt"
	"strconv"
	"strings"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// lastAmazonLinux2 is the last minor version of Kubernetes 1 that EKS made Amazon Linux 2 images for
// (AWS: eks-ami-deprecation-faqs).
const lastAmazonLinux2 = 32

// eksParameter is the name of the public parameter that holds the newest image optimized for EKS
// (AWS: retrieve-ami-id).
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
	variant, ok := eksVariant(kind, query.Architecture)
	if !ok {
		return "", &NotFoundError{Kind: "EKS optimized image", What: fmt.Sprintf("eksLookupType %s, architecture %s", kind, query.Architecture)}
	}
	if !hasAmazonLinux2 && !strings.HasPrefix(variant, "amazon-linux-2023/") {
		return "", &NotFoundError{
			Kind: "EKS optimized image", What: fmt.Sprintf("eksLookupType %s, Kubernetes %d.%d", kind, major, minor),
			Advice: fmt.Sprintf("Amazon Linux 2 ended with Kubernetes 1.%d; use %s or %s",
				lastAmazonLinux2, infrav1.EKSAMILookupTypeAmazonLinux2023, infrav1.EKSAMILookupTypeAmazonLinux2023GPU),
		}
	}
	return fmt.Sprintf("/aws/service/eks/optimized-ami/%d.%d/%s/recommended/image_id", major, minor, variant), nil
}

// eksVariant is the part of the parameter's name that says which family of images.
func eksVariant(kind infrav1.EKSAMILookupType, architecture string) (string, bool) {
	arm := architecture == string(ec2types.ArchitectureValuesArm64)
	if !arm && architecture != string(ec2types.ArchitectureValuesX8664) {
		return "", false
	}
	switch kind {
	case infrav1.EKSAMILookupTypeAmazonLinux:
		if arm {
			return "amazon-linux-2-arm64", true
		}
		return "amazon-linux-2", true
	case infrav1.EKSAMILookupTypeAmazonLinuxGPU:
		// There never was one for arm64.
		return "amazon-linux-2-gpu", !arm
	case infrav1.EKSAMILookupTypeAmazonLinux2023:
		return "amazon-linux-2023/" + architecture + "/standard", true
	case infrav1.EKSAMILookupTypeAmazonLinux2023GPU:
		return "amazon-linux-2023/" + architecture + "/nvidia", true
	default:
		return "", false
	}
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
