package aws

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/slipway-project/slipway/internal/boundedhttp"
)

// TestAnswersAreBounded has an endpoint answer with a body that is far longer than the limit once it
// is decompressed: reading stops at the limit.
func TestAnswersAreBounded(t *testing.T) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = io.WriteString(writer, `{"nodegroups": [`)
	item := []byte(strings.Repeat(` `, 64<<10))
	for written := 0; written < 2*longestAnswer; written += len(item) {
		_, _ = writer.Write(item)
	}
	_ = writer.Close()
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			_, _ = w.Write(packed.Bytes())
		}))
		t.Cleanup(server.Close)
		clients, err := NewSessions(awssdk.Config{
			Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKIATEST123456789012", "secret", ""),
		}).For(t.Context(), Principal{}, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = clients.EKS.ListNodegroups(t.Context(), &eks.ListNodegroupsInput{ClusterName: awssdk.String("prod")})
		var large *boundedhttp.TooLargeError
		if !errors.As(err, &large) || !strings.Contains(UserMessage(err), "larger than the limit of 16 MiB") {
			t.Errorf("status %d: error %v, for users %q", status, err, UserMessage(err))
		}
	}
}

// TestRegionsAreNames holds that what a tenant writes for a region cannot choose the host that
// requests are sent to.
func TestRegionsAreNames(t *testing.T) {
	t.Parallel()
	sessions := NewSessions(newWire(t).config())
	for region, want := range map[string]bool{
		"eu-central-1": true, "us-gov-west-1": true, "us-iso-east-1": true, "evil.example.com": false, "us-east-1.evil.example.com": false, "x@evil.example.com/": false, "evil.example.com#": false,
		"US-EAST-1": false, "-": false, "us-east-1-": false, "us-east-1\n": false, strings.Repeat("a", 64): false,
	} {
		_, err := sessions.For(t.Context(), Principal{}, region)
		var refused *InvalidRegionError
		if (err == nil) != want || err != nil && (!errors.As(err, &refused) || FateOf(err).Kind != WaitForUser) {
			t.Errorf("region %q: %v", region, err)
		}
	}
}
