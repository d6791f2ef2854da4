package forecast

import (
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Ahead holds the names that will be described, so that one request describes many.
type Ahead struct {
	// groups and templates hold the names of one request for each set of names that will be described.
	groups, templates map[string][]string
}

// Most names of groups and of templates in one request (AWS: API_DescribeAutoScalingGroups, MaxRecords; EC2:
// API_DescribeLaunchTemplates, Filter).
const (
	mostGroups    = 100
	mostTemplates = 200
)

// NewAhead returns what groups and templates will be described. Each element has the names of one group or
// template.
func NewAhead(groups, templates [][]string) *Ahead {
	return &Ahead{groups: batched(groups, mostGroups), templates: batched(templates, mostTemplates)}
}

// batched returns the batch of each set of names.
func batched(sets [][]string, most int) map[string][]string {
	batches := map[string][]string{}
	var members, batch []string
	flush := func() {
		slices.Sort(batch)
		batch = slices.Compact(batch)
		for _, member := range members {
			batches[member] = batch
		}
		members, batch = nil, nil
	}
	known := map[string]bool{}
	for _, set := range sets {
		member := together(set)
		if len(set) == 0 || known[member] {
			continue // AWS would describe everything, or it is asked for another pool
		}
		known[member] = true
		if len(batch)+len(set) > most {
			flush()
		}
		members, batch = append(members, member), append(batch, set...)
	}
	flush()
	return batches
}

// together returns a set of names as a key.
func together(names []string) string { return strings.Join(slices.Sorted(slices.Values(names)), "\n") }

// read sends a read. If it is one of many that will be sent, it sends them together. If that fails, as it
// does if one of the names is not valid, it sends the read alone.
func (r *Reads) read(input any, send func(any) (any, error)) (any, error) {
	if r.Ahead == nil {
		return send(input)
	}
	switch input := input.(type) {
	case *autoscaling.DescribeAutoScalingGroupsInput:
		if len(input.Filters) == 0 && input.NextToken == nil && awssdk.ToInt32(input.MaxRecords) == mostGroups {
			return r.groups(input, send)
		}
	case *ec2.DescribeLaunchTemplatesInput:
		if len(input.Filters) == 1 && awssdk.ToString(input.Filters[0].Name) == "launch-template-name" && input.NextToken == nil &&
			awssdk.ToInt32(input.MaxResults) == mostTemplates {
			return r.templates(input, send)
		}
	}
	return send(input)
}

// groups returns the groups of one read from the answer for many.
func (r *Reads) groups(input *autoscaling.DescribeAutoScalingGroupsInput, send func(any) (any, error)) (any, error) {
	batch := r.Ahead.groups[together(input.AutoScalingGroupNames)]
	many := *input
	many.AutoScalingGroupNames = batch
	output, is := r.batch("groups", batch, &many, send).(*autoscaling.DescribeAutoScalingGroupsOutput)
	if !is || output.NextToken != nil {
		return send(input)
	}
	own := *output
	own.AutoScalingGroups = nil
	for _, group := range output.AutoScalingGroups {
		if slices.Contains(input.AutoScalingGroupNames, awssdk.ToString(group.AutoScalingGroupName)) {
			own.AutoScalingGroups = append(own.AutoScalingGroups, group)
		}
	}
	return &own, nil
}

// templates returns the templates of one read from the answer for many.
func (r *Reads) templates(input *ec2.DescribeLaunchTemplatesInput, send func(any) (any, error)) (any, error) {
	wanted := input.Filters[0].Values
	batch := r.Ahead.templates[together(wanted)]
	many := *input
	many.Filters = []ec2types.Filter{{Name: input.Filters[0].Name, Values: batch}}
	output, is := r.batch("templates", batch, &many, send).(*ec2.DescribeLaunchTemplatesOutput)
	if !is || output.NextToken != nil {
		return send(input)
	}
	own := *output
	own.LaunchTemplates = nil
	for _, template := range output.LaunchTemplates {
		if slices.Contains(wanted, awssdk.ToString(template.LaunchTemplateName)) {
			own.LaunchTemplates = append(own.LaunchTemplates, template)
		}
	}
	return &own, nil
}

// outcome holds the output of the read of a batch, nil if the read failed.
type outcome struct{ output any }

// batch sends the read of a batch once. It returns nil if there is no batch, or the read fails.
func (r *Reads) batch(of string, batch []string, many any, send func(any) (any, error)) any {
	if len(batch) == 0 {
		return nil
	}
	sent, err := r.batches.Get(of+"\n"+together(batch), func() (outcome, error) {
		output, err := send(many)
		if err != nil {
			return outcome{}, nil //nolint:nilerr // each read is sent alone then, and has an error of its own
		}
		return outcome{output}, nil
	})
	if err != nil {
		return nil
	}
	return sent.output
}
