package crashsweep

import (
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/capa"
)

// scenario is something that a user does.
type scenario struct {
	name string
	// cluster is the one that the world has.
	cluster lab.ClusterOptions
	// prepare sets up the world in which it is done. The manager does not die meanwhile.
	prepare func(*harness)
	// act is what the user does.
	act func(*harness)
	// done is nil when all that follows from it is there.
	done func(*harness) error
	// rate is the clock's from the act until all is done; the usual one if zero.
	rate float64
	// repeats is the number of writing calls that a crash may cause again, besides the one in which
	// the manager died.
	repeats int
}

var scenarios = []scenario{
	{
		name:    "create",
		prepare: func(*harness) {},
		act:     createPool,
		done:    func(h *harness) error { return h.ready(2) },
	},
	{
		name:    "edit",
		prepare: havePool,
		act: func(h *harness) {
			h.edit(func(pool *infrav1.AWSMachinePool, machinePool *clusterv1.MachinePool) {
				pool.Spec.MaxSize = 5
				machinePool.Spec.Replicas = ptr.To[int32](3)
			})
		},
		done: func(h *harness) error { return h.ready(3) },
	},
	{
		name:    "token rotation",
		prepare: havePool,
		act:     func(h *harness) { h.putBootstrapData(1) },
		done: func(h *harness) error {
			if versions := h.world().Versions; len(versions) != 2 {
				return fmt.Errorf("versions are %v", versions)
			}
			return h.ready(2)
		},
	},
	{
		name:    "roll-out",
		prepare: havePool,
		act: func(h *harness) {
			h.edit(func(pool *infrav1.AWSMachinePool, _ *clusterv1.MachinePool) {
				pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large"
			})
		},
		done: func(h *harness) error {
			for _, instance := range h.world().Instances {
				if instance.Type != "m6i.large" {
					return fmt.Errorf("an instance is %+v", instance)
				}
			}
			return h.ready(2)
		},
	},
	{
		name:    "adopt",
		prepare: haveCAPAsPool,
		act:     unpause,
		done: func(h *harness) error {
			for _, instance := range h.world().Instances {
				if instance.Version != "2" {
					return fmt.Errorf("an instance is %+v", instance)
				}
			}
			return h.ready(2)
		},
	},
	{
		name:    "delete a pool that was not taken over",
		prepare: haveCAPAsPool,
		act: func(h *harness) {
			deletePool(h)
			h.awaitDeletion(&infrav1.AWSMachinePool{}, poolName)
			unpause(h)
		},
		done: leavesTheGroup,
		rate: unhurried,
	},
	{
		name:    "delete",
		prepare: havePool,
		act:     deletePool,
		done:    gone,
		rate:    unhurried,
	},
	{
		name:    "create with a parameter",
		prepare: func(*harness) {},
		act:     createStoredPool,
		done:    func(h *harness) error { return h.ready(2) },
	},
	{
		name:    "token rotation with a parameter",
		prepare: haveStoredPool,
		act:     func(h *harness) { h.putBootstrapData(1) },
		done: func(h *harness) error {
			if _, secret := h.token(1); !strings.Contains(h.stored(), secret) {
				return errors.New("the parameter does not hold the new token")
			}
			return h.ready(2)
		},
	},
	{
		name:    "delete with a parameter",
		prepare: haveStoredPool,
		act:     deletePool,
		done:    gone,
		rate:    unhurried,
	},
}

func deletePool(h *harness) {
	machinePool := &clusterv1.MachinePool{}
	machinePool.Namespace, machinePool.Name = h.env.Namespace, poolName
	if err := h.env.Client.Delete(h.env.Context(), machinePool); err != nil {
		h.Fatal(err)
	}
}

// awaitDeletion waits until core Cluster API has asked for the deletion of an object. A pool that
// it has not asked for yet is taken over once it is unpaused.
func (h *harness) awaitDeletion(object client.Object, name string) {
	h.Helper()
	h.env.Eventually("the deletion of "+name+" is asked for", func() error {
		if err := h.env.Client.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: name}, object); err != nil {
			return err
		}
		if object.GetDeletionTimestamp() == nil {
			return errors.New("it is not")
		}
		return nil
	})
}

// createStoredPool keeps the bootstrap data in a parameter.
func createStoredPool(h *harness) {
	createPoolStoredIn(h, infrav1.BootstrapStorageSSM)
}

