package world

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Release is a Kubernetes release.
type Release struct {
	Version string    `json:"version"` // 1.30.0
	Date    time.Time `json:"date"`
}

// minorOf returns major and minor as numbers.
func minorOf(version string) (minor [2]int, err error) {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return minor, fmt.Errorf("%q is not a Kubernetes version such as 1.30 or 1.30.0", version)
	}
	for i := range minor {
		if minor[i], err = strconv.Atoi(parts[i]); err != nil {
			return minor, fmt.Errorf("%q is not a Kubernetes version such as 1.30 or 1.30.0", version)
		}
	}
	return minor, nil
}

func less(a, b [2]int) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

// Series is a line of images, one per Kubernetes release and architecture. In Name, Description,
// Parameters and ImageParameters {version}, {minor}, {arch}, {goarch} (amd64 instead of x86_64), {day},
// {dotted} (2024.05.01) and {seconds} are replaced.
type Series struct {
	Name          string   `json:"name"`
	Description   string   `json:"description,omitempty"`
	Architectures []string `json:"architectures"`
	OwnerID       string   `json:"ownerID"`
	OwnerAlias    string   `json:"ownerAlias,omitempty"`
	// PerMinor generates one image per minor version, of its newest patch.
	PerMinor bool   `json:"perMinor,omitempty"`
	From     string `json:"from,omitempty"`  // first minor version
	Until    string `json:"until,omitempty"` // last minor version
	// Built, if it is set, is when the images were built: one per architecture, for no release of Kubernetes.
	Built time.Time `json:"built,omitzero"`
	// ImageParameters are the names of parameters of Systems Manager whose value is the image's id.
	ImageParameters []string `json:"imageParameters,omitempty"`
	// Parameters are the paths under which Systems Manager publishes the image: <path> as a JSON
	// document and <path>/image_id, <path>/image_name.
	Parameters []string `json:"parameters,omitempty"`
	// Release is the release version, and ReleaseParameter the last part of the name of the
	// parameter that has it; where that is empty, the document alone has it.
	Release          string `json:"release,omitempty"`
	ReleaseParameter string `json:"releaseParameter,omitempty"`
	// Platform is windows, else empty.
	Platform     string        `json:"platform,omitempty"`
	IMDSSupport  string        `json:"imdsSupport,omitempty"`
	BlockDevices []BlockDevice `json:"blockDevices"`
}

// expand adds the images and parameters of a series to a region.
func (s Series) expand(r *Region, releases []Release) error {
	if !s.Built.IsZero() {
		for n, arch := range s.Architectures {
			s.add(r, Release{}, arch, s.Built.Add(time.Duration(n)*time.Second))
		}
		return nil
	}
	for i, release := range releases {
		wanted, err := s.covers(release, releases[i+1:])
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		for n, arch := range s.Architectures {
			// Builds come a week after the release; architectures one second apart, since names
			// are unique per owner.
			s.add(r, release, arch, release.Date.Add(7*24*time.Hour+time.Duration(n)*time.Second))
		}
	}
	return nil
}

func (s Series) covers(release Release, later []Release) (bool, error) {
	minor, err := minorOf(release.Version)
	if err != nil {
		return false, err
	}
	if s.From != "" {
		from, err := minorOf(s.From)
		if err != nil || less(minor, from) {
			return false, err
		}
	}
	if s.Until != "" {
		until, err := minorOf(s.Until)
		if err != nil || less(until, minor) {
			return false, err
		}
	}
	for _, l := range later {
		if other, err := minorOf(l.Version); err != nil {
			return false, err
		} else if s.PerMinor && other == minor {
			return false, nil
		}
	}
	return true, nil
}

func (s Series) add(r *Region, release Release, arch string, built time.Time) {
	minor, _, _ := cutLast(release.Version)
	fill := strings.NewReplacer(
		"{version}", release.Version, "{minor}", minor, "{arch}", arch, "{goarch}", strings.Replace(arch, "x86_64", "amd64", 1),
		"{day}", built.Format("20060102"), "{dotted}", built.Format("2006.01.02"), "{seconds}", strconv.FormatInt(built.Unix(), 10),
	).Replace
	image := Image{
		Name: fill(s.Name), Description: fill(s.Description), OwnerID: s.OwnerID, OwnerAlias: s.OwnerAlias,
		Architecture: arch, CreationDate: built, IMDSSupport: s.IMDSSupport, Platform: s.Platform,
		BlockDevices: append([]BlockDevice{}, s.BlockDevices...),
	}
	image.complete(r.Name)
	r.Images = append(r.Images, image)
	for _, p := range s.ImageParameters {
		r.Parameters = append(r.Parameters, Parameter{Name: fill(p), Value: image.ID, Public: true, DataType: "aws:ec2:image"})
	}
	for _, p := range s.Parameters {
		r.Parameters = append(r.Parameters, s.published(fill(p), image, fill(s.Release))...)
	}
}

func cutLast(version string) (before, after string, found bool) {
	i := strings.LastIndex(version, ".")
	if i < 0 {
		return version, "", false
	}
	return version[:i], version[i+1:], true
}

// published returns the parameters that name an image.
func (s Series) published(path string, image Image, release string) []Parameter {
	fields := map[string]string{"image_id": image.ID, "image_name": image.Name}
	if release != "" {
		fields["release_version"] = release
	}
	// Strings always marshal.
	document, _ := json.Marshal(fields)
	parameters := []Parameter{
		{Name: path, Value: string(document), Public: true},
		{Name: path + "/image_id", Value: image.ID, Public: true, DataType: "aws:ec2:image"},
		{Name: path + "/image_name", Value: image.Name, Public: true},
	}
	if s.ReleaseParameter != "" {
		parameters = append(parameters, Parameter{Name: path + "/" + s.ReleaseParameter, Value: release, Public: true})
	}
	return parameters
}

// complete fills in what follows from the rest of an image: identifiers are hashes, so that they are
// the same in every run.
func (i *Image) complete(region string) {
	if i.ID == "" {
		i.ID = HashID("ami-", region, i.OwnerID, i.Name, i.Architecture)
	}
	if i.State == "" {
		i.State = "available"
	}
	if i.VirtualizationType == "" {
		i.VirtualizationType = "hvm"
	}
	if i.PlatformDetails == "" {
		i.PlatformDetails = "Linux/UNIX"
	}
	if i.BootMode == "" {
		i.BootMode = "uefi-preferred"
		if i.Architecture == "arm64" {
			i.BootMode = "uefi"
		}
	}
	i.ENASupport = true
	if i.RootDeviceName == "" && len(i.BlockDevices) > 0 {
		i.RootDeviceName = i.BlockDevices[0].DeviceName
	}
	for n := range i.BlockDevices {
		if i.BlockDevices[n].SnapshotID == "" {
			i.BlockDevices[n].SnapshotID = HashID("snap-", i.ID, i.BlockDevices[n].DeviceName)
		}
	}
}

// HashID returns an identifier of prefix and 17 hexadecimal digits that depends on the parts alone: things
// that are there from the start have the same identifiers in every run.
func HashID(prefix string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return prefix + "0" + hex.EncodeToString(sum[:])[:16]
}
