package eks

import "slices"

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

// findBuild returns the requested build of an add-on, or the default, which is the newest. The
// wording is from terraform-provider-aws#32238 and aws/containers-roadmap#1429.
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
