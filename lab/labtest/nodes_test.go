package labtest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"

	"github.com/slipway-project/slipway/lab"
)

// launch runs one m5.large in us-east-1b with the user data and returns its id.
func launch(t *testing.T, env *Env, userData string) string {
	t.Helper()
	image := ""
	for _, candidate := range env.Cloud.AWS.World().Region(env.Cloud.Region()).Images {
		if strings.HasPrefix(candidate.Name, "capa-ami-ubuntu-24.04-v1.33.0-") && candidate.Architecture == "x86_64" {
			image = candidate.ID
		}
	}
	input := &ec2.RunInstancesInput{
		ImageId: &image, InstanceType: ec2types.InstanceTypeM5Large, SubnetId: aws.String("subnet-0b2000000000000ab"),
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
	}
	if userData != "" {
		input.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(userData)))
	}
	output, err := ec2.NewFromConfig(env.AWSConfig()).RunInstances(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	return *output.Instances[0].InstanceId
}

func terminate(t *testing.T, env *Env, id string) {
	t.Helper()
	if _, err := ec2.NewFromConfig(env.AWSConfig()).TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
}

// wantNodes waits until exactly the instances have Nodes.
func wantNodes(env *Env, reason string, ids ...string) {
	env.Helper()
	env.Eventually(reason, func() error {
		var got []string
		for _, node := range env.Nodes() {
			got = append(got, node.Status.NodeInfo.SystemUUID)
		}
		if len(got) != len(ids) {
			return fmt.Errorf("there are nodes of instances %v, not %v", got, ids)
		}
		for _, id := range ids {
			if !strings.Contains(strings.Join(got, " "), id) {
				return fmt.Errorf("there are nodes of instances %v, not %v", got, ids)
			}
		}
		return nil
	})
}

func TestNodesComeAndGoWithTheirInstances(t *testing.T) {
	t.Parallel()
	env := New(t)
	id := launch(t, env, "#!/bin/bash\n/etc/eks/bootstrap.sh capa --kubelet-extra-args --node-labels=pool=blue\n")
	wantNodes(env, "an instance that boots becomes a node", id)
	node := env.Nodes()[0]
	if got, want := node.Name, id+".ec2.internal"; got != want {
		t.Errorf("the node is called %q, want %q", got, want)
	}
	if got, want := node.Spec.ProviderID, "aws:///us-east-1b/"+id; got != want {
		t.Errorf("its provider id is %q, want %q", got, want)
	}
	for key, want := range map[string]string{
		corev1.LabelTopologyZone: "us-east-1b", corev1.LabelTopologyRegion: "us-east-1",
		corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelArchStable: "amd64", "pool": "blue",
	} {
		if got := node.Labels[key]; got != want {
			t.Errorf("its label %s is %q, want %q", key, got, want)
		}
	}
	if got, want := node.Status.NodeInfo.KubeletVersion, "v1.33.0"; got != want {
		t.Errorf("its kubelet has version %q, want %q", got, want)
	}
	env.Eventually("the node is ready and takes pods", func() error {
		node := env.Nodes()[0]
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v, its taints %+v", node.Status.Conditions, node.Spec.Taints)
	})
	terminate(t, env, id)
	wantNodes(env, "the node goes with its instance")
}

func TestNodesBootOnTheSimulatedClock(t *testing.T) {
	t.Parallel()
	clock := simclock.New(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), 0)
	t.Cleanup(clock.Close)
	env := NewWith(t, Options{AWS: awssim.Options{
		Clock:    clock,
		Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: 10 * time.Second, Boot: time.Hour}},
	}})
	id := launch(t, env, "#!/bin/bash\n")
	clock.Step(time.Hour)
	time.Sleep(200 * time.Millisecond)
	if nodes := env.Nodes(); len(nodes) != 0 {
		t.Fatal("a node is there before its instance has booted")
	}
	clock.Step(10 * time.Second)
	wantNodes(env, "the node is there once its instance has booted", id)
}

func TestNodesJoinWithAValidTokenOnly(t *testing.T) {
	t.Parallel()
	env := New(t)
	env.Cluster(lab.ClusterOptions{})
	env.Apply(documented)
	var data, token string
	env.Eventually("there is join data", func() error {
		var config bootstrapv1.KubeadmConfig
		key := client.ObjectKey{Namespace: env.Namespace, Name: "capa-mp-0"}
		if err := env.Client.Get(t.Context(), key, &config); err != nil {
			return err
		}
		if token = config.Spec.JoinConfiguration.Discovery.BootstrapToken.Token; token == "" || config.Status.DataSecretName == "" {
			return errors.New("there is none yet")
		}
		data = string(env.BootstrapData("capa-mp-0"))
		return nil
	})
	good := launch(t, env, data)
	wantNodes(env, "an instance with the join data of KubeadmConfig joins", good)

	id, _, _ := strings.Cut(token, ".")
	env.RotateBootstrapToken("capa-mp-0")
	for _, row := range []struct{ reason, userData, refusal string }{
		{"an instance without user data never joins", "", "no user data"},
		{"one whose token is gone does not", data, "bootstrap token " + id + " does not exist"},
	} {
		instance := launch(t, env, row.userData)
		env.Eventually(row.reason, func() error {
			for _, refusal := range env.Cloud.Nodes.Refusals(env.Account) {
				if refusal.InstanceID == instance && strings.Contains(refusal.Reason, row.refusal) {
					return nil
				}
			}
			return fmt.Errorf("the refusals are %+v", env.Cloud.Nodes.Refusals(env.Account))
		})
	}
	expired := &corev1.Secret{
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": "expird", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"},
	}
	expired.Namespace, expired.Name = "kube-system", "bootstrap-token-expird"
	expired.StringData["expiration"] = time.Now().Add(time.Second).UTC().Format(time.RFC3339)
	if err := env.WorkloadClient.Create(t.Context(), expired); err != nil {
		t.Fatal(err)
	}
	env.Eventually("an expired token is taken away", func() error {
		err := env.WorkloadClient.Get(t.Context(), client.ObjectKeyFromObject(expired), expired)
		if err == nil {
			return errors.New("it is still there")
		}
		return client.IgnoreNotFound(err)
	})
	wantNodes(env, "the node that joined stays, and no other joins", good)
}
