package awssim_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
)

// bucketOfCAPA is the default world's, whose objects under machine-pool/ expire after a day.
const bucketOfCAPA = "cluster-api-provider-aws-bootstrap"

func store(t *testing.T, c *s3.Client, key, content string) {
	t.Helper()
	must[*s3.PutObjectOutput](t)(c.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(bucketOfCAPA), Key: &key, Body: strings.NewReader(content),
	}))
}

func keys(t *testing.T, c *s3.Client, prefix string) []string {
	t.Helper()
	var found []string
	pages := s3.NewListObjectsV2Paginator(c, &s3.ListObjectsV2Input{Bucket: aws.String(bucketOfCAPA), Prefix: &prefix, MaxKeys: aws.Int32(2)})
	for pages.HasMorePages() {
		page := must[*s3.ListObjectsV2Output](t)(pages.NextPage(t.Context()))
		for _, object := range page.Contents {
			found = append(found, *object.Key)
		}
	}
	return found
}

func TestObjects(t *testing.T) {
	t.Parallel()
	c := s3.NewFromConfig(serve(t, awssim.Options{}).config(key))
	bucket := aws.String(bucketOfCAPA)
	put := must[*s3.PutObjectOutput](t)(c.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: bucket, Key: aws.String("node/a b+c"), Body: strings.NewReader("content\n"), ContentType: aws.String("text/plain"),
		Metadata: map[string]string{"Owner": "me"}, Tagging: aws.String("team=blue"),
	}))
	if put.ServerSideEncryption != types.ServerSideEncryptionAes256 {
		t.Errorf("encrypted by %q: S3 encrypts every object", put.ServerSideEncryption)
	}
	got := must[*s3.GetObjectOutput](t)(c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: aws.String("node/a b+c")}))
	content, err := io.ReadAll(got.Body)
	if err != nil || string(content) != "content\n" || got.Metadata["owner"] != "me" || *got.ContentType != "text/plain" || *got.ETag != *put.ETag {
		t.Errorf("got %q, %+v, %v", content, got, err)
	}
	head := must[*s3.HeadObjectOutput](t)(c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: bucket, Key: aws.String("node/a b+c")}))
	if *head.ContentLength != 8 || head.Metadata["owner"] != "me" || !head.LastModified.Equal(start) {
		t.Errorf("head is %+v", head)
	}
	tags := must[*s3.GetObjectTaggingOutput](t)(c.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: bucket, Key: aws.String("node/a b+c")}))
	if len(tags.TagSet) != 1 || *tags.TagSet[0].Value != "blue" {
		t.Errorf("tags are %+v", tags.TagSet)
	}
	for i := range 5 {
		store(t, c, fmt.Sprintf("node/%d", i), "x")
	}
	if diff := cmp.Diff([]string{"node/0", "node/1", "node/2", "node/3", "node/4", "node/a b+c"}, keys(t, c, "node/")); diff != "" {
		t.Errorf("listed (-want +got)\n%s", diff)
	}
	must[*s3.DeleteObjectsOutput](t)(c.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: bucket, Delete: &types.Delete{
		Objects: []types.ObjectIdentifier{{Key: aws.String("node/0")}, {Key: aws.String("node/none")}},
	}}))
	must[*s3.DeleteObjectOutput](t)(c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: aws.String("node/1")}))
	if diff := cmp.Diff([]string{"node/2", "node/3", "node/4", "node/a b+c"}, keys(t, c, "")); diff != "" {
		t.Errorf("left (-want +got)\n%s", diff)
	}
}

// TestKeysWithOddParts holds that keys can have empty and dotted parts, which are no paths.
func TestKeysWithOddParts(t *testing.T) {
	t.Parallel()
	c := s3.NewFromConfig(serve(t, awssim.Options{}).config(key))
	odd := []string{"/a", "a//b", "a/./b", "a/../b", "a/b/"}
	for _, k := range odd {
		store(t, c, k, k)
		got := must[*s3.GetObjectOutput](t)(c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucketOfCAPA), Key: &k}))
		if content, err := io.ReadAll(got.Body); err != nil || string(content) != k {
			t.Errorf("the object %s has the content %q, %v", k, content, err)
		}
	}
	if diff := cmp.Diff([]string{"/a", "a/../b", "a/./b", "a//b", "a/b/"}, keys(t, c, "")); diff != "" {
		t.Errorf("listed (-want +got)\n%s", diff)
	}
}

