package eks

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// catalogActions serves the actions that list what EKS offers.
type catalogActions struct {
	catalog *catalog
}

// describeClusterVersions lists versions, newest first. Without includeAll it omits versions that
// are no longer supported (SDK DescribeClusterVersionsInput). That it returns all versions that the
// request names is an inference.
func (api *catalogActions) describeClusterVersions(c *sim.Call, in *eks.DescribeClusterVersionsInput) (*eks.DescribeClusterVersionsOutput, error) {
	wanted := in.VersionStatus
	switch in.Status { //nolint:staticcheck // clients still send what is deprecated
	case types.ClusterVersionStatusStandardSupport:
		wanted = types.VersionStatusStandardSupport
	case types.ClusterVersionStatusExtendedSupport:
		wanted = types.VersionStatusExtendedSupport
	case types.ClusterVersionStatusUnsupported:
		wanted = types.VersionStatusUnsupported
	}
	if err := checkEnum("versionStatus", wanted, wanted.Values()); err != nil {
		return nil, err
	}
	var versions []types.ClusterVersionInformation
	for _, n := range slices.Backward(api.catalog.offered()) {
		v := api.versionInformation(n, c.Now)
		switch {
		case wanted != "" && v.VersionStatus != wanted,
			wanted == "" && v.VersionStatus == types.VersionStatusUnsupported && !val(in.IncludeAll) && len(in.ClusterVersions) == 0,
			len(in.ClusterVersions) > 0 && !slices.Contains(in.ClusterVersions, *v.ClusterVersion),
			val(in.DefaultOnly) && !v.DefaultVersion,
			val(in.ClusterType) != "" && *in.ClusterType != *v.ClusterType:
			continue
		}
		versions = append(versions, v)
	}
	page, next, err := pageOf(versions, in.NextToken, in.MaxResults, func(v types.ClusterVersionInformation) string { return *v.ClusterVersion })
	if err != nil {
		return nil, err
	}
	return &eks.DescribeClusterVersionsOutput{ClusterVersions: page, NextToken: next}, nil
}

// versionInformation returns the description of a minor version.
func (api *catalogActions) versionInformation(n int, now time.Time) types.ClusterVersionInformation {
	dates, version := supportOf(n), fmt.Sprintf("1.%d", n)
	v := types.ClusterVersionInformation{
		ClusterType: ptr("eks"), ClusterVersion: ptr(version), DefaultPlatformVersion: ptr(platformVersion), DefaultVersion: n == api.catalog.defaultMinor(),
		ReleaseDate: ptr(dates.release), EndOfStandardSupportDate: ptr(dates.standard), EndOfExtendedSupportDate: ptr(dates.extended),
		VersionStatus: statusOf(n, now), KubernetesPatchVersion: ptr(version + ".0"),
	}
	v.Status = map[types.VersionStatus]types.ClusterVersionStatus{
		types.VersionStatusStandardSupport: types.ClusterVersionStatusStandardSupport, types.VersionStatusExtendedSupport: types.ClusterVersionStatusExtendedSupport,
		types.VersionStatusUnsupported: types.ClusterVersionStatusUnsupported,
	}[v.VersionStatus]
	amiType := defaultType(version)
	if builds := api.catalog.releases(amiType, version); len(builds) > 0 {
		if m := patchOf.FindString(builds[len(builds)-1].version); m != "" {
			v.KubernetesPatchVersion = ptr(m)
		}
	}
	return v
}

var patchOf = regexp.MustCompile(`^1\.\d+\.\d+`)

// describeAddonVersions lists the add-ons with their builds, newest first, and the cluster versions
// that each build supports.
func (api *catalogActions) describeAddonVersions(_ *sim.Call, in *eks.DescribeAddonVersionsInput) (*eks.DescribeAddonVersionsOutput, error) {
	if in.AddonName != nil {
		if _, ok := products[*in.AddonName]; !ok {
			// the wording is an inference
			return nil, sim.Errorf(codeNotFound, "Addon %s not found", *in.AddonName).WithStatus(404)
		}
	}
	if in.KubernetesVersion != nil {
		if err := api.catalog.checkOffered(*in.KubernetesVersion); err != nil {
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
			AddonName: ptr(name), Type: ptr(p.kind), Owner: ptr("aws"), Publisher: ptr("eks"), DefaultNamespace: ptr(p.namespace), AddonVersions: api.addonBuilds(p, val(in.KubernetesVersion)),
		})
	}
	page, next, err := pageOf(infos, in.NextToken, in.MaxResults, func(i types.AddonInfo) string { return *i.AddonName })
	if err != nil {
		return nil, err
	}
	return &eks.DescribeAddonVersionsOutput{Addons: page, NextToken: next}, nil
}

// addonBuilds returns the builds of an add-on, newest first, for one cluster version or for all.
func (api *catalogActions) addonBuilds(p product, wanted string) []types.AddonVersionInfo {
	found := map[string][]types.Compatibility{}
	var order []string
	for _, n := range slices.Backward(api.catalog.offered()) {
		version := fmt.Sprintf("1.%d", n)
		if wanted != "" && wanted != version || api.catalog.checkOffered(version) != nil {
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
