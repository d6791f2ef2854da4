// Package s3 owns the simulated Simple Storage Service: buckets and objects, as far as keeping
// small files takes. Versioning, multipart uploads, policies of buckets and access control lists
// are not simulated. Reads are consistent with writes at once (AWS: S3 user guide, "Amazon S3 data
// consistency model").
package s3

import (
	"cmp"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// bucket is a bucket without its objects. Its name is unique in the account; that it is in all of
// AWS is not simulated, because every account starts as a copy of the world.
type bucket struct {
	Name        string             `json:"name"`
	Region      string             `json:"region"`
	Created     time.Time          `json:"created"`
	Expirations []world.Expiration `json:"expirations,omitempty"`
}

// object is an object with its content.
type object struct {
	Bucket      string            `json:"bucket"`
	Key         string            `json:"key"`
	Content     string            `json:"content"`
	ContentType string            `json:"contentType"`
	ETag        string            `json:"eTag"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	Encryption  string            `json:"encryption"`
	KMSKeyID    string            `json:"kmsKeyID,omitempty"`
	Modified    time.Time         `json:"modified"`
}

type state struct {
	account *sim.Account
	buckets *sim.Table[bucket]
	objects *sim.Table[object] // by bucket/key
}

func of(a *sim.Account) *state { return sim.AccountStore(a, build) }

func build(a *sim.Account) *state {
	s := &state{account: a, buckets: sim.NewTable[bucket](a.Kernel()), objects: sim.NewTable[object](a.Kernel())}
	for _, region := range a.Kernel().World().Regions {
		for _, b := range region.Buckets {
			s.buckets.Put(b.Name, bucket{Name: b.Name, Region: region.Name, Created: world.Born, Expirations: b.Expirations})
		}
	}
	return s
}

// Register registers the handlers.
func Register(reg *sim.Registry) {
	sim.Handle(reg, "s3", "ListBuckets", listBuckets)
	sim.Handle(reg, "s3", "CreateBucket", createBucket)
	sim.Handle(reg, "s3", "DeleteBucket", deleteBucket)
	sim.Handle(reg, "s3", "HeadBucket", headBucket)
	sim.Handle(reg, "s3", "GetBucketLocation", getBucketLocation)
	sim.Handle(reg, "s3", "ListObjectsV2", listObjects)
	sim.Handle(reg, "s3", "PutObject", putObject)
	sim.Handle(reg, "s3", "GetObject", getObject)
	sim.Handle(reg, "s3", "HeadObject", headObject)
	sim.Handle(reg, "s3", "DeleteObject", deleteObject)
	sim.Handle(reg, "s3", "DeleteObjects", deleteObjects)
	sim.Handle(reg, "s3", "GetObjectTagging", getObjectTagging)
	sim.Handle(reg, "s3", "PutObjectTagging", putObjectTagging)
	sim.Handle(reg, "s3", "DeleteObjectTagging", deleteObjectTagging)
	reg.State("s3", dump)
	registerAuthorization(reg)
}

// dump returns what the account holds in the region.
func dump(r *sim.Region) any {
	s := of(r.Account)
	buckets, objects := map[string]any{}, map[string]any{}
	for _, b := range s.buckets.All() {
		if b.Region == r.Name {
			buckets[b.Name] = b
			for _, o := range s.in(b) {
				objects[b.Name+"/"+o.Key] = o
			}
		}
	}
	return map[string]any{"buckets": buckets, "objects": objects}
}

// Content returns the content of an object as an instance of the account would read it. Only for
// code under the kernel's lock.
func Content(a *sim.Account, bucketName, key string) (string, error) {
	s := of(a)
	b, ok := s.buckets.Get(bucketName)
	if !ok {
		return "", noSuchBucket(bucketName)
	}
	o, ok := s.object(b, key)
	if !ok {
		return "", noSuchKey()
	}
	return o.Content, nil
}

// noSuchBucket returns AWS's error (AWS: S3 API reference, error responses, for this and the codes
// below).
func noSuchBucket(name string) error {
	return sim.Errorf("NoSuchBucket", "The specified bucket does not exist: %s", name).WithStatus(http.StatusNotFound)
}

func noSuchKey() error {
	return sim.Errorf("NoSuchKey", "The specified key does not exist.").WithStatus(http.StatusNotFound)
}

// bucket returns a bucket of the region that serves the call.
func (s *state) bucket(c *sim.Call, name *string) (bucket, error) {
	b, ok := s.buckets.Get(*name)
	if !ok {
		return bucket{}, noSuchBucket(*name)
	}
	if b.Region != c.Region.Name {
		return bucket{}, sim.Errorf("PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified "+
			"endpoint. It is in %s.", b.Region).WithStatus(http.StatusMovedPermanently)
	}
	return b, nil
}

// object returns an object that has not expired.
func (s *state) object(b bucket, key string) (object, bool) {
	o, ok := s.objects.Get(b.Name + "/" + key)
	return o, ok && !b.expired(o, s.account.Kernel().Now())
}

// in returns the objects of a bucket, sorted by key.
func (s *state) in(b bucket) []object {
	now := s.account.Kernel().Now()
	found := slices.DeleteFunc(s.objects.All(), func(o object) bool { return o.Bucket != b.Name || b.expired(o, now) })
	slices.SortFunc(found, func(x, y object) int { return cmp.Compare(x.Key, y.Key) })
	return found
}

// expired applies the bucket's lifecycle rules: an object expires at the midnight UTC after its
// days have passed (AWS: S3 user guide, "Lifecycle rules based on an object's age").
func (b bucket) expired(o object, now time.Time) bool {
	return slices.ContainsFunc(b.Expirations, func(e world.Expiration) bool {
		due := o.Modified.UTC().AddDate(0, 0, e.Days).Truncate(24 * time.Hour).Add(24 * time.Hour)
		return strings.HasPrefix(o.Key, e.Prefix) && !now.Before(due)
	})
}

func listBuckets(c *sim.Call, _ *s3.ListBucketsInput) (*s3.ListBucketsOutput, error) {
	out := &s3.ListBucketsOutput{}
	for _, b := range of(c.Account).buckets.All() {
		out.Buckets = append(out.Buckets, types.Bucket{Name: &b.Name, CreationDate: &b.Created})
	}
	slices.SortFunc(out.Buckets, func(x, y types.Bucket) int { return cmp.Compare(*x.Name, *y.Name) })
	return out, nil
}

var (
	bucketNames = regexp.MustCompile(`^[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]$`)
	addresses   = regexp.MustCompile(`^\d+\.\d+\.\d+\.\d+$`)
)

// createBucket follows AWS: "Bucket naming rules", and CreateBucket on the location constraint,
// which us-east-1 alone goes without.
func createBucket(c *sim.Call, in *s3.CreateBucketInput) (*s3.CreateBucketOutput, error) {
	s := of(c.Account)
	name := *in.Bucket
	if !bucketNames.MatchString(name) || addresses.MatchString(name) || strings.Contains(name, "..") {
		return nil, sim.Errorf("InvalidBucketName", "The specified bucket is not valid: %s", name)
	}
	location := ""
	if in.CreateBucketConfiguration != nil {
		location = string(in.CreateBucketConfiguration.LocationConstraint)
	}
	if c.Region.Name == "us-east-1" && location != "" || c.Region.Name != "us-east-1" && location != c.Region.Name {
		return nil, sim.Errorf("IllegalLocationConstraintException", "The %s location constraint is incompatible for the region specific "+
			"endpoint this request was sent to.", cmp.Or(location, "unspecified"))
	}
	if _, exists := s.buckets.Get(name); exists {
		return nil, sim.Errorf("BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.").
			WithStatus(http.StatusConflict)
	}
	s.buckets.Put(name, bucket{Name: name, Region: c.Region.Name, Created: c.Now})
	return &s3.CreateBucketOutput{}, nil
}

func deleteBucket(c *sim.Call, in *s3.DeleteBucketInput) (*s3.DeleteBucketOutput, error) {
	s := of(c.Account)
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if len(s.in(b)) > 0 {
		return nil, sim.Errorf("BucketNotEmpty", "The bucket you tried to delete is not empty").WithStatus(http.StatusConflict)
	}
	s.buckets.Delete(b.Name)
	return &s3.DeleteBucketOutput{}, nil
}

func headBucket(c *sim.Call, in *s3.HeadBucketInput) (*s3.HeadBucketOutput, error) {
	b, err := of(c.Account).bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return &s3.HeadBucketOutput{BucketRegion: &b.Region}, nil
}

// getBucketLocation answers nothing for us-east-1 (AWS: GetBucketLocation).
func getBucketLocation(c *sim.Call, in *s3.GetBucketLocationInput) (*s3.GetBucketLocationOutput, error) {
	b, ok := of(c.Account).buckets.Get(*in.Bucket)
	if !ok {
		return nil, noSuchBucket(*in.Bucket)
	}
	out := &s3.GetBucketLocationOutput{}
	if b.Region != "us-east-1" {
		out.LocationConstraint = types.BucketLocationConstraint(b.Region)
	}
	return out, nil
}

func tagMap(tags []types.Tag) map[string]string {
	set := map[string]string{}
	for _, t := range tags {
		set[*t.Key] = *t.Value
	}
	return set
}

func tagList(tags map[string]string) []types.Tag {
	var list []types.Tag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		value := tags[key]
		list = append(list, types.Tag{Key: &key, Value: &value})
	}
	return list
}
