package awssim_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

// happened returns what is in the queue, and empties it: "detail-type resource state-or-action".
func (q *queueClient) happened() []string {
	q.Helper()
	list := []string{}
	for _, m := range q.receive(sqs.ReceiveMessageInput{MaxNumberOfMessages: 10}) {
		var event struct {
			Kind      string   `json:"detail-type"`
			Resources []string `json:"resources"`
			Detail    struct {
				ID     string `json:"instance-id"`
				State  string `json:"state"`
				Action string `json:"instance-action"`
			} `json:"detail"`
		}
		if err := json.Unmarshal([]byte(*m.Body), &event); err != nil {
			q.Fatal(err)
		}
		resource := strings.ReplaceAll(event.Resources[0], event.Detail.ID, "ID")
		list = append(list, strings.TrimSpace(event.Kind+" "+resource+" "+event.Detail.State+event.Detail.Action))
		if _, err := q.DeleteMessage(q.Context(), &sqs.DeleteMessageInput{QueueUrl: q.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
			q.Fatal(err)
		}
	}
	return list
}

func TestSpotInstancesAreInterrupted(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{World: queues(), Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{ShuttingDown: time.Minute}}})
	q, calls := e.queue(t, "events"), ec2.NewFromConfig(e.config(key))
	image := ""
	for _, candidate := range e.World().Region(region).Images {
		if candidate.Architecture == "x86_64" {
			image = candidate.ID
		}
	}
	run := func(market *ec2types.InstanceMarketOptionsRequest) string {
		t.Helper()
		out := must[*ec2.RunInstancesOutput](t)(calls.RunInstances(t.Context(), &ec2.RunInstancesInput{
			ImageId: &image, InstanceType: "m5.large", MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: aws.String("subnet-0b2000000000000ab"), InstanceMarketOptions: market,
		}))
		return *out.Instances[0].InstanceId
	}
	onDemand := run(nil)
	spot := run(&ec2types.InstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot})
	e.Clock().Step(time.Second) // both run
	q.happened()

	if err := e.Region(account, region).InterruptSpotInstance(onDemand); err == nil {
		t.Error("an On-Demand Instance was interrupted")
	}
	if err := e.Region(account, region).RecommendRebalance(spot); err != nil {
		t.Fatal(err)
	}
	e.ok(t, http.MethodPost, "interruptions", `{"account": "`+account+`", "instance": "`+spot+`"}`)
	if diff := cmp.Diff([]string{
		"EC2 Instance Rebalance Recommendation arn:aws:ec2:us-east-1:" + account + ":instance/ID",
		"EC2 Spot Instance Interruption Warning arn:aws:ec2:us-east-1b:instance/ID terminate",
	}, q.happened()); diff != "" {
		t.Errorf("what is told at once:\n%s", diff)
	}
	describe := func() ec2types.Instance {
		t.Helper()
		out := must[*ec2.DescribeInstancesOutput](t)(calls.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{spot}}))
		return out.Reservations[0].Instances[0]
	}
	e.Clock().Step(2*time.Minute - time.Second)
	if i := describe(); i.State.Name != ec2types.InstanceStateNameRunning || i.InstanceLifecycle != ec2types.InstanceLifecycleTypeSpot || i.SpotInstanceRequestId == nil {
		t.Errorf("before the two minutes are over the instance is %s, %s, of request %v", i.State.Name, i.InstanceLifecycle, i.SpotInstanceRequestId)
	}
	e.Clock().Step(time.Second)
	if i := describe(); i.State.Name != ec2types.InstanceStateNameShuttingDown || *i.StateReason.Code != "Server.SpotInstanceTermination" {
		t.Errorf("after them it is %s because of %s", i.State.Name, *i.StateReason.Code)
	}
	e.Clock().Step(time.Minute)
	if diff := cmp.Diff([]string{
		"EC2 Instance State-change Notification arn:aws:ec2:us-east-1:" + account + ":instance/ID shutting-down",
		"EC2 Instance State-change Notification arn:aws:ec2:us-east-1:" + account + ":instance/ID terminated",
	}, q.happened()); diff != "" {
		t.Errorf("what is told of the end:\n%s", diff)
	}
	if err := e.Region(account, region).InterruptSpotInstance(spot); err == nil {
		t.Error("an instance that has ended was interrupted")
	}
}
