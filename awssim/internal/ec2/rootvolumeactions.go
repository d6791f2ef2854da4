package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// rootTaskID: the page's examples have such ids; the error codes are inferred from the codes of
// other resources.
var rootTaskID = idKind{"replacevol", "InvalidReplaceRootVolumeTaskId.Malformed", "InvalidReplaceRootVolumeTaskId.NotFound", "replace root volume task", ""}

var rootTaskListing = listing[rootTask]{
	kind: rootTaskID, id: func(t rootTask) string { return *t.api.ReplaceRootVolumeTaskId }, tags: func(t rootTask) []types.Tag { return t.api.Tags },
	filters: filterTable[rootTask]{"instance-id": func(t rootTask) []string { return text(t.api.InstanceId) }},
	pages:   pageLimits{min: 1, max: 50},
}

func describeReplaceRootVolumeTasks(c *sim.Call, in *awsec2.DescribeReplaceRootVolumeTasksInput) (*awsec2.DescribeReplaceRootVolumeTasksOutput, error) {
	found, next, err := rootTaskListing.read(stateOf(c.Region).rootTasks.VisibleAll(),
		query{in.ReplaceRootVolumeTaskIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	out := &awsec2.DescribeReplaceRootVolumeTasksOutput{NextToken: next}
	for _, t := range found {
		out.ReplaceRootVolumeTasks = append(out.ReplaceRootVolumeTasks, t.api)
	}
	return out, nil
}

func createReplaceRootVolumeTask(c *sim.Call, in *awsec2.CreateReplaceRootVolumeTaskInput) (*awsec2.CreateReplaceRootVolumeTaskOutput, error) {
	s := stateOf(c.Region)
	asked := *in
	asked.DryRun = nil
	if answer, err := replay[awsec2.CreateReplaceRootVolumeTaskOutput](s.tokens, c.Action, in.ClientToken, maxInstanceToken, asked); answer != nil || err != nil {
		return answer, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeReplaceRootVolumeTask, types.ResourceTypeReplaceRootVolumeTask)
	if err != nil {
		return nil, err
	}
	task, err := s.rootTasks.plan(in)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	task.api.Tags = tags
	task = s.rootTasks.begin(task)
	out := &awsec2.CreateReplaceRootVolumeTaskOutput{ReplaceRootVolumeTask: &task.api}
	remember(s.tokens, c.Action, in.ClientToken, asked, out)
	return out, nil
}

// ReplaceRootVolume starts to replace the root volume of an instance by one of the image on behalf
// of a service, and returns the id of the task. The replaced volume is deleted in the end.
func ReplaceRootVolume(r *sim.Region, id, image string) (string, error) {
	s := stateOf(r)
	task, err := s.rootTasks.plan(&awsec2.CreateReplaceRootVolumeTaskInput{InstanceId: &id, ImageId: &image, DeleteReplacedRootVolume: ptr(true)})
	if err != nil {
		return "", err
	}
	return *s.rootTasks.begin(task).api.ReplaceRootVolumeTaskId, nil
}

// RootVolumeTaskState returns how far the replacement of a root volume is.
func RootVolumeTaskState(r *sim.Region, task string) types.ReplaceRootVolumeTaskState {
	t, _ := stateOf(r).rootTasks.Get(task)
	return t.api.TaskState
}
