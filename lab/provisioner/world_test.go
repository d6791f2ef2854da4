// Package provisioner holds journeys of just-in-time nodes: pods that wait, the real controllers of
// `slipway provisioner`, a real API server and kube-scheduler, and the simulated AWS. Provisioners
// are cluster-wide, so the journeys go one after the other.
package provisioner

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	simworld "github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
	"github.com/slipway-project/slipway/lab/product"
)

func TestMain(m *testing.M) {
	labtest.MainAnd(m, lab.Options{WithoutPools: true, Scheduler: true}, policyIsNoMore)
}

const (
	// rate lets simulated minutes pass in fractions of a second.
	rate = 60
	// asleep is the rate while a test only lets time pass.
	asleep = 300
	// cluster is the name by which nodes, subnets and security groups belong together.
	cluster = "just-in-time"
	// tester marks the calls of tests: another access key of the same account.
	tester = "AKIATESTER0000"
)

// quickly are instance times that keep the order of things and cost little.
var quickly = awssim.InstanceTimes{Pending: 10 * time.Second, Boot: 20 * time.Second, ShuttingDown: 10 * time.Second}

// world is a test's part of the laboratory, with Slipway's provisioner in it.
type world struct {
	*labtest.Env
	clock    *simclock.Clock
	running  *lab.RunningManager
	settings product.Settings
	change   func(*manager.ProvisionerOptions)
	features []permissions.Feature
	// began is when the test did: events of others are older.
	began time.Time
}

// options change a world from what most journeys want.
type options struct {
	behavior awssim.Behavior
	change   func(*manager.ProvisionerOptions)
	settings product.Settings
	// types that the region has; the default world's if there are none.
	types []simworld.InstanceType
	// features are the permissions of the provisioner in addition to what it always may do.
	features []permissions.Feature
	// unstarted leaves it to the test to start the provisioner.
	unstarted bool
}

// eventQueue gets EventBridge's events, where the provisioner hears them.
const eventQueue = "slipway-nodes"

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, options{})
}

func newWorldWith(t *testing.T, options options) *world {
	t.Helper()
	clock := simclock.New(time.Now(), rate)
	t.Cleanup(clock.Close)
	options.behavior.InstanceTimes = quickly
	accounts := *simworld.Default()
	if options.types != nil {
		accounts.InstanceTypes = options.types
	}
	if slices.Contains(options.features, permissions.Events) {
		accounts.Regions = slices.Clone(accounts.Regions)
		accounts.Regions[0].Queues = []simworld.Queue{{Name: eventQueue}}
		accounts.Regions[0].EventRules = []simworld.EventRule{{Name: eventQueue, Sources: []string{"aws.ec2"}, Queue: eventQueue}}
	}
	env := labtest.NewWith(t, labtest.Options{AWS: awssim.Options{Clock: clock, Behavior: options.behavior, World: &accounts}})
	w := &world{Env: env, clock: clock, change: options.change, settings: options.settings, features: options.features, began: time.Now().Add(-time.Second)}
	w.Eventually("the service account of pods is there", func() error {
		return w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
	if err := lab.TagNetwork(w.Context(), w.ec2(), cluster); err != nil {
		t.Fatal(err)
	}
	w.installRole()
	w.hold()
	if !options.unstarted {
		w.start()
	}
	return w
}

// installRole creates the service account of config/provisioner, and its rights.
func (w *world) installRole() {
	w.Helper()
	for _, file := range []string{"namespace.yaml", "service_account.yaml", "role.yaml", "role_binding.yaml"} {
		w.ApplyFile("../../config/provisioner/" + file)
	}
}

// start runs the provisioner, and stops it when the test finishes.
func (w *world) start() {
	w.Helper()
	w.running = w.StartManager(w.provisioner(w.settings))
	w.Cleanup(w.clear) // which takes a provisioner at work
}

// provisioner has exactly the rights of config/provisioner.
func (w *world) provisioner(settings product.Settings) lab.Manager {
	w.Helper()
	account, err := w.Lab.Management.ServiceAccountConfig(w.Context(), "slipway-system", "slipway-provisioner")
	if err != nil {
		w.Fatal(err)
	}
	if settings.WrapKubernetes != nil {
		account.Wrap(settings.WrapKubernetes)
	}
	settings.Change = func(options *manager.Options) {
		account.Dial = options.RESTConfig.Dial
		options.RESTConfig = account
	}
	return product.Provisioner(settings, func(options *manager.ProvisionerOptions) {
		if slices.Contains(w.features, permissions.Events) {
			options.EventQueue = eventQueue
		}
		if w.change != nil {
			w.change(options)
		}
	})
}

// stop stops the provisioner as a crash would, for its successor.
func (w *world) stop() {
	w.Helper()
	if err := w.running.Stop(); err != nil {
		w.Fatal(err)
	}
}

// clear has nothing left of the test that the next would meet.
func (w *world) clear() {
	ctx := context.WithoutCancel(w.Context())
	for _, object := range []client.Object{&corev1.Pod{}, &provisioningv1.Provisioner{}} {
		options := []client.DeleteAllOfOption{client.GracePeriodSeconds(0)}
		if _, isPod := object.(*corev1.Pod); isPod {
			options = append(options, client.InNamespace(w.Namespace))
		}
		if err := w.Client.DeleteAllOf(ctx, object, options...); err != nil {
			w.Errorf("deleting every %T: %v", object, err)
		}
	}
	for began := w.Kept(); ; time.Sleep(25 * time.Millisecond) {
		var provisioners provisioningv1.ProvisionerList
		var nodes provisioningv1.ProvisionedNodeList
		if err := errors.Join(w.Client.List(ctx, &provisioners), w.Client.List(ctx, &nodes)); err != nil {
			w.Errorf("listing what is left: %v", err)
			return
		}
		if len(provisioners.Items)+len(nodes.Items) == 0 {
			return
		}
		if w.Kept()-began > labtest.DefaultDeadline {
			w.Errorf("%d Provisioners and %d ProvisionedNodes are left", len(provisioners.Items), len(nodes.Items))
			return
		}
	}
}

// person returns a user's configuration of the AWS SDK.
func (w *world) person() aws.Config {
	config := w.AWSConfig()
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: tester + w.Account, SecretAccessKey: "none"}, nil
	})
	return config
}

