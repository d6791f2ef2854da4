package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// markShared marks the steps that an earlier pool of a plan has too, because both launch from one AWSLaunchConfig.
// Each pool is planned by itself, and AWS sees such a step once.
func markShared(pools []Pool) {
	type place struct{ pool, step int }
	known := map[string][]place{}
	for i := range pools {
		for number := range pools[i].Steps {
			step := &pools[i].Steps[number]
			if !strings.HasPrefix(step.Object, sharedKind) {
				continue
			}
			object := pools[i].Namespace + " " + step.Object
			at := slices.IndexFunc(known[object], func(at place) bool {
				return at.pool != i && reflect.DeepEqual(pools[at.pool].Steps[at.step], *step)
			})
			if at < 0 {
				known[object] = append(known[object], place{i, number})
				continue
			}
			first := &pools[known[object][at].pool]
			step.SharedWith = fmt.Sprintf("%s %s/%s", first.Kind, first.Namespace, first.Name)
		}
	}
}

// sharedKind begins the object of a step that is done for a launch config.
const sharedKind = "AWSLaunchConfig/"

// shared describes the steps of a pool that the plan of an earlier pool lists, empty if there are none.
func (p Pool) shared() string {
	text := ""
	for _, step := range p.Steps {
		if step.SharedWith == "" {
			continue
		}
		switch {
		case slices.Contains(step.Calls, "ec2:CreateLaunchTemplate"):
			return fmt.Sprintf("use the launch template of %s that is created for %s", step.Object, step.SharedWith)
		case slices.Contains(step.Calls, "ec2:CreateLaunchTemplateVersion"):
			return fmt.Sprintf("use the launch template version of %s that is created for %s", step.Object, step.SharedWith)
		}
		text = fmt.Sprintf("share the changes of %s that are listed for %s", step.Object, step.SharedWith)
	}
	return text
}
