package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"
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
