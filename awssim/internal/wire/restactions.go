package wire

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// restActions are S3's (AWS: S3 API reference, the page of each action).
var restActions = map[string]restAction{
	"ListBuckets":  {decode: func(*restRequest) (any, error) { return &s3.ListBucketsInput{}, nil }, encode: xmlBody(listBuckets)},
	"CreateBucket": {decode: createBucket, encode: noBody},
	"DeleteBucket": {decode: func(r *restRequest) (any, error) { return &s3.DeleteBucketInput{Bucket: &r.bucket}, nil },
		encode: noBody, status: http.StatusNoContent},
	"HeadBucket": {decode: func(r *restRequest) (any, error) { return &s3.HeadBucketInput{Bucket: &r.bucket}, nil }, encode: headBucket},
	"GetBucketLocation": {decode: func(r *restRequest) (any, error) { return &s3.GetBucketLocationInput{Bucket: &r.bucket}, nil },
		encode: xmlBody(bucketLocation), queries: []string{"location"}},
	"ListObjectsV2": {decode: listObjectsInput, encode: xmlBody(listObjects),
		queries: []string{"list-type", "prefix", "delimiter", "max-keys", "continuation-token", "start-after", "encoding-type"}},
	"PutObject": {decode: putObject, encode: putObjectHeaders,
		headers: []string{"X-Amz-Server-Side-Encryption", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", "X-Amz-Tagging", "X-Amz-Storage-Class"}},
	"GetObject": {decode: func(r *restRequest) (any, error) { return &s3.GetObjectInput{Bucket: &r.bucket, Key: &r.key}, nil }, encode: getObject},
	"HeadObject": {decode: func(r *restRequest) (any, error) { return &s3.HeadObjectInput{Bucket: &r.bucket, Key: &r.key}, nil },
		encode: headObject},
	"DeleteObject": {decode: func(r *restRequest) (any, error) { return &s3.DeleteObjectInput{Bucket: &r.bucket, Key: &r.key}, nil },
		encode: noBody, status: http.StatusNoContent},
	"DeleteObjects": {decode: deleteObjects, encode: xmlBody(deletedObjects), queries: []string{"delete"}},
	"GetObjectTagging": {decode: func(r *restRequest) (any, error) {
		return &s3.GetObjectTaggingInput{Bucket: &r.bucket, Key: &r.key}, nil
	},
		encode: xmlBody(objectTags), queries: []string{"tagging"}},
	"PutObjectTagging": {decode: putObjectTagging, encode: noBody, queries: []string{"tagging"}},
	"DeleteObjectTagging": {decode: func(r *restRequest) (any, error) {
		return &s3.DeleteObjectTaggingInput{Bucket: &r.bucket, Key: &r.key}, nil
	},
		encode: noBody, queries: []string{"tagging"}, status: http.StatusNoContent},
}

const s3Namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// xmlBody writes the document that a function returns for an output, a value of encoding/xml's, as
// the body.
func xmlBody[O any](document func(*O) any) func(any, http.Header) ([]byte, error) {
	return func(output any, _ http.Header) ([]byte, error) {
		body, err := xml.Marshal(document(output.(*O)))
		if err != nil {
			return nil, fmt.Errorf("encoding an answer of S3: %w", err)
		}
		return append([]byte(xml.Header), body...), nil
	}
}

func noBody(any, http.Header) ([]byte, error) { return nil, nil }

func malformedXML(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if err := xml.Unmarshal(body, into); err != nil {
		return invalidXML()
	}
	return nil
}

func invalidXML() error {
	return sim.Errorf("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
}

// tagSet is S3's form of tags.
type tagSet struct {
	XMLName xml.Name `xml:"Tagging"`
	Tags    []tag    `xml:"TagSet>Tag"`
}

type tag struct {
	Key   string `xml:"Key"`
	Value string `xml:"Value"`
}

func createBucket(r *restRequest) (any, error) {
	var body struct {
		LocationConstraint string `xml:"LocationConstraint"`
	}
	if err := malformedXML(r.body, &body); err != nil {
		return nil, err
	}
	in := &s3.CreateBucketInput{Bucket: &r.bucket}
	if body.LocationConstraint != "" {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(body.LocationConstraint)}
	}
	return in, nil
}

func listObjectsInput(r *restRequest) (any, error) {
	in := &s3.ListObjectsV2Input{Bucket: &r.bucket}
	for name, member := range map[string]**string{
		"prefix": &in.Prefix, "delimiter": &in.Delimiter, "continuation-token": &in.ContinuationToken, "start-after": &in.StartAfter,
	} {
		if r.query.Has(name) {
			value := r.query.Get(name)
			*member = &value
		}
	}
	in.EncodingType = types.EncodingType(r.query.Get("encoding-type"))
	if in.EncodingType != "" && in.EncodingType != types.EncodingTypeUrl {
		return nil, sim.Errorf("InvalidArgument", "Invalid Encoding Method specified in Request")
	}
	if r.query.Has("max-keys") {
		number, err := strconv.ParseInt(r.query.Get("max-keys"), 10, 32)
		if err != nil || number < 0 {
			return nil, sim.Errorf("InvalidArgument", "Provided max-keys not an integer or within integer range")
		}
		size := int32(number)
		in.MaxKeys = &size
	}
	return in, nil
}

func putObject(r *restRequest) (any, error) {
	in := &s3.PutObjectInput{
		Bucket: &r.bucket, Key: &r.key, Body: bytes.NewReader(r.body), Metadata: map[string]string{},
		ServerSideEncryption: types.ServerSideEncryption(r.header.Get("X-Amz-Server-Side-Encryption")),
		StorageClass:         types.StorageClass(r.header.Get("X-Amz-Storage-Class")),
	}
	for name, member := range map[string]**string{
		"Content-Type": &in.ContentType, "X-Amz-Tagging": &in.Tagging, "If-None-Match": &in.IfNoneMatch, "If-Match": &in.IfMatch,
		"X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": &in.SSEKMSKeyId,
	} {
		if value := r.header.Get(name); value != "" {
			*member = &value
		}
	}
	for name, values := range r.header {
		if key, found := strings.CutPrefix(name, "X-Amz-Meta-"); found {
			in.Metadata[strings.ToLower(key)] = strings.Join(values, ",")
		}
	}
	return in, nil
}

func deleteObjects(r *restRequest) (any, error) {
	var body struct {
		Objects []struct {
			Key string `xml:"Key"`
		} `xml:"Object"`
		Quiet bool `xml:"Quiet"`
	}
	if err := malformedXML(r.body, &body); err != nil {
		return nil, err
	}
	in := &s3.DeleteObjectsInput{Bucket: &r.bucket, Delete: &types.Delete{Quiet: &body.Quiet}}
	for _, object := range body.Objects {
		// the model of S3: ObjectIdentifier requires Key, with at least one character; the code is
		// an inference
		if object.Key == "" {
			return nil, invalidXML()
		}
		in.Delete.Objects = append(in.Delete.Objects, types.ObjectIdentifier{Key: &object.Key})
	}
	return in, nil
}

// putObjectTagging refuses a body that breaks the schema (the model of S3: Tagging requires TagSet,
// Tag requires Key and Value).
func putObjectTagging(r *restRequest) (any, error) {
	var body struct {
		TagSet *struct {
			Tags []struct {
				Key   *string `xml:"Key"`
				Value *string `xml:"Value"`
			} `xml:"Tag"`
		} `xml:"TagSet"`
	}
	if err := malformedXML(r.body, &body); err != nil {
		return nil, err
	}
	if body.TagSet == nil {
		return nil, invalidXML()
	}
	in := &s3.PutObjectTaggingInput{Bucket: &r.bucket, Key: &r.key, Tagging: &types.Tagging{}}
	for _, t := range body.TagSet.Tags {
		if t.Key == nil || t.Value == nil {
			return nil, invalidXML()
		}
		in.Tagging.TagSet = append(in.Tagging.TagSet, types.Tag{Key: t.Key, Value: t.Value})
	}
	return in, nil
}

func listBuckets(out *s3.ListBucketsOutput) any {
	type bucket struct {
		Name         string
		CreationDate string
	}
	document := struct {
		XMLName xml.Name `xml:"ListAllMyBucketsResult"`
		Space   string   `xml:"xmlns,attr"`
		Buckets []bucket `xml:"Buckets>Bucket"`
	}{Space: s3Namespace}
	for _, b := range out.Buckets {
		document.Buckets = append(document.Buckets, bucket{*b.Name, b.CreationDate.UTC().Format(timeFormat)})
	}
	return document
}

func bucketLocation(out *s3.GetBucketLocationOutput) any {
	return struct {
		XMLName  xml.Name `xml:"LocationConstraint"`
		Space    string   `xml:"xmlns,attr"`
		Location string   `xml:",chardata"`
	}{Space: s3Namespace, Location: string(out.LocationConstraint)}
}

func headBucket(output any, header http.Header) ([]byte, error) {
	header.Set("X-Amz-Bucket-Region", *output.(*s3.HeadBucketOutput).BucketRegion)
	return nil, nil
}

func listObjects(out *s3.ListObjectsV2Output) any {
	type content struct {
		Key          string
		LastModified string
		ETag         string
		Size         int64
		StorageClass string
	}
	type prefix struct{ Prefix string }
	document := struct {
		XMLName               xml.Name  `xml:"ListBucketResult"`
		Space                 string    `xml:"xmlns,attr"`
		Name                  string    `xml:"Name"`
		Prefix                string    `xml:"Prefix"`
		MaxKeys               int32     `xml:"MaxKeys"`
		KeyCount              int32     `xml:"KeyCount"`
		IsTruncated           bool      `xml:"IsTruncated"`
		EncodingType          string    `xml:"EncodingType,omitempty"`
		NextContinuationToken *string   `xml:"NextContinuationToken,omitempty"`
		Contents              []content `xml:"Contents"`
		CommonPrefixes        []prefix  `xml:"CommonPrefixes"`
	}{
		Space: s3Namespace, Name: *out.Name, Prefix: *out.Prefix, MaxKeys: *out.MaxKeys, KeyCount: *out.KeyCount, IsTruncated: *out.IsTruncated,
		NextContinuationToken: out.NextContinuationToken, EncodingType: string(out.EncodingType),
	}
	encoded := func(text string) string {
		if out.EncodingType == types.EncodingTypeUrl {
			return strings.ReplaceAll(url.QueryEscape(text), "%2F", "/")
		}
		return text
	}
	document.Prefix = encoded(document.Prefix)
	for _, object := range out.Contents {
		document.Contents = append(document.Contents, content{
			encoded(*object.Key), object.LastModified.UTC().Format(timeFormat), *object.ETag, *object.Size, string(object.StorageClass),
		})
	}
	for _, common := range out.CommonPrefixes {
		document.CommonPrefixes = append(document.CommonPrefixes, prefix{encoded(*common.Prefix)})
	}
	return document
}

func putObjectHeaders(output any, header http.Header) ([]byte, error) {
	out := output.(*s3.PutObjectOutput)
	header.Set("ETag", *out.ETag)
	header.Set("X-Amz-Server-Side-Encryption", string(out.ServerSideEncryption))
	if out.SSEKMSKeyId != nil {
		header.Set("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", *out.SSEKMSKeyId)
	}
	return nil, nil
}

func getObject(output any, header http.Header) ([]byte, error) {
	out := output.(*s3.GetObjectOutput)
	objectHeaders(header, &s3.HeadObjectOutput{
		ContentType: out.ContentType, ETag: out.ETag, LastModified: out.LastModified, Metadata: out.Metadata,
		ServerSideEncryption: out.ServerSideEncryption, SSEKMSKeyId: out.SSEKMSKeyId,
	})
	return io.ReadAll(out.Body)
}

func headObject(output any, header http.Header) ([]byte, error) {
	objectHeaders(header, output.(*s3.HeadObjectOutput))
	return nil, nil
}

func objectHeaders(header http.Header, out *s3.HeadObjectOutput) {
	header.Set("Content-Type", *out.ContentType)
	header.Set("ETag", *out.ETag)
	header.Set("Last-Modified", out.LastModified.UTC().Format(http.TimeFormat))
	header.Set("X-Amz-Server-Side-Encryption", string(out.ServerSideEncryption))
	if out.SSEKMSKeyId != nil {
		header.Set("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", *out.SSEKMSKeyId)
	}
	for key, value := range out.Metadata {
		header.Set("X-Amz-Meta-"+key, value)
	}
	if out.ContentLength != nil {
		header.Set("Content-Length", strconv.FormatInt(*out.ContentLength, 10))
	}
}

func deletedObjects(out *s3.DeleteObjectsOutput) any {
	type (
		deleted struct{ Key string }
		failed  struct{ Key, Code, Message string }
	)
	document := struct {
		XMLName xml.Name  `xml:"DeleteResult"`
		Space   string    `xml:"xmlns,attr"`
		Deleted []deleted `xml:"Deleted"`
		Errors  []failed  `xml:"Error"`
	}{Space: s3Namespace}
	for _, d := range out.Deleted {
		document.Deleted = append(document.Deleted, deleted{*d.Key})
	}
	for _, e := range out.Errors {
		document.Errors = append(document.Errors, failed{*e.Key, *e.Code, *e.Message})
	}
	return document
}

func objectTags(out *s3.GetObjectTaggingOutput) any {
	document := tagSet{}
	for _, t := range out.TagSet {
		document.Tags = append(document.Tags, tag{*t.Key, *t.Value})
	}
	return document
}
