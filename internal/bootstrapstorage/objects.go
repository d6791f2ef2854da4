package bootstrapstorage

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/slipway-project/slipway/internal/aws"
)

// S3 has the calls of S3 that keep objects.
type S3 interface {
	s3.ListObjectsV2APIClient
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error)
	DeleteObjects(context.Context, *s3.DeleteObjectsInput, ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error)
}

type objectStore struct{ s3 S3 }

func (s objectStore) in(bucket string) bucketStore { return bucketStore{s3: s.s3, bucket: bucket} }

// bucketStore keeps items in the objects of a bucket. Whose an object is, and what it holds, is in
// its metadata, which is written in one call with the content and needs no right of its own, as
// tags do. The bucket's default encryption applies: S3's own keys, unless its owner chose others.
type bucketStore struct {
	s3     S3
	bucket string
}

// The members of the metadata.
const (
	metadataOwner  = "slipway-owner"
	metadataDigest = "slipway-sha256"
)

func (s bucketStore) find(ctx context.Context, name string) (owner, digest string, exists bool, err error) {
	output, err := s.s3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &name})
	if aws.IsNotFound(err) {
		// No such object, or no such bucket: the write shows which.
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, fmt.Errorf("looking for object %q in bucket %q: %w", name, s.bucket, err)
	}
	return output.Metadata[metadataOwner], output.Metadata[metadataDigest], true, nil
}

func (s bucketStore) create(ctx context.Context, name string, item Item) error {
	return s.replace(ctx, name, item)
}

func (s bucketStore) replace(ctx context.Context, name string, item Item) error {
	_, err := s.s3.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &name, Body: bytes.NewReader(item.Content), ContentType: awssdk.String("text/plain"),
		Metadata: map[string]string{metadataOwner: item.Owner, metadataDigest: item.Digest()},
	})
	if err != nil {
		return fmt.Errorf("writing object %q in bucket %q: %w", name, s.bucket, err)
	}
	return nil
}

// list asks of each object that looks like ours whose it is.
func (s bucketStore) list(ctx context.Context, prefix, owner string) ([]string, error) {
	pages := s3.NewListObjectsV2Paginator(s.s3, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if aws.Code(err) == "NoSuchBucket" {
			// The bucket went with the cluster, and all that was in it.
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing objects below %q in bucket %q: %w", prefix, s.bucket, err)
		}
		for i := range page.Contents {
			key := awssdk.ToString(page.Contents[i].Key)
			if !hashes.MatchString(key[len(prefix):]) {
				continue
			}
			marked, _, exists, err := s.find(ctx, key)
			if err != nil {
				return nil, err
			}
			if exists && marked == owner {
				names = append(names, key)
			}
		}
	}
	return names, nil
}

// objectsBatch is the number of objects that one call deletes (AWS: DeleteObjects).
const objectsBatch = 1000

func (s bucketStore) remove(ctx context.Context, names []string) error {
	for batch := range slices.Chunk(names, objectsBatch) {
		identifiers := make([]s3types.ObjectIdentifier, len(batch))
		for i := range batch {
			identifiers[i] = s3types.ObjectIdentifier{Key: &batch[i]}
		}
		output, err := s.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: &s.bucket, Delete: &s3types.Delete{Objects: identifiers, Quiet: awssdk.Bool(true)},
		})
		if aws.Code(err) == "NoSuchBucket" {
			return nil
		}
		if err != nil {
			return fmt.Errorf("deleting objects %q in bucket %q: %w", batch, s.bucket, err)
		}
		for _, failure := range output.Errors {
			return fmt.Errorf("deleting object %q in bucket %q: %w", awssdk.ToString(failure.Key), s.bucket,
				&smithy.GenericAPIError{Code: awssdk.ToString(failure.Code), Message: awssdk.ToString(failure.Message)})
		}
	}
	return nil
}
