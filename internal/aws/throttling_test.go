package aws

import (
	"container/heap"
	"fmt"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/racetest"
)

// visit is a reconcile that is due, as in a work queue.
type visit struct {
	at     time.Time
	object int
}

type visits []visit

func (v visits) Len() int           { return len(v) }
func (v visits) Less(i, j int) bool { return v[i].at.Before(v[j].at) }
func (v visits) Swap(i, j int)      { v[i], v[j] = v[j], v[i] }
func (v *visits) Push(next any)     { *v = append(*v, next.(visit)) }
func (v *visits) Pop() any {
	last := (*v)[len(*v)-1]
	*v = (*v)[:len(*v)-1]
	return last
}

// TestAThousandEditsAtOnce holds that a thousand objects that want a version at once all get it at
// no less than nine tenths of the rate that AWS allows, that AWS never has to refuse one of their
// calls, and that calls that are held back only return when to come back: no such error reaches a
// condition.
func TestAThousandEditsAtOnce(t *testing.T) {
	t.Parallel()
	// AWS: ec2-api-throttling, CreateLaunchTemplateVersion and ModifyLaunchTemplate.
	const burst, perSecond = 100, 5
	objects := racetest.Fewer(1000, 200)
	clients, sim, clock := withTemplate(t, awssim.Behavior{Throttling: true})
	versions := map[int]string{}
	pass := func(object int) error {
		if versions[object] == "" {
			made, err := clients.EC2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
				LaunchTemplateName: awssdk.String("pool"), ClientToken: awssdk.String(fmt.Sprint("object-", object)),
				LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeM5Large},
			})
			if err != nil {
				return err
			}
			versions[object] = fmt.Sprint(*made.LaunchTemplateVersion.VersionNumber)
		}
		version := versions[object]
		_, err := clients.EC2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateName: awssdk.String("pool"), DefaultVersion: &version})
		return err
	}
	start := clock.Now()
	queue := &visits{}
	for object := range objects {
		heap.Push(queue, visit{start, object})
	}
	for queue.Len() > 0 {
		next := heap.Pop(queue).(visit)
		clock.Step(next.at.Sub(clock.Now()))
		err := pass(next.object)
		if err == nil {
			continue
		}
		if _, ours := asThrottled(err); !ours {
			t.Fatalf("after %v, object %d failed: %v", clock.Since(start), next.object, err)
		}
		fate := FateOf(err)
		if fate.Kind != RetrySoon || fate.After <= 0 {
			t.Fatalf("a call that was held back has the fate %+v", fate)
		}
		heap.Push(queue, visit{clock.Now().Add(fate.After), next.object})
	}
	ideal := time.Duration(objects-burst) * time.Second / perSecond
	if took := clock.Since(start); took > ideal*10/9 {
		t.Errorf("it took %v, want at most %v: nine tenths of the rate that AWS allows", took, ideal*10/9)
	}
	for _, call := range sim.Calls() {
		if call.Status != 200 {
			t.Errorf("AWS refused %s: %s", call.Action, call.Code)
		}
	}
}
