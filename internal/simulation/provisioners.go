package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

const (
	// clusterUID is the UID of the kube-system namespace, and jitCluster the name of the cluster.
	clusterUID = "0b3c1f2e-5a67-4c1d-9e0f-1a2b3c4d5e6f"
	jitCluster = "just-in-time"
	// jitVersion is the version of Kubernetes. The scheduler of this version takes no account of
	// nominations by others: the API server in memory does not say who wrote a field, so they could
	// not be distinguished from the scheduler's own.
	jitVersion = "v1.34.0"
	// launchesPerMinute bounds how many nodes are launched.
	launchesPerMinute = 20
)

// machine describes an instance type.
type machine struct {
	name string
	// cpus and gibs are what EC2 sells, and free is what its Node has for pods.
	cpus, gibs int64
	free       corev1.ResourceList
}

// machines are the instance types that Provisioners of a schedule may use.
var machines = []machine{
	{"m5.large", 2, 8, resources("1930m", "7Gi")}, {"c5.large", 2, 4, resources("1930m", "3Gi")},
	{"m5.xlarge", 4, 16, resources("3920m", "14Gi")}, {"c5.xlarge", 4, 8, resources("3920m", "7Gi")},
}

// zones are the zones that have a subnet of the cluster.
var zones = []string{region + "a", region + "b", region + "c"}

// smallWorld is the default world of the simulated AWS with the machines alone: a process reads all
// instance types when it starts.
var smallWorld = sync.OnceValue(func() *world.World {
	small := *world.Default()
	small.InstanceTypes = slices.DeleteFunc(slices.Clone(small.InstanceTypes), func(one world.InstanceType) bool {
		return !slices.ContainsFunc(machines, func(m machine) bool { return m.name == one.Name })
	})
	return &small
})

// provisioning is the scene of schedules about Provisioners: a cluster with pods, for which the
// Provisioner's controllers launch nodes.
type provisioning struct {
	world    *World
	cluster  *nodeCluster
	observer *provisionerObserver
	facts    *provisioningFacts
	// random names launches.
	random *rand.Rand

	// names are the names of the Provisioners.
	names []string
	// queued is true if AWS sends events to a queue, and notices are the events in it.
	queued  bool
	notices []notice
	// sets counts the ReplicaSets that were created.
	sets int
}

var _ scene = (*provisioning)(nil)

// notice is an event that AWS sends, and when it arrives.
type notice struct {
	at time.Time
	events.Happened
}

// newProvisioning returns the scene, in which nothing exists yet.
func newProvisioning(w *World) *provisioning {
	facts := newProvisioningFacts()
	s := &provisioning{
		world: w, random: rand.New(rand.NewPCG(w.chance.Uint64(), 0)), names: []string{"workers"}, facts: facts, //nolint:gosec // names of a simulation are no secrets
		cluster: &nodeCluster{world: w, facts: facts, silent: map[string]bool{}},
	}
	s.observer = &provisionerObserver{world: w, cluster: s.cluster, facts: facts, aws: w.sim.Region(account, region)}
	s.cluster.joinAfter = pick(w.chance, 10*time.Second, 20*time.Second, time.Minute)
	s.cluster.mute = pick(w.chance, 0, 0, 0.1)
	s.queued = w.chance.happens(0.7)
	if w.chance.happens(0.3) {
		s.names = append(s.names, "batch")
	}
	w.sim.OnChange(s.instanceChanged)
	return s
}

// prepare implements scene.
func (s *provisioning) prepare(ctx context.Context) error {
	s.cluster.ctx = ctx
	kubeSystem := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}
	blue := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := errors.Join(s.world.user.Create(ctx, kubeSystem), s.world.user.Create(ctx, blue), s.prepareAWS(ctx)); err != nil {
		return err
	}
	for _, name := range s.names {
		if err := s.world.user.Create(ctx, s.newProvisioner(name)); err != nil {
			return fmt.Errorf("creating Provisioner %s: %w", name, err)
		}
	}
	_, err := createSet(ctx, s)
	return err
}

