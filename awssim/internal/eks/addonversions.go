package eks

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// product is an add-on that EKS has.
type product struct {
	kind      string // as DescribeAddonVersions calls it
	namespace string
	// versions are its builds, oldest first. In them {minor} stands for a version of Kubernetes:
	// such an add-on has builds of its own for each.
	versions []string
	// replicated add-ons need a node, or they are unhealthy; the others run on each node that there is.
	replicated bool
	// permissions says that it needs an IAM role.
	permissions bool
}

// products are add-ons of AWS's own (AWS CLI, example of describe-addon-versions: names and kinds).
// Their versions are the simulator's, in AWS's form.
var products = map[string]product{
	"vpc-cni":                   {"networking", "kube-system", []string{"v1.19.5-eksbuild.1", "v1.20.4-eksbuild.1"}, false, true},
	"kube-proxy":                {"networking", "kube-system", []string{"v{minor}.0-eksbuild.1", "v{minor}.0-eksbuild.2"}, false, false},
	"coredns":                   {"networking", "kube-system", []string{"v1.12.4-eksbuild.1", "v1.13.1-eksbuild.1"}, true, false},
	"eks-pod-identity-agent":    {"security", "kube-system", []string{"v1.3.9-eksbuild.1", "v1.3.10-eksbuild.1"}, false, false},
	"aws-ebs-csi-driver":        {"storage", "kube-system", []string{"v1.48.0-eksbuild.1", "v1.54.0-eksbuild.1"}, true, true},
	"aws-efs-csi-driver":        {"storage", "kube-system", []string{"v2.1.11-eksbuild.1", "v2.2.0-eksbuild.1"}, true, true},
	"snapshot-controller":       {"storage", "kube-system", []string{"v8.2.0-eksbuild.1", "v8.3.0-eksbuild.1"}, true, false},
	"metrics-server":            {"observability", "kube-system", []string{"v0.7.2-eksbuild.4", "v0.8.0-eksbuild.2"}, true, false},
	"eks-node-monitoring-agent": {"observability", "kube-system", []string{"v1.4.1-eksbuild.1", "v1.4.2-eksbuild.1"}, false, false},
}

// buildsFor returns the builds of a product for a version of Kubernetes, oldest first.
func (p product) buildsFor(version string) []string {
	var builds []string
	for _, v := range p.versions {
		builds = append(builds, replaceMinor(v, version))
	}
	return builds
}

// findBuild returns the build of an add-on that is asked for: the newest, which is the default, if
// none is (terraform-provider-aws#32238 and aws/containers-roadmap#1429 for the words).
func findBuild(name, version, wanted string) (string, error) {
	p, ok := products[name]
	if !ok {
		return "", invalid("Addon specified is not supported")
	}
	builds := p.buildsFor(version)
	if wanted == "" {
		return builds[len(builds)-1], nil
	}
	if !slices.Contains(builds, wanted) {
		return "", invalid("Addon version specified is not supported")
	}
	return wanted, nil
}

// describeAddonVersions lists the add-ons with their builds, newest first, and for which versions
// of clusters they are.
func (s *service) describeAddonVersions(_ *sim.Call, in *eks.DescribeAddonVersionsInput) (*eks.DescribeAddonVersionsOutput, error) {
	if in.AddonName != nil {
		if _, ok := products[*in.AddonName]; !ok {
			// inference for the words
			return nil, sim.Errorf(codeNotFound, "Addon %s not found", *in.AddonName).WithStatus(404)
		}
	}
	if in.KubernetesVersion != nil {
		if err := s.catalog.checkOffered(*in.KubernetesVersion); err != nil {
			return nil, err
		}
	}
	has := func(list []string, v string) bool { return len(list) == 0 || slices.Contains(list, v) }
	var infos []types.AddonInfo
	for _, name := range sortedKeys(products) {
		p := products[name]
		if in.AddonName != nil && *in.AddonName != name || !has(in.Types, p.kind) || !has(in.Owners, "aws") || !has(in.Publishers, "eks") {
			continue
		}
		infos = append(infos, types.AddonInfo{
			AddonName: ptr(name), Type: ptr(p.kind), Owner: ptr("aws"), Publisher: ptr("eks"), DefaultNamespace: ptr(p.namespace), AddonVersions: s.buildsOf(p, val(in.KubernetesVersion)),
		})
	}
	page, next, err := pageOf(infos, in.NextToken, in.MaxResults, func(i types.AddonInfo) string { return *i.AddonName })
	if err != nil {
		return nil, err
	}
	return &eks.DescribeAddonVersionsOutput{Addons: page, NextToken: next}, nil
}

func (s *service) buildsOf(p product, wanted string) []types.AddonVersionInfo {
	found := map[string][]types.Compatibility{}
	var order []string
	for _, n := range slices.Backward(s.catalog.offered()) {
		version := fmt.Sprintf("1.%d", n)
		if wanted != "" && wanted != version || s.catalog.checkOffered(version) != nil {
			continue
		}
		builds := p.buildsFor(version)
		for i, build := range slices.Backward(builds) {
			if found[build] == nil {
				order = append(order, build)
			}
			found[build] = append(found[build], types.Compatibility{ClusterVersion: ptr(version), DefaultVersion: i == len(builds)-1, PlatformVersions: []string{"*"}})
		}
	}
	infos := []types.AddonVersionInfo{}
	for _, build := range order {
		infos = append(infos, types.AddonVersionInfo{
			AddonVersion: ptr(build), Architecture: []string{"amd64", "arm64"}, ComputeTypes: []string{"ec2"}, Compatibilities: found[build], RequiresIamPermissions: p.permissions,
		})
	}
	return infos
}
