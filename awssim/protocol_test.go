package awssim_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

// raw sends a form as no SDK would and returns status and body.
func (e *endpoint) raw(t testing.TB, service, form string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.url, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if service != "" {
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20260101/"+region+"/"+service+
			"/aws4_request, SignedHeaders=host, Signature=00")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

const ec2Version = "&Version=2016-11-15"

func TestWhatIsUnknownIsRefusedLoudly(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	json := []string{"Content-Type", "application/x-amz-json-1.1", "X-Amz-Target"}
	rows := []struct {
		reason, service, form string
		header                []string
		status                int
		want                  string
	}{
		{"EC2: an unknown parameter", "ec2", "Action=DescribeVpcs&VpcIdd.1=vpc-1" + ec2Version, nil, 400, "<Code>UnknownParameter</Code><Message>The parameter VpcIdd.1 is not recognized</Message>"},
		{"EC2: an unknown member of a structure", "ec2", "Action=DescribeVpcs&Filter.1.Named=x" + ec2Version, nil, 400, "The parameter Filter.1.Named is not recognized"},
		{"EC2: lists are flat", "ec2", "Action=DescribeVpcs&VpcId.member.1=vpc-1" + ec2Version, nil, 400, "The parameter VpcId.member is not recognized"},
		{"EC2: lists begin with 1", "ec2", "Action=DescribeVpcs&VpcId.0=vpc-1" + ec2Version, nil, 400, "The parameter VpcId.0 is not recognized"},
		{"EC2: a value for a list", "ec2", "Action=DescribeVpcs&VpcId=vpc-1" + ec2Version, nil, 400, "The parameter VpcId is not recognized"},
		{"EC2: a member of a value", "ec2", "Action=DescribeVpcs&DryRun.Really=true" + ec2Version, nil, 400, "The parameter DryRun.Really is not recognized"},
		{"EC2: a number that is none", "ec2", "Action=DescribeVpcs&MaxResults=many" + ec2Version, nil, 400, "<Code>InvalidParameterValue</Code>"},
		{"EC2: a number beyond its size", "ec2", "Action=DescribeVpcs&MaxResults=99999999999" + ec2Version, nil, 400, "<Code>InvalidParameterValue</Code>"},
		{"EC2: a boolean that is none", "ec2", "Action=DescribeVpcs&DryRun=maybe" + ec2Version, nil, 400, "<Code>InvalidParameterValue</Code>"},
		{"EC2: an unknown action", "ec2", "Action=DescribeRockets" + ec2Version, nil, 400, "<Response><Errors><Error><Code>InvalidAction</Code><Message>The action DescribeRockets is not valid for this web service.</Message></Error></Errors>"},
		{"EC2: an action with tables and no handler", "ec2", "Action=CancelSpotInstanceRequests" + ec2Version, nil, 400, "<Code>InvalidAction</Code>"},
		{"EC2: another version of the API", "ec2", "Action=DescribeVpcs&Version=2008-01-01", nil, 400, "<Code>NoSuchVersion</Code>"},
		{"EC2: no action", "ec2", "Version=2016-11-15", nil, 400, "<Code>MissingAction</Code>"},
		{"Auto Scaling: an unknown parameter", "autoscaling", "Action=DescribeAutoScalingGroups&Version=2011-01-01&Nmaes.member.1=x", nil, 400, "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>"},
		{"Auto Scaling: lists are not flat", "autoscaling", "Action=DescribeAutoScalingGroups&Version=2011-01-01&AutoScalingGroupNames.1=x", nil, 400, "AutoScalingGroupNames.1 is not recognized"},
		{"IAM: an unknown action", "iam", "Action=CreateUser&Version=2010-05-08", nil, 400, "Could not find operation CreateUser for version 2010-05-08"},
		{"Systems Manager: an unknown operation", "ssm", "{}", append(json, "AmazonSSM.SendCommand"), 400, `"__type":"UnknownOperationException"`},
		{"Systems Manager: an unknown member", "ssm", `{"Name":"x","Named":"y"}`, append(json, "AmazonSSM.GetParameter"), 400, `"__type":"SerializationException"`},
		{"Systems Manager: a member of another type", "ssm", `{"Name":1}`, append(json, "AmazonSSM.GetParameter"), 400, "The member Name must be a string"},
		{"Systems Manager: no JSON", "ssm", `Name=x`, append(json, "AmazonSSM.GetParameter"), 400, "SerializationException"},
		{"JSON for a service that speaks none", "ec2", "{}", append(json, "AmazonSSM.GetParameter"), 400, "InvalidRequest"},
		{"an unknown service", "lambda", "Action=Invoke", nil, 400, "<Code>UnknownService</Code><Message>The simulated AWS has no service &#34;lambda&#34;"},
		{"an unknown service that speaks JSON", "dynamodb", "{}", append(json, "DynamoDB_20120810.ListTables"), 400, `"__type":"UnknownService"`},
		{"no credentials", "", "Action=DescribeVpcs" + ec2Version, nil, 403, "<Code>MissingAuthenticationToken</Code>"},
		{"credentials that are none", "ec2/x", "Action=DescribeVpcs" + ec2Version, nil, 403, "<Code>IncompleteSignature</Code>"},
		{"a form that is none", "ec2", "Action=%zz", nil, 400, "<Code>MalformedQueryString</Code>"},
	}
	for _, row := range rows {
		status, body := e.raw(t, row.service, row.form, row.header...)
		if status != row.status || !strings.Contains(body, row.want) {
			t.Errorf("%s: answered %d, want %d and %s:\n%s", row.reason, status, row.status, row.want, body)
		}
	}
	if got := len(e.Calls()); got != len(rows) {
		t.Errorf("the log has %d lines for %d calls", got, len(rows))
	}
}

func TestPresignedRequests(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	presigned, err := sts.NewPresignClient(sts.NewFromConfig(e.config(key))).PresignGetCallerIdentity(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), presigned.Method, presigned.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || !strings.Contains(string(body), "<Account>"+account+"</Account>") {
		t.Errorf("answered %d: %s", response.StatusCode, body)
	}
}

func TestARegionTheWorldLacks(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	c := e.config(key)
	c.Region = "eu-west-9"
	if _, err := ec2.NewFromConfig(c).DescribeVpcs(t.Context(), nil); code(err) != "InvalidClientTokenId" {
		t.Errorf("got %v", err)
	}
}

// TestIAMAndSTSAreGlobal holds that requests to IAM and STS may be signed for us-east-1 wherever
// they come from, also in a world without it.
func TestIAMAndSTSAreGlobal(t *testing.T) {
	t.Parallel()
	w, err := world.Parse([]byte("extends: default\nregions:\n- name: eu-central-1\n  zones: [{name: eu-central-1a, id: euc1-az2}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := serve(t, awssim.Options{World: w})
	for service, form := range map[string]string{
		"iam": "Action=ListRoles&Version=2010-05-08", "sts": "Action=GetCallerIdentity&Version=2011-06-15",
	} {
		if status, body := e.raw(t, service, form); status != http.StatusOK {
			t.Errorf("%s: answered %d: %s", service, status, body)
		}
	}
	if status, body := e.raw(t, "ec2", "Action=DescribeVpcs"+ec2Version); status != http.StatusForbidden {
		t.Errorf("EC2 is not global, but answered %d: %s", status, body)
	}
}

// TestAccountsAreApart holds that the last digits of an access key name the account, and that
// accounts do not see each other's resources.
func TestAccountsAreApart(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	create := func(accessKey string) string {
		_, err := ec2.NewFromConfig(e.config(accessKey)).CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: aws.String("one"),
			LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"},
		})
		return code(err)
	}
	if first, again, other := create(key), create(key), create("AKIATEST999988887777"); first != "" ||
		again != "InvalidLaunchTemplateName.AlreadyExistsException" || other != "" {
		t.Errorf("creating a template answered %q, again %q, in another account %q", first, again, other)
	}
}

func TestThrottledCallsLookLikeAWSsOwn(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{Behavior: awssim.Behavior{Throttling: true}})
	compute, groups := ec2.NewFromConfig(e.config(key)), autoscaling.NewFromConfig(e.config(key))
	for _, row := range []struct {
		reason string
		call   func() error
		burst  int
		code   string
		status int
	}{
		{
			"EC2 answers 503",
			func() error {
				_, err := compute.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{MaxResults: aws.Int32(5)})
				return err
			}, 100, "RequestLimitExceeded", 503,
		},
		{
			"Auto Scaling answers 400",
			func() error {
				_, err := groups.DescribeAutoScalingGroups(t.Context(), nil)
				return err
			}, 100, "Throttling", 400,
		},
	} {
		for i := range row.burst {
			if err := row.call(); err != nil {
				t.Fatalf("%s: call %d: %v", row.reason, i+1, err)
			}
		}
		if err := row.call(); code(err) != row.code {
			t.Errorf("%s: got %v, want %s", row.reason, err, row.code)
		}
		calls := e.Calls()
		if last := calls[len(calls)-1]; last.Status != row.status || last.Code != row.code {
			t.Errorf("%s: the log says %+v", row.reason, last)
		}
		e.Clock().Step(time.Second)
		if err := row.call(); err != nil {
			t.Errorf("%s: after a second: %v", row.reason, err)
		}
	}
}

