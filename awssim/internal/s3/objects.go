package s3

import (
	"crypto/md5" //nolint:gosec // what S3 makes entity tags of
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Limits of an object (AWS: S3 user guide, "Creating object key names", "Working with object
// metadata", "Categorizing objects using tags").
const (
	longestKey      = 1024
	largestMetadata = 2048
	mostTags        = 10
)

func putObject(c *sim.Call, in *s3.PutObjectInput) (*s3.PutObjectOutput, error) {
	s := of(c.Account)
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if len(*in.Key) > longestKey {
		return nil, sim.Errorf("KeyTooLongError", "Your key is too long")
	}
	if err := checkStorageClass(in.StorageClass); err != nil {
		return nil, err
	}
	was, exists := s.object(b, *in.Key)
	if err := precondition(in, was, exists); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, sim.Errorf("IncompleteBody", "%s", err)
	}
	o := object{
		Bucket: b.Name, Key: *in.Key, Content: string(content), ContentType: str(in.ContentType), Metadata: in.Metadata,
		Encryption: string(in.ServerSideEncryption), KMSKeyID: str(in.SSEKMSKeyId), Modified: c.Now,
	}
	if o.Tags, err = taggingHeader(str(in.Tagging)); err != nil {
		return nil, err
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	s.objects.Put(b.Name+"/"+o.Key, o)
	out := &s3.PutObjectOutput{ETag: &o.ETag, ServerSideEncryption: types.ServerSideEncryption(o.Encryption)}
	if o.KMSKeyID != "" {
		out.SSEKMSKeyId = &o.KMSKeyID
	}
	return out, nil
}

// checkStorageClass refuses values that are no storage class (AWS: S3 error responses,
// InvalidStorageClass), and classes that objects do not have here.
func checkStorageClass(class types.StorageClass) error {
	switch {
	case class == "", class == types.StorageClassStandard:
		return nil
	case !slices.Contains(class.Values(), class):
		return sim.Errorf("InvalidStorageClass", "The storage class you specified is not valid")
	}
	return sim.Errorf("NotImplemented", "The storage class %s is not simulated.", class).WithStatus(http.StatusNotImplemented)
}

// precondition follows AWS: S3 user guide, "Conditional requests", for writes.
func precondition(in *s3.PutObjectInput, was object, exists bool) error {
	none, match := str(in.IfNoneMatch), str(in.IfMatch)
	switch {
	case none != "" && none != "*":
		return sim.Errorf("NotImplemented", "If-None-Match of a write takes * alone.").WithStatus(http.StatusNotImplemented)
	case none == "*" && exists, match != "" && exists && match != was.ETag:
		return sim.Errorf("PreconditionFailed", "At least one of the pre-conditions you specified did not hold").WithStatus(http.StatusPreconditionFailed)
	case match != "" && !exists:
		return noSuchKey()
	}
	return nil
}

// complete checks and fills in what S3 adds. Every object is encrypted, with S3's own keys unless
// the request names others (AWS: S3 user guide, "Amazon S3 now automatically encrypts all new
// objects"). Its entity tag is the MD5 of the content unless KMS encrypts it (AWS: API_Object).
func (o *object) complete() error {
	size := 0
	for key, value := range o.Metadata {
		size += len(key) + len(value)
	}
	if size > largestMetadata {
		return sim.Errorf("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size.")
	}
	if o.ContentType == "" {
		o.ContentType = "binary/octet-stream"
	}
	material := o.Content
	switch o.Encryption {
	case "":
		o.Encryption = string(types.ServerSideEncryptionAes256)
	case string(types.ServerSideEncryptionAes256):
	case string(types.ServerSideEncryptionAwsKms):
		material = "encrypted:" + material
		if o.KMSKeyID == "" {
			o.KMSKeyID = "alias/aws/s3"
		}
	default:
		return sim.Errorf("InvalidArgument", "The encryption method specified is not supported: %s", o.Encryption)
	}
	if o.KMSKeyID != "" && o.Encryption != string(types.ServerSideEncryptionAwsKms) {
		return sim.Errorf("InvalidArgument", "A KMS key goes with the encryption method aws:kms alone.")
	}
	sum := md5.Sum([]byte(material)) //nolint:gosec // what S3 makes entity tags of
	o.ETag = `"` + hex.EncodeToString(sum[:]) + `"`
	return nil
}

func taggingHeader(text string) (map[string]string, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, sim.Errorf("InvalidArgument", "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.")
	}
	tags := map[string]string{}
	for key, list := range values {
		if len(list) > 1 {
			return nil, sim.Errorf("InvalidTag", "Cannot provide multiple Tags with the same key")
		}
		tags[key] = list[0]
	}
	return tags, checkTags(tags)
}

func checkTags(tags map[string]string) error {
	if len(tags) > mostTags {
		return sim.Errorf("BadRequest", "Object tags cannot be greater than %d", mostTags)
	}
	for key, value := range tags {
		if key == "" || len([]rune(key)) > 128 || len([]rune(value)) > 256 || strings.HasPrefix(key, "aws:") {
			return sim.Errorf("InvalidTag", "The TagKey or TagValue you have provided is invalid: %s", key)
		}
	}
	return nil
}

func (s *state) find(c *sim.Call, bucketName, key *string) (object, error) {
	b, err := s.bucket(c, bucketName)
	if err != nil {
		return object{}, err
	}
	o, ok := s.object(b, *key)
	// a caller that may not list does not learn what exists (API GetObject, "Permissions")
	if !ok && !c.Permits(onBucket("s3:ListBucket", b.Name)) {
		return object{}, accessDenied("Access Denied")
	}
	if !ok {
		return object{}, noSuchKey()
	}
	return o, nil
}

func getObject(c *sim.Call, in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	o, err := of(c.Account).find(c, in.Bucket, in.Key)
	if err != nil {
		return nil, err
	}
	head := o.head()
	return &s3.GetObjectOutput{
		Body: io.NopCloser(strings.NewReader(o.Content)), ContentType: head.ContentType, ETag: head.ETag, LastModified: head.LastModified,
		Metadata: head.Metadata, ServerSideEncryption: head.ServerSideEncryption, SSEKMSKeyId: head.SSEKMSKeyId,
	}, nil
}

func headObject(c *sim.Call, in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
	o, err := of(c.Account).find(c, in.Bucket, in.Key)
	if err != nil {
		return nil, err
	}
	return o.head(), nil
}

func (o object) head() *s3.HeadObjectOutput {
	size := int64(len(o.Content))
	out := &s3.HeadObjectOutput{
		ContentLength: &size, ContentType: &o.ContentType, ETag: &o.ETag, LastModified: &o.Modified, Metadata: maps.Clone(o.Metadata),
		ServerSideEncryption: types.ServerSideEncryption(o.Encryption),
	}
	if o.KMSKeyID != "" {
		out.SSEKMSKeyId = &o.KMSKeyID
	}
	return out
}

// deleteObject succeeds for a key that is not there (AWS: DeleteObject).
func deleteObject(c *sim.Call, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	s := of(c.Account)
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	s.objects.Delete(b.Name + "/" + *in.Key)
	return &s3.DeleteObjectOutput{}, nil
}

// deleteObjects deletes up to 1,000 objects (AWS: DeleteObjects).
func deleteObjects(c *sim.Call, in *s3.DeleteObjectsInput) (*s3.DeleteObjectsOutput, error) {
	s := of(c.Account)
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if len(in.Delete.Objects) == 0 || len(in.Delete.Objects) > 1000 {
		return nil, sim.Errorf("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
	}
	out := &s3.DeleteObjectsOutput{}
	for _, identifier := range in.Delete.Objects {
		if !c.Permits(onObject("s3:DeleteObject", b.Name, *identifier.Key)) {
			out.Errors = append(out.Errors, types.Error{Key: identifier.Key, Code: aws.String("AccessDenied"), Message: aws.String("Access Denied")})
			continue
		}
		s.objects.Delete(b.Name + "/" + *identifier.Key)
		if in.Delete.Quiet == nil || !*in.Delete.Quiet {
			out.Deleted = append(out.Deleted, types.DeletedObject{Key: identifier.Key})
		}
	}
	return out, nil
}

// largestPage is the number of keys that a list holds (AWS: ListObjectsV2).
const largestPage = 1000

func listObjects(c *sim.Call, in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	s := of(c.Account)
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	prefix, delimiter, after := str(in.Prefix), str(in.Delimiter), str(in.StartAfter)
	size := int32(largestPage)
	if in.MaxKeys != nil {
		size = min(*in.MaxKeys, largestPage)
	}
	// A key, or what keys have in common up to the delimiter.
	var entries []string
	objects := map[string]object{}
	for _, o := range s.in(b) {
		if !strings.HasPrefix(o.Key, prefix) || o.Key <= after {
			continue
		}
		entry := o.Key
		if rest := o.Key[len(prefix):]; delimiter != "" && strings.Contains(rest, delimiter) {
			entry = prefix + rest[:strings.Index(rest, delimiter)+len(delimiter)]
		} else {
			objects[entry] = o
		}
		if !slices.Contains(entries, entry) {
			entries = append(entries, entry)
		}
	}
	page, next, ok := sim.Page(entries, in.ContinuationToken, int(size), func(entry string) string { return entry })
	if !ok {
		return nil, sim.Errorf("InvalidArgument", "The continuation token provided is incorrect")
	}
	count, truncated := int32(len(page)), next != nil //nolint:gosec // at most a thousand
	out := &s3.ListObjectsV2Output{
		Name: in.Bucket, Prefix: &prefix, MaxKeys: &size, KeyCount: &count, IsTruncated: &truncated, NextContinuationToken: next,
		EncodingType: in.EncodingType,
	}
	for _, entry := range page {
		if o, whole := objects[entry]; whole {
			length := int64(len(o.Content))
			out.Contents = append(out.Contents, types.Object{
				Key: &o.Key, ETag: &o.ETag, LastModified: &o.Modified, Size: &length, StorageClass: types.ObjectStorageClassStandard,
			})
			continue
		}
		out.CommonPrefixes = append(out.CommonPrefixes, types.CommonPrefix{Prefix: &entry})
	}
	return out, nil
}

func getObjectTagging(c *sim.Call, in *s3.GetObjectTaggingInput) (*s3.GetObjectTaggingOutput, error) {
	o, err := of(c.Account).find(c, in.Bucket, in.Key)
	if err != nil {
		return nil, err
	}
	return &s3.GetObjectTaggingOutput{TagSet: tagList(o.Tags)}, nil
}

func putObjectTagging(c *sim.Call, in *s3.PutObjectTaggingInput) (*s3.PutObjectTaggingOutput, error) {
	tags := tagMap(in.Tagging.TagSet)
	if err := checkTags(tags); err != nil {
		return nil, err
	}
	if err := retag(c, in.Bucket, in.Key, tags); err != nil {
		return nil, err
	}
	return &s3.PutObjectTaggingOutput{}, nil
}

func deleteObjectTagging(c *sim.Call, in *s3.DeleteObjectTaggingInput) (*s3.DeleteObjectTaggingOutput, error) {
	if err := retag(c, in.Bucket, in.Key, nil); err != nil {
		return nil, err
	}
	return &s3.DeleteObjectTaggingOutput{}, nil
}

func retag(c *sim.Call, bucketName, key *string, tags map[string]string) error {
	s := of(c.Account)
	o, err := s.find(c, bucketName, key)
	if err != nil {
		return err
	}
	o.Tags = tags
	s.objects.Put(o.Bucket+"/"+o.Key, o)
	return nil
}

func str(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
