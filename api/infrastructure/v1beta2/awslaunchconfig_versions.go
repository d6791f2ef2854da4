package v1beta2

import "strconv"

// HasVersion reports whether the launch template is known to have a version, given by its number as
// text. It is false for a number that was never one, for a version that is too old to be listed, and
// while the launch template is missing.
func (c *AWSLaunchConfig) HasVersion(text string) bool {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || c.Status.LaunchTemplateMissingSince != nil {
		return false
	}
	return number > 0 && number == c.Status.PendingVersion || c.Status.FindVersion(number) != nil
}

// FindVersion returns the listed version with a number, or nil if there is none. Only the newest
// MaxLaunchConfigStatusVersions versions are listed.
func (s *AWSLaunchConfigStatus) FindVersion(number int64) *LaunchTemplateVersionStatus {
	for i := range s.Versions {
		if s.Versions[i].Number == number {
			return &s.Versions[i]
		}
	}
	return nil
}

// FingerprintOf returns the configuration fingerprint of the version with a number, or "" if it is not listed.
func (s *AWSLaunchConfigStatus) FingerprintOf(number int64) string {
	if version := s.FindVersion(number); version != nil {
		return version.ConfigFingerprint
	}
	return ""
}

// NewestVersion returns the greatest number of a listed version, or 0 if none is listed.
func (s *AWSLaunchConfigStatus) NewestVersion() int64 {
	newest := int64(0)
	for i := range s.Versions {
		newest = max(newest, s.Versions[i].Number)
	}
	return newest
}