func TestReadLagOverTheWire(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{Behavior: awssim.Behavior{ReadLag: 3 * time.Second}})
	client := iam.NewFromConfig(e.config(key))
	must[*iam.CreateInstanceProfileOutput](t)(client.CreateInstanceProfile(t.Context(),
		&iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("p")}))
	get := func() string {
		_, err := client.GetInstanceProfile(t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: aws.String("p")})
		return code(err)
	}
	if got := get(); got != "NoSuchEntity" {
		t.Errorf("a read right after the write got %q", got)
	}
	e.Clock().Step(3 * time.Second)
	if got := get(); got != "" {
		t.Errorf("a read after the lag got %q", got)
	}
}

// TestCallLogHasClientTokens holds that the log has the client tokens that idempotent calls carry.
func TestCallLogHasClientTokens(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	form := url.Values{
		"Action": {"CreateLaunchTemplate"}, "Version": {"2016-11-15"}, "ClientToken": {"token-1"},
		"LaunchTemplateName": {"one"}, "LaunchTemplateData.InstanceType": {"m5.large"},
	}
	if status, body := e.raw(t, "ec2", form.Encode()); status != 200 {
		t.Fatal(body)
	}
	if got := e.Calls()[0].ClientToken; got != "token-1" {
		t.Errorf("the log has client token %q", got)
	}
}

