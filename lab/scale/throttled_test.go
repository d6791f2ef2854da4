package scale

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/fleet"
)

const (
	// burst and perSecond are AWS's bucket of CreateLaunchTemplateVersion (AWS: ec2-api-throttling,
	// "Request token bucket sizes and refill rates").
	burst, perSecond = 100, 5
	// least is the share of AWS's limits that must be used.
	least = 0.9
	// beat is the step of the clock meanwhile: half of the time in which a second's requests come
	// back.
	beat = 500 * time.Millisecond
)

// editedAtOnce holds that pools which are all edited at once get their versions about as fast as
// AWS lets any client create them, and that no condition reports an error meanwhile. It leaves out
// the replacement of their instances. The clock stands.
func (w *world) editedAtOnce(t *testing.T) {
	t.Helper()
	many, p, f, clock := *pools, w.pace, w.Fleet, w.clock
	w.Cloud.AWS.SetBehavior(awssim.Behavior{Throttling: true})
	p.still, p.surely = 4*still, true // to take a busy manager for one at rest would cost a beat
	p.advance(time.Minute, fine)

	seen := p.watchConditions(f)
	w.Cloud.AWS.ClearCalls()
	if err := fleet.Each(0, many, func(i int) error {
		return f.Edit(t.Context(), i, func(pool *infrav1.AWSMachinePool) {
			pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large"
			pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
		})
	}); err != nil {
		t.Fatal(err)
	}
	p.stirred()
	from := clock.Now()
	p.settle()
	allowed := time.Duration(float64(max(0, many-burst)) / perSecond * float64(time.Second))
	versions := p.versionsMade()
	for clock.Since(from) < 2*allowed+time.Minute && len(versions) < many {
		p.advance(beat, beat)
		versions = p.versionsMade()
	}
	if len(versions) < many {
		t.Fatalf("%d of %d pools got their version in %v", len(versions), many, clock.Since(from))
	}
	took := versions[many-1].Sub(from)
	t.Logf("%d versions took %v, and AWS allows them in %v", many, took, allowed)
	if most := time.Duration(float64(allowed)/least) + beat; took > most {
		t.Errorf("%d versions took %v, want at most %v, because AWS allows them in %v", many, took, most, allowed)
	}
	// The rest of it: the groups are pointed at them.
	pointed := pointedOf(t.Context(), f, many)
	for clock.Since(from) < 3*allowed+2*time.Minute && pointed != nil {
		p.advance(5*time.Second, beat)
		pointed = pointedOf(t.Context(), f, many)
	}
	if pointed != nil {
		t.Errorf("after %v: %v", clock.Since(from), pointed)
	}
	t.Logf("all groups were at theirs after %v; refused were %v", clock.Since(from), p.refused())
	for _, problem := range seen() {
		t.Error(problem)
	}
}

// pointedOf is nil once all groups launch from the second version.
func pointedOf(ctx context.Context, f *fleet.Fleet, many int) error {
	pools, err := f.Pools(ctx)
	if err != nil {
		return err
	}
	at := 0
	for i := range pools {
		if version := pools[i].Status.LaunchTemplateVersion; version != nil && *version == "2" {
			at++
		}
	}
	if at != many {
		return fmt.Errorf("%d of %d groups are at their version", at, many)
	}
	return nil
}

// versionsMade returns when versions were created, in order.
func (p *pace) versionsMade() (times []time.Time) {
	for _, call := range p.Cloud.AWS.Calls() {
		if call.Action == "CreateLaunchTemplateVersion" && call.Status == 200 {
			times = append(times, call.Time)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// refused returns how often AWS refused each action for the rate.
func (p *pace) refused() map[string]int {
	refused := map[string]int{}
	for _, call := range p.Cloud.AWS.Calls() {
		if call.Status != 200 {
			refused[call.Action+" "+call.Code]++
		}
	}
	return refused
}

// limits matches the messages of AWS, or of the manager, about limits.
var limits = regexp.MustCompile(`(?i)limit|throttl|\brate\b|held back`)

// watchConditions watches all conditions of pools and launch configs, and returns a function that
// returns the ones that would report an error to a user.
func (p *pace) watchConditions(f *fleet.Fleet) (problems func() []string) {
	p.Helper()
	watching, err := client.NewWithWatch(p.Lab.RESTConfig(), client.Options{Scheme: lab.NewScheme()})
	if err != nil {
		p.Fatal(err)
	}
	var mu sync.Mutex
	var found []string
	var watches sync.WaitGroup
	ctx, cancel := context.WithCancel(p.Context())
	for _, list := range []client.ObjectList{&infrav1.AWSMachinePoolList{}, &infrav1.AWSLaunchConfigList{}} {
		events, err := watching.Watch(ctx, list, client.InNamespace(f.Namespace))
		if err != nil {
			cancel()
			p.Fatal(err)
		}
		watches.Go(func() {
			seen := 0
			for event := range events.ResultChan() {
				object, isObject := event.Object.(conditioned)
				if ctx.Err() != nil {
					return
				}
				if event.Type == watch.Error || !isObject {
					mu.Lock()
					found = append(found, fmt.Sprintf("watching conditions: %+v", event.Object))
					mu.Unlock()
					continue
				}
				seen++
				if problem := wrong(object); problem != "" {
					mu.Lock()
					found = append(found, problem)
					mu.Unlock()
				}
			}
			if seen == 0 {
				mu.Lock()
				found = append(found, fmt.Sprintf("no watch received a %T", list))
				mu.Unlock()
			}
		})
	}
	p.Cleanup(cancel)
	return func() []string {
		cancel()
		watches.Wait()
		return found
	}
}

// rollingOut are the conditions that are False while an edit is rolled out, which is no error.
var rollingOut = []string{infrav1.RolledOutCondition, infrav1.ConvergedCondition}

// wrong returns what an object's conditions report as an error, "" for none.
func wrong(object conditioned) string {
	for _, condition := range object.GetConditions() {
		waits := condition.Status == "False" && condition.Type != infrav1.PausedCondition && !slices.Contains(rollingOut, condition.Type)
		if waits || limits.MatchString(condition.Message) || condition.Reason == infrav1.AWSUnavailableReason {
			return fmt.Sprintf("%s: condition %s is %s, %s: %s", object.GetName(), condition.Type, condition.Status, condition.Reason, condition.Message)
		}
	}
	return ""
}
