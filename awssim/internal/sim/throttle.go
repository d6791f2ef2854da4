package sim

import (
	"reflect"
	"strings"
	"time"
)

// limit is a token bucket: its size and how many tokens come back per second.
type limit struct{ size, refill float64 }

// AWS: EC2 developer guide, "Request throttling for the Amazon EC2 API" (bucket sizes and refill
// rates per account, region and action).
var (
	ec2Describe    = limit{100, 20}
	ec2DescribeAll = limit{50, 10} // neither filtered nor paginated
	// Of the actions that the page calls resource-intensive, too.
	ec2Mutating = limit{50, 5}

	ec2Requests = map[string]limit{
		"CreateLaunchTemplateVersion": {100, 5},
		"ModifyLaunchTemplate":        {100, 5},
		"CreateTags":                  {100, 10},
		"DeleteTags":                  {100, 10},
		"RunInstances":                {5, 2},
		"StartInstances":              {5, 2},
		"TerminateInstances":          {100, 5},
	}
	// ec2Resources are buckets of instances, not of requests.
	ec2Resources = map[string]limit{
		"RunInstances":       {1000, 2},
		"StartInstances":     {1000, 2},
		"TerminateInstances": {1000, 20},
		"StopInstances":      {1000, 20},
	}
	ec2Expensive = map[string]bool{
		"DescribeInstances": true, "DescribeInstanceStatus": true, "DescribeNetworkInterfaces": true,
		"DescribeSecurityGroups": true, "DescribeSnapshots": true, "DescribeSpotInstanceRequests": true,
		"DescribeVolumes": true,
	}

	// Auto Scaling: all actions of a region draw on one bucket whose size AWS does not publish. These
	// numbers are an inference from what users report; ratios matter more than values.
	autoScaling = limit{100, 20}
	// AWS: Systems Manager service quotas, "Transactions per second (TPS)" of GetParameter,
	// GetParameters and GetParametersByPath: 40 together by default.
	parameterReads  = limit{40, 40}
	parameterWrites = limit{3, 3} // PutParameter, same page
	// AWS: S3 user guide, "Best practices design patterns": 3,500 writes and 5,500 reads a second
	// per prefix. Slipway never comes near.
	objectRequests = limit{3500, 3500}
	// EKS publishes no request rates either. These are conservative inferences from what users
	// report of DescribeNodegroup and of updates.
	eksReads  = limit{20, 10}
	eksWrites = limit{10, 2}
	// IAM and STS publish no request rates for these actions; an inference.
	otherRequests = limit{100, 20}
)

// bucket holds the tokens that were left at a moment of simulated time.
type bucket struct {
	tokens float64
	at     time.Time
}

// take reports whether n tokens were there and takes them.
func (b *bucket) take(l limit, now time.Time, n float64) bool {
	b.tokens = min(l.size, b.tokens+now.Sub(b.at).Seconds()*l.refill)
	b.at = now
	if b.tokens < n {
		return false
	}
	b.tokens -= n
	return true
}

// buckets are the token buckets of all accounts and regions, by what they bound.
type buckets map[string]*bucket

// takeTokens charges a request to its buckets, or answers that there are no tokens left.
func (b buckets) takeTokens(req Request, now time.Time) error {
	name, l := requestLimit(req)
	if !b.take(req, name, l, now, 1) {
		return throttled(req.Service)
	}
	if req.Service != "ec2" {
		return nil
	}
	if l, ok := ec2Resources[req.Action]; ok {
		if !b.take(req, req.Action+"/instances", l, now, resources(req.Input)) {
			return throttled(req.Service)
		}
	}
	return nil
}

func (b buckets) take(req Request, name string, l limit, now time.Time, n float64) bool {
	key := strings.Join([]string{req.Account, req.Region, req.Service, name}, "/")
	one := b[key]
	if one == nil {
		one = &bucket{tokens: l.size, at: now}
		b[key] = one
	}
	return one.take(l, now, n)
}

func requestLimit(req Request) (bucket string, l limit) {
	switch req.Service {
	case "ec2":
		return ec2Limit(req)
	case "autoscaling":
		return "*", autoScaling
	case "ssm":
		if strings.HasPrefix(req.Action, "Get") {
			return "Get*", parameterReads
		}
		return req.Action, parameterWrites
	case "s3":
		return req.Action, objectRequests
	case "eks":
		if strings.HasPrefix(req.Action, "Describe") || strings.HasPrefix(req.Action, "List") {
			return req.Action, eksReads
		}
		return req.Action, eksWrites
	default:
		return req.Action, otherRequests
	}
}

func ec2Limit(req Request) (string, limit) {
	if l, ok := ec2Requests[req.Action]; ok {
		return req.Action, l
	}
	switch {
	case ec2Expensive[req.Action] && unfiltered(req.Input):
		return req.Action + "/unfiltered", ec2DescribeAll
	case strings.HasPrefix(req.Action, "Describe"), strings.HasPrefix(req.Action, "Get"):
		return req.Action, ec2Describe
	default:
		return req.Action, ec2Mutating
	}
}

// unfiltered reports whether a Describe names nothing, filters by nothing and asks for no page.
func unfiltered(input any) bool {
	v := reflect.Indirect(reflect.ValueOf(input))
	for i := range v.NumField() {
		field := v.Field(i)
		switch name := v.Type().Field(i).Name; {
		case name == "MaxResults" && !field.IsNil():
			return false
		case field.Kind() == reflect.Slice && field.Len() > 0:
			return false
		}
	}
	return true
}

// resources returns how many instances a request is about.
func resources(input any) float64 {
	v := reflect.Indirect(reflect.ValueOf(input))
	if ids := v.FieldByName("InstanceIds"); ids.IsValid() {
		return float64(ids.Len())
	}
	if count := v.FieldByName("MaxCount"); count.IsValid() && !count.IsNil() {
		return float64(count.Elem().Int())
	}
	return 1
}

func throttled(service string) *Error {
	switch service {
	case "ec2":
		return Errorf("RequestLimitExceeded", "Request limit exceeded.").WithStatus(503)
	case "ssm":
		return Errorf("ThrottlingException", "Rate exceeded")
	case "eks":
		return Errorf("ThrottlingException", "Rate exceeded").WithStatus(429)
	case "s3":
		return Errorf("SlowDown", "Please reduce your request rate.").WithStatus(503)
	default:
		return Errorf("Throttling", "Rate exceeded")
	}
}