// haveStoredPool has the pool of createStoredPool, at rest.
func haveStoredPool(h *harness) {
	createStoredPool(h)
	h.env.Eventually("the pool is ready", func() error { return h.ready(2) })
}

func createPool(h *harness) {
	h.putBootstrapData(0)
	h.env.ApplyFile("testdata/pool.yaml")
}

// havePool has the pool of the example, at rest.
func havePool(h *harness) {
	createPool(h)
	h.env.Eventually("the pool is ready", func() error { return h.ready(2) })
}

// gone is nil when no object of the pool is left.
func gone(h *harness) error {
	for _, object := range []client.Object{&clusterv1.MachinePool{}, &infrav1.AWSMachinePool{}, &infrav1.AWSLaunchConfig{}} {
		err := h.env.Client.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: poolName}, object)
		if err == nil {
			return fmt.Errorf("%T is still there, with finalizers %q", object, object.GetFinalizers())
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// leavesTheGroup is nil once the pool says that its group, which it does not own, is left.
func leavesTheGroup(h *harness) error {
	pool, err := h.pool()
	if err != nil {
		return err
	}
	condition := meta.FindStatusCondition(pool.Status.Conditions, infrav1.DeletingCondition)
	if condition == nil || condition.Reason != infrav1.OwnerTagMissingReason {
		return fmt.Errorf("conditions are %+v", pool.Status.Conditions)
	}
	return nil
}

// haveCAPAsPool has the pool of the example as Cluster API Provider AWS leaves it. It is paused, so
// that the manager does nothing yet.
func haveCAPAsPool(h *harness) {
	h.putBootstrapData(0)
	h.env.ApplyFile("testdata/pool.yaml", "kind: AWSMachinePool\nmetadata:\n", "kind: AWSMachinePool\nmetadata:\n  annotations: {"+clusterv1.PausedAnnotation+": \"true\"}\n")
	provider := capa.Provider{
		Client: h.env.Client, AWS: h.env.AWSConfig(), Key: client.ObjectKey{Namespace: h.env.Namespace, Name: poolName}, ImageID: h.image("capa-ami-ubuntu-24.04-v1.25.0-*"),
	}
	var template string
	h.env.Eventually("the cluster knows the pool", func() (err error) {
		template, err = provider.CreateTemplate(h.env.Context())
		return err
	})
	for _, do := range []func() error{
		func() error { return provider.CreateVersion(h.env.Context()) },
		func() error { return provider.CreateGroup(h.env.Context(), template) },
	} {
		if err := do(); err != nil {
			h.Fatal(err)
		}
	}
	h.env.Eventually("two instances run", func() error {
		if instances := h.world().Instances; len(instances) != 2 || instances[0].State != "running" || instances[1].State != "running" {
			return fmt.Errorf("instances are %+v", instances)
		}
		return nil
	})
	if err := provider.MarkPool(h.env.Context()); err != nil {
		h.Fatal(err)
	}
}

func unpause(h *harness) {
	h.edit(func(pool *infrav1.AWSMachinePool, _ *clusterv1.MachinePool) {
		delete(pool.Annotations, clusterv1.PausedAnnotation)
	})
}

// image is one of the name.
func (h *harness) image(name string) string {
	h.Helper()
	out, err := ec2.NewFromConfig(h.env.AWSConfig()).DescribeImages(h.env.Context(), &ec2.DescribeImagesInput{
		Filters: []ec2types.Filter{
			{Name: awssdk.String("name"), Values: []string{name}}, {Name: awssdk.String("architecture"), Values: []string{"x86_64"}},
		},
	})
	if err != nil || len(out.Images) == 0 {
		h.Fatalf("there is no image: %v", err)
	}
	return *out.Images[0].ImageId
}

// stored is all that is kept in parameters.
func (h *harness) stored() string {
	h.Helper()
	var text strings.Builder
	for name := range h.env.State()["ssm"].(map[string]any)["parameters"].(map[string]any) {
		value, err := h.env.Cloud.AWS.Region(h.env.Account, h.env.Cloud.Region()).Parameter(name)
		if err != nil {
			h.Fatal(err)
		}
		inflated, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(value)))
		if err != nil {
			h.Fatal(err)
		}
		// #nosec G110 -- what the manager under test wrote
		if _, err := io.Copy(&text, inflated); err != nil {
			h.Fatal(err)
		}
	}
	return text.String()
}