// prepareAWS tags the network of the cluster, and creates launch templates and an instance of
// another owner.
func (s *provisioning) prepareAWS(ctx context.Context) error {
	_, err := s.world.person.ec2.CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: []string{"subnet-0b2000000000000aa", "subnet-0b2000000000000ab", "subnet-0b2000000000000ac", securityGroup},
		Tags:      []ec2types.Tag{{Key: ptr.To("kubernetes.io/cluster/" + jitCluster), Value: ptr.To("owned")}},
	})
	if err != nil {
		return fmt.Errorf("tagging the network: %w", err)
	}
	images, err := s.world.person.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: ptr.To("name"), Values: []string{"amazon-eks-node-al2023-x86_64-standard-1.34-*"}},
	}})
	if err != nil || len(images.Images) == 0 {
		return errors.Join(errors.New("finding an image"), err)
	}
	for _, name := range []string{"first", "second"} {
		made, err := s.world.person.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: &name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
				ImageId: images.Images[0].ImageId, UserData: ptr.To("I2Nsb3VkLWNvbmZpZwo="), SecurityGroupIds: []string{securityGroup},
			},
		})
		if err != nil {
			return fmt.Errorf("creating launch template %s: %w", name, err)
		}
		s.observer.templates = append(s.observer.templates, *made.LaunchTemplate.LaunchTemplateId)
	}
	run, err := s.world.person.ec2.RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: images.Images[0].ImageId, InstanceType: "m5.large", MinCount: ptr.To[int32](1), MaxCount: ptr.To[int32](1), SubnetId: ptr.To(subnet),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: []ec2types.Tag{
			{Key: ptr.To("kubernetes.io/cluster/" + jitCluster), Value: ptr.To("owned")}, {Key: ptr.To("owner"), Value: ptr.To("another team")},
		}}},
	})
	if err != nil {
		return fmt.Errorf("launching a foreign instance: %w", err)
	}
	s.world.clock.Step(instanceStart)
	s.facts.foreignID = *run.Instances[0].InstanceId
	s.facts.foreign = s.observer.describeForeign()
	return nil
}

// newProvisioner returns a Provisioner as the user creates it.
func (s *provisioning) newProvisioner(name string) *provisioningv1.Provisioner {
	one := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: name}}
	one.Spec.Cluster = provisioningv1.ProvisionerCluster{Name: jitCluster, Endpoint: "https://api.example.com:6443", CABundle: "LS0tLS1CRUdJTi=="}
	one.Spec.InstanceTypes = []string{"m5.large", "m5.xlarge"}
	one.Spec.Limits = &provisioningv1.Limits{CPU: quantity(pick(s.world.chance, "4", "8", "16"))}
	one.Spec.TTLSeconds = pick(s.world.chance, nil, ptr.To[int64](60))
	if name == "batch" {
		one.Spec.Taints = []provisioningv1.Taint{batchTaint}
		one.Spec.Weight = ptr.To[int32](10)
	}
	return one
}

// batchTaint keeps pods off the nodes of the Provisioner batch that do not tolerate it.
var batchTaint = provisioningv1.Taint{Key: "example.com/for", Value: "batch", Effect: provisioningv1.TaintEffect(corev1.TaintEffectNoSchedule)}

// act implements scene.
func (s *provisioning) act(ctx context.Context) (string, error) {
	return pick(s.world.chance, provisioningDeeds...)(ctx, s)
}

// calm implements scene. Kubelets of new instances work from now on, AWS has capacity, and what
// would never come to rest is undone.
func (s *provisioning) calm(ctx context.Context) error {
	s.cluster.mute = 0
	behavior := s.world.sim.Behavior()
	behavior.Capacity = nil
	s.world.sim.SetBehavior(behavior)
	if err := errors.Join(s.restStatus(ctx), s.restProvisioners(ctx)); err != nil {
		return err
	}
	return s.restBudgets(ctx)
}

// length implements scene. A node alone takes some 30 events until pods run on it.
func (*provisioning) length() int { return 400 }

// moves implements scene.
func (s *provisioning) moves(ctx context.Context) ([]move, error) {
	view, err := s.cluster.look(ctx)
	if err != nil {
		return nil, err
	}
	return view.possible, nil
}

// changed implements scene.
func (s *provisioning) changed(change apiserver.Change) {
	s.facts.objectChanged(s.world, change)
	s.cluster.podChanged(change)
}

// answered implements scene. Launches and terminations are checked when they happen.
func (*provisioning) answered(string) {}

// unsettled implements scene.
func (s *provisioning) unsettled(ctx context.Context) error { return s.observer.unsettled(ctx) }

// foreignUnchanged implements scene.
func (s *provisioning) foreignUnchanged(context.Context) { s.observer.foreignUnchanged() }

// released implements scene.
func (*provisioning) released(string) {}

// letGo implements scene. Users hold nothing back.
func (*provisioning) letGo(context.Context) (bool, error) { return false, nil }

// shown implements scene.
func (*provisioning) shown() []client.ObjectList {
	return []client.ObjectList{&provisioningv1.ProvisionerList{}, &provisioningv1.ProvisionedNodeList{}, &corev1.NodeList{}, &corev1.PodList{}, &policyv1.PodDisruptionBudgetList{}}
}