// naming is a client's transport that names what goes through it.
type naming struct {
	next  http.RoundTripper
	names []string
}

func (n *naming) RoundTrip(r *http.Request) (*http.Response, error) {
	n.names = append(n.names, awssim.ActionOf(r))
	return n.next.RoundTrip(r)
}

// TestActionOf holds that a request is named on its way out as it is when it arrives, in each of
// AWS's protocols, and still arrives whole.
func TestActionOf(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	config := e.config(key)
	names := &naming{next: &http.Transport{DisableKeepAlives: true}}
	config.HTTPClient = &http.Client{Transport: names}
	name := aws.String("name")
	for _, call := range []func() error{
		func() error {
			_, err := ec2.NewFromConfig(config).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
			return err
		},
		func() error {
			_, err := ssm.NewFromConfig(config).PutParameter(t.Context(), &ssm.PutParameterInput{Name: name, Value: name, Type: ssmtypes.ParameterTypeString})
			return err
		},
		func() error {
			_, err := eks.NewFromConfig(config).ListClusters(t.Context(), &eks.ListClustersInput{})
			return err
		},
		func() error {
			_, err := s3.NewFromConfig(config).ListBuckets(t.Context(), &s3.ListBucketsInput{})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	var logged []string
	for _, call := range e.Calls() {
		logged = append(logged, call.Action)
	}
	want := []string{"DescribeVpcs", "PutParameter", "ListClusters", "ListBuckets"}
	if !slices.Equal(names.names, want) || !slices.Equal(logged, want) {
		t.Errorf("named %q on the way out and %q on arrival, want %q", names.names, logged, want)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.url+"/nodes", nil)
	if err != nil {
		t.Fatal(err)
	}
	if action := awssim.ActionOf(request); action != "" {
		t.Errorf("a request that asks for nothing is named %q", action)
	}
}
