package eks

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// tagActions serves the actions about tags.
type tagActions struct {
	clusters      *clusters
	groups        *groups
	accessEntries *accessEntries
	addons        *addons
}

// find returns the tags of the cluster, node group, add-on, or access entry with an ARN, and a
// function that replaces them.
func (api *tagActions) find(arn string) (tags map[string]string, set func(map[string]string), err error) {
	for _, g := range api.groups.byKey {
		if g.arn == arn {
			return g.tags, func(tags map[string]string) {
				g.tags = tags
				api.groups.publish(g)
			}, nil
		}
	}
	for _, c := range api.clusters.byName {
		if c.arn == arn {
			return c.Tags, func(tags map[string]string) {
				c.Tags = tags
				api.clusters.publish(c)
			}, nil
		}
		if tags, set := api.findIn(c, arn); set != nil {
			return tags, set, nil
		}
	}
	// the tag actions have exceptions of their own (SDK BadRequestException, NotFoundException)
	if !strings.HasPrefix(arn, "arn:aws:eks:") {
		return nil, nil, sim.Errorf("BadRequestException", "Invalid resource ARN: %s", arn)
	}
	return nil, nil, sim.Errorf("NotFoundException", "No resource found for ARN %s", arn).WithStatus(http.StatusNotFound)
}

// findIn returns the tags of the add-on or the access entry of a cluster with an ARN, and a
// function that replaces them, or nil if there is none.
func (api *tagActions) findIn(c *cluster, arn string) (tags map[string]string, set func(map[string]string)) {
	for _, a := range c.addons {
		if a.arn == arn {
			return a.tags, func(tags map[string]string) {
				a.tags = tags
				api.addons.views.Put(a.key(), a.view())
			}
		}
	}
	for _, e := range c.entries {
		if e.arn == arn {
			return e.tags, func(tags map[string]string) {
				e.tags = tags
				api.accessEntries.publish(e)
			}
		}
	}
	return nil, nil
}

func (api *tagActions) tag(_ *sim.Call, in *eks.TagResourceInput) (*eks.TagResourceOutput, error) {
	tags, set, err := api.find(val(in.ResourceArn))
	if err != nil {
		return nil, err
	}
	all := merged(tags, in.Tags)
	if len(in.Tags) == 0 {
		return nil, sim.Errorf("BadRequestException", "tags must not be empty")
	}
	if err := checkTags(all); err != nil {
		return nil, sim.Errorf("BadRequestException", "%s", sim.AsError(err).Message)
	}
	set(all)
	return &eks.TagResourceOutput{}, nil
}

func (api *tagActions) untag(_ *sim.Call, in *eks.UntagResourceInput) (*eks.UntagResourceOutput, error) {
	tags, set, err := api.find(val(in.ResourceArn))
	if err != nil {
		return nil, err
	}
	left := merged(tags)
	for _, key := range in.TagKeys {
		delete(left, key)
	}
	set(left)
	return &eks.UntagResourceOutput{}, nil
}

// list returns the tags of a node group as Describe actions show them, and the current tags of
// other resources.
func (api *tagActions) list(_ *sim.Call, in *eks.ListTagsForResourceInput) (*eks.ListTagsForResourceOutput, error) {
	for _, v := range api.groups.views.VisibleAll() {
		if *v.NodegroupArn == val(in.ResourceArn) {
			return &eks.ListTagsForResourceOutput{Tags: v.Tags}, nil
		}
	}
	tags, _, err := api.find(val(in.ResourceArn))
	if err != nil {
		return nil, err
	}
	return &eks.ListTagsForResourceOutput{Tags: merged(tags)}, nil
}
