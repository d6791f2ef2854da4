package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/examples"
)

// story is a sequence of actions of a user of machine pools.
var story = []step{
	{
		title:    "Apply MachinePool, AWSMachinePool and KubeadmConfig",
		act:      func(ctx context.Context, s *stage) error { return apply(ctx, s.client, examples.MachinePool) },
		expected: "2 nodes Ready, group at the newest version",
		see:      seeNodes,
	},
	{
		title: "Change the instance type to m6i.large",
		act: func(ctx context.Context, s *stage) error {
			return s.edit(ctx, func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
		},
		expected: "1 new version, 1 new refresh, 2 instances replaced, 2 nodes Ready, group at the newest version",
		see:      seeRollout,
	},
	{
		title: "Rotate the kubeadm join token",
		act: func(ctx context.Context, s *stage) error {
			if err := s.remember(ctx); err != nil {
				return err
			}
			var err error
			s.oldToken, err = s.lab.RotateBootstrapToken(ctx, client.ObjectKey{Namespace: namespace, Name: poolName})
			return err
		},
		expected: "a version with the new token, 0 new refreshes, 0 instances replaced, 2 nodes Ready, group at the newest version",
		see:      seeRotation,
	},
	{
		title: "Ask for a gp2 root volume with provisioned IOPS",
		act: func(ctx context.Context, s *stage) error {
			err := s.edit(ctx, func(pool *infrav1.AWSMachinePool) {
				pool.Spec.AWSLaunchTemplate.RootVolume = &infrav1.Volume{Size: 50, Type: infrav1.VolumeTypeGP2, IOPS: 3000}
			})
			if !apierrors.IsInvalid(err) {
				return fmt.Errorf("the edit was not refused as invalid: %w", err)
			}
			s.refusal = err.Error()
			return nil
		},
		expected: "refused, naming rootVolume and iops",
		see: func(_ context.Context, s *stage) (string, error) {
			if strings.Contains(s.refusal, "rootVolume") && strings.Contains(s.refusal, "iops") {
				return "refused, naming rootVolume and iops", nil
			}
			return "refused: " + s.refusal, nil
		},
	},
	{
		title: "Edit the root volume to 60 GiB gp3 (which CAPA ignores)",
		act: func(ctx context.Context, s *stage) error {
			return s.edit(ctx, func(pool *infrav1.AWSMachinePool) {
				pool.Spec.AWSLaunchTemplate.RootVolume = &infrav1.Volume{Size: 60, Type: infrav1.VolumeTypeGP3}
			})
		},
		expected: "1 new version, 1 new refresh, 2 instances replaced, 2 nodes Ready, group at the newest version, root volumes 60 GiB",
		see:      seeVolumes,
	},
	{
		title: "Keep two versions",
		act: func(ctx context.Context, s *stage) error {
			return s.edit(ctx, func(pool *infrav1.AWSMachinePool) { pool.Spec.VersionsToKeep = ptr.To[int32](2) })
		},
		expected: "2 versions left, 0 new refreshes, 0 instances replaced, 2 nodes Ready, group at the newest version",
		see:      seePruned,
	},
	{
		title: "Delete the MachinePool",
		act: func(ctx context.Context, s *stage) error {
			machinePool := &clusterv1.MachinePool{}
			machinePool.Namespace, machinePool.Name = namespace, poolName
			return s.client.Delete(ctx, machinePool)
		},
		expected: "AWS holds nothing, no node and no object is left",
		see:      seeNothing,
	},
}

// apply creates the objects of a manifest.
func apply(ctx context.Context, c client.Client, manifest string) error {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading the manifest: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// seeNodes says how many nodes there are, and whether new ones would be launched from the newest version.
func seeNodes(ctx context.Context, s *stage) (string, error) {
	ready, err := s.readyNodes(ctx)
	if err != nil {
		return "", err
	}
	group, err := s.group(ctx)
	if err != nil {
		return "", err
	}
	if group == nil || group.LaunchTemplate == nil {
		return fmt.Sprintf("%d nodes Ready, no group", ready), nil
	}
	versions, err := s.versions(ctx)
	if err != nil {
		return "", err
	}
	version := *group.LaunchTemplate.Version
	if newest := fmt.Sprint(versions[len(versions)-1]); version != newest {
		return fmt.Sprintf("%d nodes Ready, group at version %s of %s", ready, version, newest), nil
	}
	return fmt.Sprintf("%d nodes Ready, group at the newest version", ready), nil
}

// seeInstances says what an edit did to refreshes and instances, once the pool has acted on it.
func seeInstances(ctx context.Context, s *stage) (string, error) {
	settled, err := s.settled(ctx)
	if err != nil {
		return "", err
	}
	if !settled {
		return "the pool has not acted on its spec yet", nil
	}
	refreshes, err := s.listRefreshes(ctx)
	if err != nil {
		return "", err
	}
	replaced, err := s.replaced(ctx)
	if err != nil {
		return "", err
	}
	nodes, err := seeNodes(ctx, s)
	if err != nil {
		return "", err
	}
	started, plural := len(refreshes)-s.refreshes, "es"
	if started == 1 {
		plural = ""
	}
	return fmt.Sprintf("%d new refresh%s, %d instances replaced, %s", started, plural, replaced, nodes), nil
}

// seeRollout returns the same as seeInstances, with the versions that the edit created.
func seeRollout(ctx context.Context, s *stage) (string, error) {
	versions, err := s.versions(ctx)
	if err != nil {
		return "", err
	}
	made, plural := versions[len(versions)-1]-s.newest, "s"
	if made == 1 {
		plural = ""
	}
	instances, err := seeInstances(ctx, s)
	return fmt.Sprintf("%d new version%s, %s", made, plural, instances), err
}

// seeRotation returns the same as seeInstances, with whether the newest version carries the token
// that nodes join with now.
func seeRotation(ctx context.Context, s *stage) (string, error) {
	carried, err := s.carriesToken(ctx)
	if err != nil {
		return "", err
	}
	if !carried {
		return "no version with the new token yet", nil
	}
	instances, err := seeInstances(ctx, s)
	return "a version with the new token, " + instances, err
}

// seePruned returns the same as seeInstances, with how many versions are left.
func seePruned(ctx context.Context, s *stage) (string, error) {
	versions, err := s.versions(ctx)
	if err != nil {
		return "", err
	}
	instances, err := seeInstances(ctx, s)
	return fmt.Sprintf("%d versions left, %s", len(versions), instances), err
}

// seeVolumes returns the same as seeRollout, with the size of the root volumes that EC2 really
// created.
func seeVolumes(ctx context.Context, s *stage) (string, error) {
	seen, err := seeRollout(ctx, s)
	if err != nil {
		return "", err
	}
	volumes, err := s.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{})
	if err != nil {
		return "", err
	}
	for _, volume := range volumes.Volumes {
		if size := awssdk.ToInt32(volume.Size); size != 60 {
			return fmt.Sprintf("%s, a root volume of %d GiB", seen, size), nil
		}
	}
	return seen + ", root volumes 60 GiB", nil
}

// seeNothing looks for anything that the pool left behind.
func seeNothing(ctx context.Context, s *stage) (string, error) {
	return seeNothingOf(ctx, s, poolName)
}
