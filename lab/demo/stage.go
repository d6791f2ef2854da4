package demo

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
	"github.com/slipway-project/slipway/lab"
)

// The names in examples/machinepool.yaml.
const (
	namespace = "default"
	poolName  = "capa-mp-0"
)

// stage holds the setting of the story: the user's clients, and what is remembered from one step to
// the next.
type stage struct {
	lab    *lab.Lab
	client client.Client
	ec2    *ec2.Client
	groups *autoscaling.Client
	// before are the instances that ran when the last edit was applied.
	before []string
	// refreshes is how many refreshes there had been then.
	refreshes int
	// newest is the newest version that there was then.
	newest int64
	// oldToken is the join token that was rotated.
	oldToken string
	// refusal is the API server's message about an edit.
	refusal string

	planner *plan.Planner
	// planned is the edit of this step, nil if the step makes none that is planned, and out is where its
	// plan is shown.
	planned *planned
	out     io.Writer
}

func newStage(l *lab.Lab, out io.Writer) (*stage, error) {
	if l.Cloud == nil {
		return nil, errors.New("the laboratory has no simulated AWS")
	}
	config, c := l.ManagerEnv(l.Cloud).AWSConfig(), l.Client()
	return &stage{
		lab: l, client: c, ec2: ec2.NewFromConfig(config), groups: autoscaling.NewFromConfig(config), out: out,
		planner: &plan.Planner{Cluster: c, AWS: config, Kinds: apiserver.NewKinds(c.Scheme(), nil), Clock: l.Cloud.AWS.Clock(), SettleWindow: manager.DefaultSettleWindow},
	}, nil
}

func (s *stage) pool(ctx context.Context) (*infrav1.AWSMachinePool, error) {
	pool := &infrav1.AWSMachinePool{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: poolName}, pool); err != nil {
		return nil, fmt.Errorf("reading the pool: %w", err)
	}
	return pool, nil
}

// edit plans a change of the pool, and makes it as a user would. It remembers what ran before.
func (s *stage) edit(ctx context.Context, change func(*infrav1.AWSMachinePool)) error {
	if err := s.remember(ctx); err != nil {
		return err
	}
	pool, err := s.pool(ctx)
	if err != nil {
		return err
	}
	return edit(ctx, s, pool, change)
}

func (s *stage) remember(ctx context.Context) error {
	group, err := s.group(ctx)
	if err != nil {
		return err
	}
	s.before = instanceIDs(group)
	refreshes, err := s.listRefreshes(ctx)
	if err != nil {
		return err
	}
	s.refreshes = len(refreshes)
	versions, err := s.versions(ctx)
	if err != nil {
		return err
	}
	s.newest = versions[len(versions)-1]
	return nil
}

// carriesToken says whether the newest version's user data is the bootstrap data of this moment,
// and holds another token than the old one.
func (s *stage) carriesToken(ctx context.Context) (bool, error) {
	config := &bootstrapv1.KubeadmConfig{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: poolName}, config); err != nil {
		return false, err
	}
	secret := &corev1.Secret{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: config.Status.DataSecretName}, secret); err != nil {
		return false, err
	}
	output, err := s.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateName: awssdk.String(poolName), Versions: []string{"$Latest"},
	})
	if err != nil || len(output.LaunchTemplateVersions) == 0 {
		return false, err
	}
	userData := awssdk.ToString(output.LaunchTemplateVersions[0].LaunchTemplateData.UserData)
	bootstrap := secret.Data["value"]
	return userData == base64.StdEncoding.EncodeToString(bootstrap) && !bytes.Contains(bootstrap, []byte(s.oldToken)), nil
}

// group returns the pool's Auto Scaling group, nil if there is none.
func (s *stage) group(ctx context.Context) (*asgtypes.AutoScalingGroup, error) {
	output, err := s.groups.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{poolName}})
	if err != nil || len(output.AutoScalingGroups) == 0 {
		return nil, err
	}
	return &output.AutoScalingGroups[0], nil
}

func instanceIDs(group *asgtypes.AutoScalingGroup) []string {
	var ids []string
	if group != nil {
		for _, instance := range group.Instances {
			ids = append(ids, *instance.InstanceId)
		}
	}
	slices.Sort(ids)
	return ids
}

