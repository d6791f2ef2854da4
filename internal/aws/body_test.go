package aws

import (
	"io"
	"net/http"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// sent answers nothing and keeps what it is sent.
type sent struct {
	body   string
	length int64
	writes bool
}

// Do implements the SDK's HTTPClient.
func (s *sent) Do(request *http.Request) (*http.Response, error) {
	_, s.writes = request.Body.(io.WriterTo)
	body, err := io.ReadAll(request.Body)
	s.body, s.length = string(body), request.ContentLength
	// net/http reads this when the answer has begun, and the SDK has closed the body.
	_ = request.Body.Close()
	if extra, late := io.Copy(io.Discard, request.Body); extra != 0 || late != nil {
		return nil, late
	}
	return &http.Response{StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(""))}, err
}

// TestSendBodies holds that reading a body that the SDK has closed returns neither data nor an
// error, and that the body is sent whole.
func TestSendBodies(t *testing.T) {
	t.Parallel()
	seen := &sent{}
	config := awssdk.Config{
		Region: "us-east-1", HTTPClient: seen, Credentials: credentials.NewStaticCredentialsProvider("AKIATEST123456789012", "secret", ""),
		Retryer: func() awssdk.Retryer { return awssdk.NopRetryer{} }, BaseEndpoint: awssdk.String("https://aws.example.com"),
	}
	describe := func(config awssdk.Config) {
		// nothing is answered
		_, _ = ec2.NewFromConfig(config).DescribeLaunchTemplates(t.Context(), describe1)
	}
	describe(config)
	if !seen.writes {
		t.Error("the SDK's own bodies are harmless by now: SendBodies is not needed any more")
	}
	whole := seen.body
	config.APIOptions = append(config.APIOptions, SendBodies)
	describe(config)
	if seen.writes || seen.body != whole || int(seen.length) != len(whole) {
		t.Errorf("sent were %d bytes, %q, want %q; with WriteTo: %t", seen.length, seen.body, whole, seen.writes)
	}
	_, _ = s3.NewFromConfig(config).PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: awssdk.String("bucket"), Key: awssdk.String("key"), Body: strings.NewReader("content"),
	})
	if seen.writes || !strings.Contains(seen.body, "content") || int(seen.length) != len(seen.body) {
		t.Errorf("of an object %d bytes are sent, %q; with WriteTo: %t", seen.length, seen.body, seen.writes)
	}
}