// ec2 is a person's.
func (w *world) ec2() *ec2.Client { return ec2.NewFromConfig(w.person()) }

// tag gives something a tag.
func (w *world) tag(id, key, value string) {
	w.Helper()
	_, err := w.ec2().CreateTags(w.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{{Key: &key, Value: &value}}})
	if err != nil {
		w.Fatal(err)
	}
}

// provision applies a Provisioner named by the test, with further lines of its spec.
func (w *world) provision(name string, lines ...string) {
	w.Helper()
	w.Apply(provisioner(name, lines...))
}

func provisioner(name string, lines ...string) string {
	text := fmt.Sprintf(`
apiVersion: provisioning.karpenter.sh/v1alpha2
kind: Provisioner
metadata:
  name: %s
spec:
  cluster:
    name: %s
    endpoint: https://api.example.com:6443
    caBundle: %s
`, name, cluster, base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----")))
	for _, line := range lines {
		text += "  " + strings.ReplaceAll(line, "\n", "\n  ") + "\n"
	}
	return text
}

// pod creates a pod. It waits if the scheduler finds no node for it.
func (w *world) pod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	w.Helper()
	pod := w.podOf(name, edit...)
	if err := w.Client.Create(w.Context(), pod); err != nil {
		w.Fatal(err)
	}
	return pod
}

// podOf returns a pod without creating it.
func (w *world) podOf(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	pod := w.WaitingPod(name)
	for _, one := range edit {
		one(pod)
	}
	return pod
}

func selecting(pairs ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			pod.Spec.NodeSelector[pairs[i]] = pairs[i+1]
		}
	}
}

func asking(cpu, memory string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
}

// bound waits until the scheduler has put a pod on a node, and returns the node's name.
func (w *world) bound(pod *corev1.Pod) string {
	w.Helper()
	w.Eventually("the scheduler puts pod "+pod.Name+" on a node", func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" {
			return fmt.Errorf("its conditions are %+v", pod.Status.Conditions)
		}
		return nil
	})
	return pod.Spec.NodeName
}

// provisioned are all ProvisionedNodes.
func (w *world) provisioned() []provisioningv1.ProvisionedNode {
	w.Helper()
	var list provisioningv1.ProvisionedNodeList
	if err := w.Client.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// readyNodes waits until so many nodes are there and take pods, and no others.
func (w *world) readyNodes(count int) []corev1.Node {
	w.Helper()
	w.Eventually(fmt.Sprintf("%d nodes take pods", count), func() error {
		nodes := w.provisioned()
		for i := range nodes {
			if !isTrue(&nodes[i], provisioningv1.ReadyCondition) {
				return fmt.Errorf("%s is not ready: %+v", nodes[i].Name, nodes[i].Status.Conditions)
			}
		}
		if len(nodes) != count || len(w.Nodes()) != count {
			return fmt.Errorf("there are %d ProvisionedNodes and %d Nodes", len(nodes), len(w.Nodes()))
		}
		return nil
	})
	return w.Nodes()
}

func isTrue(node *provisioningv1.ProvisionedNode, kind string) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c metav1.Condition) bool { return c.Type == kind && c.Status == metav1.ConditionTrue })
}

// instances returns the instances that have not terminated.
func (w *world) instances() []awssim.Instance {
	return slices.DeleteFunc(w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instances(), func(instance awssim.Instance) bool {
		return instance.State.Name == ec2types.InstanceStateNameTerminated || instance.State.Name == ec2types.InstanceStateNameShuttingDown
	})
}

// count returns how often the provisioner called an action with success.
func (w *world) count(action string) int {
	count := 0
	for _, call := range w.Cloud.AWS.Calls() {
		if call.Action == action && call.Status == 200 && !strings.Contains(call.Principal, tester) {
			count++
		}
	}
	return count
}

// sleep lets simulated time pass, during which nothing much is expected to happen.
func (w *world) sleep(duration string) {
	w.Helper()
	parsed, err := time.ParseDuration(duration)
	if err != nil {
		w.Fatal(err)
	}
	w.clock.SetRate(asleep)
	defer w.clock.SetRate(rate)
	w.clock.Sleep(parsed)
}

// terminate terminates an instance outside Slipway.
func (w *world) terminate(id string) {
	w.Helper()
	if _, err := w.ec2().TerminateInstances(w.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		w.Fatal(err)
	}
}