func (s *stage) listRefreshes(ctx context.Context) ([]asgtypes.InstanceRefresh, error) {
	output, err := s.groups.DescribeInstanceRefreshes(ctx, &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: awssdk.String(poolName)})
	if err != nil {
		return nil, err
	}
	return output.InstanceRefreshes, nil
}

// versions returns the numbers of the template's versions, ascending.
func (s *stage) versions(ctx context.Context) ([]int64, error) {
	output, err := s.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: awssdk.String(poolName)})
	if err != nil {
		return nil, err
	}
	var numbers []int64
	for _, version := range output.LaunchTemplateVersions {
		numbers = append(numbers, *version.VersionNumber)
	}
	slices.Sort(numbers)
	return numbers, nil
}

// readyNodes counts the Nodes that are Ready.
func (s *stage) readyNodes(ctx context.Context) (int, error) {
	nodes := &corev1.NodeList{}
	if err := s.lab.WorkloadClient().List(ctx, nodes); err != nil {
		return 0, err
	}
	ready := 0
	for i := range nodes.Items {
		for _, condition := range nodes.Items[i].Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return ready, nil
}

// settled reports whether the pool has acted on its spec and its instances all run what it asks
// for.
func (s *stage) settled(ctx context.Context) (bool, error) {
	pool, err := s.pool(ctx)
	if err != nil {
		return false, err
	}
	return pool.Status.ObservedGeneration == pool.Generation &&
		meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.ReadyCondition) &&
		meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.RolledOutCondition), nil
}

// replaced counts the remembered instances that are gone from the group.
func (s *stage) replaced(ctx context.Context) (int, error) {
	group, err := s.group(ctx)
	if err != nil {
		return 0, err
	}
	now := instanceIDs(group)
	return len(s.before) - len(slices.DeleteFunc(slices.Clone(s.before), func(id string) bool { return !slices.Contains(now, id) })), nil
}

// progress returns one line about the pool, for a user who waits.
func (s *stage) progress(ctx context.Context) string {
	pool, err := s.pool(ctx)
	if err != nil {
		return ""
	}
	line := fmt.Sprintf("%d of %d replicas up to date", deref(pool.Status.UpToDateReplicas), pool.Status.Replicas)
	if version := pool.Status.LaunchTemplateVersion; version != nil {
		line += ", launch template version " + *version
	}
	// A refresh that is over is the one before this change's.
	if rollout := pool.Status.Rollout; rollout != nil && !over[rollout.Status] && !meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.RolledOutCondition) {
		line += fmt.Sprintf(", refresh %s %d %%", rollout.Status, deref(rollout.PercentageComplete))
	}
	for _, kind := range []string{infrav1.DeletingCondition, infrav1.LaunchTemplateReadyCondition, infrav1.ASGReadyCondition} {
		condition := meta.FindStatusCondition(pool.Status.Conditions, kind)
		if condition != nil && condition.Message != "" {
			return line + ": " + condition.Message
		}
	}
	return line
}

// over are the states of a finished refresh (AWS: API_InstanceRefresh, Status).
var over = map[string]bool{"Successful": true, "Failed": true, "Cancelled": true, "RollbackSuccessful": true, "RollbackFailed": true}

func deref(value *int32) int32 {
	if value == nil {
		return 0
	}
	return *value
}

// left names everything of the pool that AWS still holds.
func (s *stage) left(ctx context.Context) (string, error) {
	var left []string
	templates, err := s.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		return "", err
	}
	for _, template := range templates.LaunchTemplates {
		left = append(left, "launch template "+*template.LaunchTemplateName)
	}
	groups, err := s.groups.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{})
	if err != nil {
		return "", err
	}
	for _, group := range groups.AutoScalingGroups {
		left = append(left, "Auto Scaling group "+*group.AutoScalingGroupName)
	}
	instances, err := s.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
	if err != nil {
		return "", err
	}
	for _, reservation := range instances.Reservations {
		for _, instance := range reservation.Instances {
			if instance.State.Name != ec2types.InstanceStateNameTerminated {
				left = append(left, "instance "+*instance.InstanceId)
			}
		}
	}
	volumes, err := s.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{})
	if err != nil {
		return "", err
	}
	for _, volume := range volumes.Volumes {
		left = append(left, "volume "+*volume.VolumeId)
	}
	return strings.Join(left, ", "), nil
}
