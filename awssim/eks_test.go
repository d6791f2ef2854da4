package awssim_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

// TestEKSOverTheWire holds that a path, a query, or a body of EKS that its API does not have is
// refused, with the code in the header that SDKs read.
func TestEKSOverTheWire(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	for _, row := range []struct {
		reason, method, path, body string
		status                     int
		code, words                string
	}{
		{"an unknown path", "GET", "/nodes", "", 400, "UnknownOperationException", "GET /nodes"},
		{"an empty name in the path", "GET", "/clusters//addons", "", 400, "UnknownOperationException", "GET /clusters//addons"},
		{"a method that the path lacks", "PATCH", "/clusters/demo", "", 400, "UnknownOperationException", "PATCH"},
		{"an action without handler: it is not simulated", "POST", "/clusters/demo/fargate-profiles", "{}", 400, "UnknownOperationException", "POST /clusters/demo/fargate-profiles"},
		{"an unknown query parameter", "GET", "/clusters?page=2", "", 400, "SerializationException", "page"},
		{"a boolean that is none", "GET", "/cluster-versions?includeAll=yes", "", 400, "SerializationException", "includeAll"},
		{"a number that is none", "GET", "/clusters?maxResults=many", "", 400, "SerializationException", "maxResults"},
		{"an unknown member", "POST", "/clusters/demo/node-groups", `{"nodegroup":"a"}`, 400, "SerializationException", "nodegroup"},
		{"a member that belongs into the path", "POST", "/clusters/demo/node-groups", `{"clusterName":"a"}`, 400, "SerializationException", "clusterName"},
		{"a body that is no JSON", "POST", "/clusters/demo/node-groups", `{`, 400, "SerializationException", "JSON"},
		{"a cluster that is not there", "GET", "/clusters/demo", "", 404, "ResourceNotFoundException", "No cluster found for name: demo."},
	} {
		status, header, body := e.rest(t, row.method, row.path, row.body)
		if status != row.status || header.Get("X-Amzn-Errortype") != row.code || !strings.Contains(body, row.words) || !strings.Contains(body, `"message"`) {
			t.Errorf("%s: %d %s %s, want %d %s with %q", row.reason, status, header.Get("X-Amzn-Errortype"), body, row.status, row.code, row.words)
		}
	}
}

// rest sends a signed request to EKS.
func (e *endpoint) rest(t *testing.T, method, path, body string) (status int, header http.Header, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, e.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20260101/us-east-1/eks/aws4_request, SignedHeaders=host, Signature=0")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(content)
}

// TestClustersOfTheWorld holds that a world has clusters from the start, in every account, and that
// an impossible cluster is refused.
func TestClustersOfTheWorld(t *testing.T) {
	t.Parallel()
	w := *world.Default()
	w.Regions = append([]world.Region{}, w.Regions...)
	w.Regions[0].Clusters = []world.Cluster{{Name: "given", Version: "1.34", Subnets: []string{"subnet-0b2000000000000aa"}, Endpoint: "https://example.com", SecurityGroup: "sg-0c1000000000000ab"}}
	e := serve(t, awssim.Options{World: &w})
	out := must[*eks.DescribeClusterOutput](t)(eks.NewFromConfig(e.config(key)).DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("given")}))
	if c := out.Cluster; *c.Endpoint != "https://example.com" || *c.ResourcesVpcConfig.ClusterSecurityGroupId != "sg-0c1000000000000ab" || *c.Version != "1.34" {
		t.Errorf("the cluster is %+v", c)
	}
	for reason, c := range map[string]awssim.Cluster{
		"no subnets":         {Name: "a", Version: "1.34"},
		"an unknown subnet":  {Name: "a", Version: "1.34", Subnets: []string{"subnet-1"}},
		"no name":            {Version: "1.34", Subnets: []string{"subnet-0b2000000000000aa"}},
		"a version too long": {Name: "a", Version: "1.34.0", Subnets: []string{"subnet-0b2000000000000aa"}},
	} {
		if err := e.Region(account, region).SetCluster(c); err == nil {
			t.Errorf("%s: accepted", reason)
		}
	}
	if _, err := world.Parse([]byte("extends: default\nregions:\n- name: r\n  zones: [{name: ra, id: r1}]\n  clusters: [{name: a, version: latest, subnets: [subnet-1]}]\n")); err == nil {
		t.Error("a world with a cluster of no version was accepted")
	}
}
