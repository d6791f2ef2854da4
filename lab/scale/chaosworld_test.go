package scale

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/fleet"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/product"
)

const (
	bucket  = "cluster-api-provider-aws-bootstrap"
	profile = "nodes.cluster-api-provider-aws.sigs.k8s.io"
	zone    = "us-east-1a"
	subnet  = "subnet-0b2000000000000aa"
	// lag is the time that reads are behind writes.
	lag = 5 * time.Second
)

var types = []string{"t3.large", "m5.large", "m6i.large", "c5.large"}

// joining is bootstrap data with an unknown join token: no machine has to become a Node.
const joining = `#cloud-config
write_files:
- path: /run/kubeadm/kubeadm-join-config.yaml
  content: |
    apiVersion: kubeadm.k8s.io/v1beta3
    discovery:
      bootstrapToken:
        token: %s
    kind: JoinConfiguration
runcmd:
- echo pool %d
`

// chaos is pools that are edited at random.
type chaos struct {
	*pace
	*fleet.Fleet
	random  *rand.Rand
	manager *lab.RunningManager
	// principal is whom AWS takes the manager for, and person whom it takes the test for.
	principal string
	person    aws.Config
	images    []string
	// tokens are the join tokens of the pools that should exist, by number; next is the number of
	// the pool that was never there.
	tokens map[int]string
	next   int
	// did is how often what was done to pools, and calls how often the manager called AWS.
	did, calls map[string]int
	restarts   time.Time
}

func newChaos(t *testing.T, seed uint64, pools int) *chaos {
	t.Helper()
	clock := simclock.New(time.Now(), working)
	t.Cleanup(clock.Close)
	env := labtest.NewWith(t, labtest.Options{AWS: awssim.Options{Clock: clock, World: fleet.World(), Behavior: awssim.Behavior{ReadLag: lag, InstanceTimes: awssim.InstanceTimes{
		Pending: 20 * time.Second, Boot: 40 * time.Second, ShuttingDown: 30 * time.Second,
	}}}})
	env.Cluster(lab.ClusterOptions{Bucket: bucket})
	c := &chaos{
		// #nosec G404 -- the same edits for the same seed
		pace: newPace(env, clock), random: rand.New(rand.NewPCG(seed, seed)),
		principal: lab.AccessKeyID(env.Account), person: env.AWSConfig(), tokens: map[int]string{}, did: map[string]int{}, calls: map[string]int{},
	}
	c.person.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIATESTER0000" + env.Account, SecretAccessKey: "none"}, nil
	})
	c.Fleet = &fleet.Fleet{
		Client: env.Client, Namespace: env.Namespace, Cluster: "capa", Subnet: subnet, Replicas: 2, Shape: shape,
		UserData: func(i int) string { return fmt.Sprintf(joining, c.tokens[i], i) },
	}
	c.images = c.findImages()
	c.startManager()
	for range pools {
		c.add()
	}
	return c
}

// shape gives pools different places for their bootstrap data.
func shape(i int, pool *infrav1.AWSMachinePool) {
	pool.Spec.MinSize = 0
	switch i % 5 {
	case 1:
		pool.Spec.BootstrapStorage = infrav1.BootstrapStorageSSM
	case 3:
		pool.Spec.BootstrapStorage = infrav1.BootstrapStorageS3
	default:
		return
	}
	pool.Spec.AWSLaunchTemplate.IamInstanceProfile = profile
}

func (c *chaos) ec2() *ec2.Client         { return ec2.NewFromConfig(c.person) }
func (c *chaos) asg() *autoscaling.Client { return autoscaling.NewFromConfig(c.person) }

// must fails the test for an error of the test itself.
func (c *chaos) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// findImages are a few that pools can be launched from.
func (c *chaos) findImages() (ids []string) {
	c.Helper()
	out, err := c.ec2().DescribeImages(c.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: aws.String("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.2?.0-*"}}, {Name: aws.String("architecture"), Values: []string{"x86_64"}},
	}})
	c.must(err)
	for _, image := range out.Images {
		ids = append(ids, *image.ImageId)
	}
	slices.Sort(ids)
	if len(ids) < 2 {
		c.Fatalf("there are images %q, which is too few", ids)
	}
	return ids
}

func (c *chaos) startManager() {
	c.Helper()
	c.restarts = c.clock.Now().Add(7 * time.Hour)
	c.manager = c.StartManager(product.Manager(product.Settings{
		WrapAWS: c.wrap, WrapKubernetes: c.wrap, WrapWorkloads: c.wrap,
		// real time, which is short
		Change: func(options *manager.Options) { options.CallBackoff = time.Millisecond },
	}))
}

// pick is a number of a pool that should exist.
func (c *chaos) pick() int {
	numbers := slices.Sorted(maps.Keys(c.tokens))
	return numbers[c.random.IntN(len(numbers))]
}

