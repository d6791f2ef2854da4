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

// support says when EKS released a minor version of Kubernetes, and until when it supports it.
type support struct{ release, standard, extended time.Time }

func day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// calendar is the EKS Kubernetes release calendar (UG kubernetes-versions). A version has 14 months
// of standard support and 12 of extended support. Missing dates are computed.
var calendar = map[int]support{
	28: {day(2023, time.September, 26), day(2024, time.November, 26), day(2025, time.November, 26)},
	29: {day(2024, time.January, 23), day(2025, time.March, 23), day(2026, time.March, 23)},
	30: {day(2024, time.May, 23), day(2025, time.July, 23), day(2026, time.July, 23)},
	31: {day(2024, time.September, 26), day(2025, time.November, 26), day(2026, time.November, 26)},
	32: {day(2025, time.January, 23), day(2026, time.March, 23), day(2027, time.March, 23)},
	33: {day(2025, time.May, 29), day(2026, time.July, 29), day(2027, time.July, 29)},
	34: {day(2025, time.October, 2), day(2026, time.December, 2), day(2027, time.December, 2)},
	35: {day(2026, time.January, 27), day(2027, time.March, 27), day(2028, time.March, 27)},
}

// supportOf returns the dates of a minor version: four months later or earlier than its neighbor's
// where the calendar has none (inference).
func supportOf(minor int) support {
	const first, last = 28, 35
	known := min(max(minor, first), last)
	s, months := calendar[known], 4*(minor-known)
	return support{s.release.AddDate(0, months, 0), s.standard.AddDate(0, months, 0), s.extended.AddDate(0, months, 0)}
}

func statusOf(minor int, now time.Time) types.VersionStatus {
	switch s := supportOf(minor); {
	case now.Before(s.standard):
		return types.VersionStatusStandardSupport
	case now.Before(s.extended):
		return types.VersionStatusExtendedSupport
	default:
		return types.VersionStatusUnsupported
	}
}

// describeClusterVersions lists versions, newest first. Without includeAll it leaves out what is no
// longer supported (SDK DescribeClusterVersionsInput; that it names versions by is an inference).
func (s *service) describeClusterVersions(c *sim.Call, in *eks.DescribeClusterVersionsInput) (*eks.DescribeClusterVersionsOutput, error) {
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
	for _, n := range slices.Backward(s.catalog.offered()) {
		v := s.versionInformation(n, c.Now)
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

func (s *service) versionInformation(n int, now time.Time) types.ClusterVersionInformation {
	dates, version := supportOf(n), fmt.Sprintf("1.%d", n)
	v := types.ClusterVersionInformation{
		ClusterType: ptr("eks"), ClusterVersion: ptr(version), DefaultPlatformVersion: ptr(platformVersion), DefaultVersion: n == s.catalog.defaultMinor(),
		ReleaseDate: ptr(dates.release), EndOfStandardSupportDate: ptr(dates.standard), EndOfExtendedSupportDate: ptr(dates.extended),
		VersionStatus: statusOf(n, now), KubernetesPatchVersion: ptr(version + ".0"),
	}
	v.Status = map[types.VersionStatus]types.ClusterVersionStatus{
		types.VersionStatusStandardSupport: types.ClusterVersionStatusStandardSupport, types.VersionStatusExtendedSupport: types.ClusterVersionStatusExtendedSupport,
		types.VersionStatusUnsupported: types.ClusterVersionStatusUnsupported,
	}[v.VersionStatus]
	amiType := defaultType(version)
	if builds := s.catalog.releases(amiType, version); len(builds) > 0 {
		if m := patchOf.FindString(builds[len(builds)-1].version); m != "" {
			v.KubernetesPatchVersion = ptr(m)
		}
	}
	return v
}

var patchOf = regexp.MustCompile(`^1\.\d+\.\d+`)
