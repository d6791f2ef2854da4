// Package bootstrapstorage owns bootstrap data that is kept outside of launch templates:
// SecureString parameters of Systems Manager and objects in S3. It knows what they are called,
// whose they are, and how to write, find and delete them with as few calls as that takes.
//
// A process that starts trusts the digest in the status of an object if the annotation that is
// written before the data agrees with it. AWS allows three descriptions of parameters a second, so
// reading the data of a thousand pools would take minutes.
package bootstrapstorage

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// Place is a store of items.
type Place struct {
	// Bucket in S3. Empty is Systems Manager's parameter store.
	Bucket string
}

// String returns the place for annotations and descriptions: ssm, or s3/<bucket>.
func (p Place) String() string {
	if p.Bucket == "" {
		return "ssm"
	}
	return "s3/" + p.Bucket
}

var places = regexp.MustCompile(`^(?:ssm|s3/([a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]))$`)

// ParsePlace reads what String wrote.
func ParsePlace(text string) (Place, bool) {
	parts := places.FindStringSubmatch(text)
	if parts == nil {
		return Place{}, false
	}
	return Place{Bucket: parts[1]}, true
}

// Location says where the data of one configuration is. A rotated join token changes the data, and
// not its location.
type Location struct {
	Place
	// Hash identifies the data with its join tokens masked.
	Hash string
}

// String returns the location for a version's description: <place>/<hash>, at most 99 characters.
func (l Location) String() string { return l.Place.String() + "/" + l.Hash }

// ParseLocation reads what String wrote.
func ParseLocation(text string) (Location, bool) {
	end := strings.LastIndex(text, "/")
	if end < 0 || !hashes.MatchString(text[end+1:]) {
		return Location{}, false
	}
	place, ok := ParsePlace(text[:end])
	return Location{Place: place, Hash: text[end+1:]}, ok
}

// hashLength is as long as fingerprints are.
const hashLength = 32

var hashes = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Hash identifies data whose join tokens are masked.
func Hash(masked []byte) string {
	return digest(append([]byte("bootstrap-data/1:"), masked...))[:hashLength]
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

const (
	// parameters is the path of all parameters of Slipway's.
	parameters = "/slipway/"
	// objects is the prefix of all objects of Slipway's. CAPA's bucket policy lets nodes read what
	// is under node/ (spec.s3Bucket.nodesIAMInstanceProfiles); under machine-pool/, where CAPA
	// keeps the data of pools, its lifecycle rule deletes objects after a day.
	objects = "node/slipway/"
)

// Name returns the name of the parameter, or the key of the object, with the data of an owner,
// which is <namespace>/<cluster>/<name>.
func (l Location) Name(owner string) string { return l.prefix(owner) + l.Hash }

func (p Place) prefix(owner string) string {
	if p.Bucket == "" {
		return parameters + owner + "/"
	}
	return objects + owner + "/"
}

// URL names the item for users, and in Ignition's pointers.
func (l Location) URL(owner string) string {
	if l.Bucket == "" {
		return "ssm:" + l.Name(owner)
	}
	return "s3://" + l.Bucket + "/" + l.Name(owner)
}

// Item is an item to store.
type Item struct {
	Location Location
	// Owner is <namespace>/<cluster>/<name> of the AWSLaunchConfig.
	Owner string
	// Content is what an instance reads.
	Content []byte
	// Tags are put on parameters, for users and bills. They are set once, when a parameter is
	// created.
	Tags map[string]string
}

// Digest identifies the content, join tokens included.
func (i Item) Digest() string { return digest(i.Content) }