func TestObjectErrors(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	c := s3.NewFromConfig(e.config(key))
	store(t, c, "there", "x")
	unchecked := e.config(key)
	unchecked.APIOptions = append(unchecked.APIOptions, unvalidated)
	bucket := aws.String(bucketOfCAPA)
	for _, row := range []struct {
		reason, code string
		call         func() error
	}{
		{"no such bucket", "NoSuchBucket", func() error {
			_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("none"), Key: aws.String("a"), Body: strings.NewReader("x")})
			return err
		}},
		{"no such key", "NoSuchKey", func() error {
			_, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: aws.String("none")})
			return err
		}},
		{"HEAD has no body to name a code", "NotFound", func() error {
			_, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: bucket, Key: aws.String("none")})
			return err
		}},
		{"a condition that does not hold", "PreconditionFailed", func() error {
			_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: aws.String("there"), IfNoneMatch: aws.String("*"), Body: strings.NewReader("x")})
			return err
		}},
		{"too much metadata", "MetadataTooLarge", func() error {
			_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: aws.String("a"), Body: strings.NewReader("x"),
				Metadata: map[string]string{"a": strings.Repeat("x", 2048)}})
			return err
		}},
		{"no storage class", "InvalidStorageClass", func() error {
			_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: aws.String("a"), Body: strings.NewReader("x"), StorageClass: "COLD"})
			return err
		}},
		{"a storage class that is not simulated", "NotImplemented", func() error {
			_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: aws.String("a"), Body: strings.NewReader("x"), StorageClass: types.StorageClassGlacier})
			return err
		}},
		{"tags without a set", "MalformedXML", func() error {
			_, err := s3.NewFromConfig(unchecked).PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: bucket, Key: aws.String("there"), Tagging: &types.Tagging{}})
			return err
		}},
		{"a tag without a value", "MalformedXML", func() error {
			_, err := s3.NewFromConfig(unchecked).PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{
				Bucket: bucket, Key: aws.String("there"), Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a")}}}})
			return err
		}},
		{"deleting an object without a key", "MalformedXML", func() error {
			_, err := c.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("")}}}})
			return err
		}},
		{"an encoding that is none", "InvalidArgument", func() error {
			_, err := c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: bucket, EncodingType: "base64"})
			return err
		}},
		{"a bucket with objects stays", "BucketNotEmpty", func() error {
			_, err := c.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: bucket})
			return err
		}},
		{"what is not simulated is refused", "NotImplemented", func() error {
			_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: aws.String("a"), Body: strings.NewReader("x"), ACL: types.ObjectCannedACLPrivate})
			return err
		}},
		{"and so is an action", "NotImplemented", func() error {
			_, err := c.GetBucketPolicy(t.Context(), &s3.GetBucketPolicyInput{Bucket: bucket})
			return err
		}},
	} {
		if got := code(row.call()); got != row.code {
			t.Errorf("%s: got %s, want %s", row.reason, got, row.code)
		}
	}
	if _, err := e.AddFault(awssim.Fault{Service: "s3", Action: "PutObject", Code: "AccessDenied", Status: http.StatusForbidden, Message: "Access Denied"}); err != nil {
		t.Fatal(err)
	}
	_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: aws.String("a"), Body: strings.NewReader("x")})
	if code(err) != "AccessDenied" {
		t.Errorf("a fault answers %v", err)
	}
	other := e.config("AKIATEST999988887777")
	if _, err := s3.NewFromConfig(other).GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: aws.String("there")}); code(err) != "NoSuchKey" {
		t.Errorf("another account has a bucket of its own: %v", err)
	}
}

// TestVirtualHostedBucket holds that the bucket's name may stand before the host.
func TestVirtualHostedBucket(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	config := e.config(key)
	host := strings.TrimPrefix(e.url, "http://")
	config.BaseEndpoint = aws.String(strings.Replace(e.url, "127.0.0.1", "localhost", 1))
	var dialed string
	config.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed = address
		return (&net.Dialer{}).DialContext(ctx, network, host)
	}}}
	c := s3.NewFromConfig(config)
	store(t, c, "there", "x")
	if !strings.HasPrefix(dialed, bucketOfCAPA+".localhost:") {
		t.Errorf("the client called %s", dialed)
	}
	if diff := cmp.Diff([]string{"there"}, keys(t, s3.NewFromConfig(e.config(key)), "")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestExpiration holds that objects expire by the rules of their bucket.
func TestExpiration(t *testing.T) {
	t.Parallel()
	clock := simclock.New(start.Add(time.Hour), 0)
	t.Cleanup(clock.Close)
	e := serve(t, awssim.Options{Clock: clock})
	c := s3.NewFromConfig(e.config(key))
	store(t, c, "machine-pool/a", "x")
	store(t, c, "node/a", "x")
	clock.Step(46 * time.Hour)
	if got := keys(t, c, ""); len(got) != 2 {
		t.Errorf("after %v there are %v: a rule acts at midnight", 46*time.Hour, got)
	}
	clock.Step(2 * time.Hour)
	if diff := cmp.Diff([]string{"node/a"}, keys(t, c, "")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if content, err := e.Region(account, region).Object(bucketOfCAPA, "node/a"); err != nil || content != "x" {
		t.Errorf("an instance reads %q, %v", content, err)
	}
	if _, err := e.Region(account, region).Object(bucketOfCAPA, "machine-pool/a"); err == nil {
		t.Error("an instance reads what has ended")
	}
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	c := s3.NewFromConfig(serve(t, awssim.Options{}).config(key))
	must[*s3.CreateBucketOutput](t)(c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("mine")}))
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("Not_A_Name")}); code(err) != "InvalidBucketName" {
		t.Errorf("a name that is none: %v", err)
	}
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("mine")}); code(err) != "BucketAlreadyOwnedByYou" {
		t.Errorf("twice: %v", err)
	}
	must[*s3.HeadBucketOutput](t)(c.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String("mine")}))
	must[*s3.GetBucketLocationOutput](t)(c.GetBucketLocation(t.Context(), &s3.GetBucketLocationInput{Bucket: aws.String("mine")}))
	if list := must[*s3.ListBucketsOutput](t)(c.ListBuckets(t.Context(), &s3.ListBucketsInput{})); len(list.Buckets) != 2 {
		t.Errorf("there are %d buckets", len(list.Buckets))
	}
	must[*s3.DeleteBucketOutput](t)(c.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: aws.String("mine")}))
	if _, err := c.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String("mine")}); code(err) != "NotFound" {
		t.Errorf("a bucket that is gone: %v", err)
	}
}