// token is another one each time.
func (c *chaos) token() string {
	return fmt.Sprintf("%06x.%016x", c.random.Uint32()>>8, c.random.Uint64())
}

// add creates a pool.
func (c *chaos) add() {
	c.Helper()
	c.tokens[c.next] = c.token()
	c.must(c.Create(c.Context(), c.next, c.next+1))
	c.next++
}

// pause returns the time until the next edits.
func (c *chaos) pause() time.Duration {
	return time.Duration(c.random.Int64N(2 * int64(lull))).Truncate(coarse)
}

// stirUp edits some pools, and has AWS run out of something.
func (c *chaos) stirUp() {
	c.Helper()
	for range 1 + c.random.IntN(8) {
		c.edit()
	}
	switch c.random.IntN(4) {
	case 0:
		c.done("capacity goes")
		c.capacity(awssim.CapacityRule{InstanceType: types[c.random.IntN(len(types))], Zone: zone, Available: c.random.IntN(20)})
	case 1:
		c.done("capacity comes")
		c.capacity()
	}
	if c.clock.Now().After(c.restarts) {
		c.done("manager replaced")
		c.must(c.manager.Stop())
		c.startManager()
	}
	c.stirred()
}

func (c *chaos) done(what string) { c.did[what]++ }

// edit does one thing to one pool.
func (c *chaos) edit() {
	c.Helper()
	i := c.pick()
	change := func(what string, change func(*infrav1.AWSMachinePool)) {
		c.done(what)
		c.must(c.Edit(c.Context(), i, change))
	}
	switch chance := c.random.IntN(100); {
	case chance < 25:
		instanceType := types[c.random.IntN(len(types))]
		change("type", func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = instanceType })
	case chance < 40:
		image := c.images[c.random.IntN(len(c.images))]
		change("image", func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.AMI.ID = &image })
	case chance < 48:
		size := int64(20 + c.random.IntN(5))
		change("volume", func(pool *infrav1.AWSMachinePool) {
			pool.Spec.AWSLaunchTemplate.RootVolume = &infrav1.Volume{Size: size}
		})
	case chance < 60:
		c.done("replicas")
		c.must(c.Scale(c.Context(), i, int32(c.random.IntN(5))))
	case chance < 65:
		most := int32(5 + c.random.IntN(10))
		change("sizes", func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = most })
	case chance < 75:
		tags := infrav1.Tags{"team": fmt.Sprint(c.random.IntN(3)), fmt.Sprintf("key-%d", c.random.IntN(3)): "value"}
		change("tags", func(pool *infrav1.AWSMachinePool) { pool.Spec.AdditionalTags = tags })
	case chance < 92:
		c.done("token")
		c.tokens[i] = c.token()
		c.must(c.Rotate(c.Context(), i, c.UserData(i)))
	case chance < 95:
		c.done("deleted")
		delete(c.tokens, i)
		c.must(c.Delete(c.Context(), i))
		c.done("created")
		c.add()
	default:
		c.terminate()
	}
}

// terminate terminates an instance behind the controllers' backs.
func (c *chaos) terminate() {
	c.Helper()
	running := slices.DeleteFunc(c.Cloud.AWS.Region(c.Account, c.Cloud.Region()).Instances(), func(instance awssim.Instance) bool {
		return instance.State.Name != ec2types.InstanceStateNameRunning
	})
	if len(running) == 0 {
		return
	}
	c.done("instance terminated")
	_, err := c.ec2().TerminateInstances(c.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*running[c.random.IntN(len(running))].InstanceId}})
	c.must(err)
}

// capacity sets what AWS has not enough of.
func (c *chaos) capacity(rules ...awssim.CapacityRule) {
	behavior := c.Cloud.AWS.Behavior()
	behavior.Capacity = rules
	c.Cloud.AWS.SetBehavior(behavior)
}

// count takes in the calls that the manager sent since, and returns how often each action changed
// AWS.
func (c *chaos) count() map[string]int {
	writes := map[string]int{}
	for _, call := range c.Cloud.AWS.Calls() {
		if !strings.Contains(call.Principal, c.principal) {
			continue
		}
		c.calls[call.Action]++
		if !strings.HasPrefix(call.Action, "Describe") && !strings.HasPrefix(call.Action, "Get") && !strings.HasPrefix(call.Action, "Head") && !strings.HasPrefix(call.Action, "List") {
			writes[call.Action]++
		}
	}
	c.Cloud.AWS.ClearCalls()
	return writes
}

// wantedReplicas of a pool.
func (c *chaos) wantedReplicas(pool *infrav1.AWSMachinePool) int32 {
	c.Helper()
	machinePool, err := c.MachinePool(c.Context(), pool.Name)
	c.must(err)
	return ptr.Deref(machinePool.Spec.Replicas, 0)
}
