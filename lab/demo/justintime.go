package demo

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"

	"github.com/slipway-project/slipway/examples"
	"github.com/slipway-project/slipway/lab"
)

const (
	// ownTemplate is a user's own launch template, with an image for x86_64.
	ownTemplate = "web"
	// choosy is a Provisioner whose nodes are from that template.
	choosy = "web"
	// imageParameter has the id of the image that EKS recommends (AWS: "Retrieve recommended Amazon
	// Linux AMI IDs").
	imageParameter = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
)

// justInTimeStory is of pods that wait, and the real kube-scheduler that binds them once there is a node.
var justInTimeStory = []step{
	{
		title: "Apply a Provisioner and two pods that no node suits: one asks for nothing, one for arm64",
		act: func(ctx context.Context, s *stage) error {
			if err := lab.TagNetwork(ctx, s.ec2, "capa"); err != nil {
				return err
			}
			if err := apply(ctx, s.client, s.provisioner()); err != nil {
				return err
			}
			return s.createPods(ctx, map[string]map[string]string{"api": {}, "batch": {corev1.LabelArchStable: "arm64"}})
		},
		expected: "api runs on a default template, batch runs on arm64 of a default template",
		see:      seePods,
	},
	{
		title: "Apply a pod that names launch template web",
		act: func(ctx context.Context, s *stage) error {
			if err := s.makeOwnTemplate(ctx); err != nil {
				return err
			}
			return s.createPods(ctx, map[string]map[string]string{"front": {provisioningv1.LabelLaunchTemplateName: ownTemplate}})
		},
		expected: "api runs on a default template, batch runs on arm64 of a default template, front runs on amd64 of web version 1",
		see:      seePods,
	},
	{
		title: "Ask a Provisioner of the x86_64 template web for an arm64 node",
		act: func(ctx context.Context, s *stage) error {
			if err := apply(ctx, s.client, s.choosyProvisioner()); err != nil {
				return err
			}
			return s.createPods(ctx, map[string]map[string]string{
				"report": {provisioningv1.LabelProvisionerName: choosy, corev1.LabelArchStable: "arm64"},
			})
		},
		expected: "api runs on a default template, batch runs on arm64 of a default template, front runs on amd64 of web version 1, " +
			"report runs on arm64 of a default template",
		see: seePods,
	},
	{
		title: "Name a launch template and an architecture in one Provisioner",
		act: func(ctx context.Context, s *stage) error {
			err := apply(ctx, s.client, s.choosyProvisioner("architecture: arm64"))
			if !apierrors.IsInvalid(err) {
				return fmt.Errorf("the Provisioner was not refused as invalid: %w", err)
			}
			s.refusal = err.Error()
			return nil
		},
		expected: "refused, naming spec.architecture",
		see: func(_ context.Context, s *stage) (string, error) {
			if strings.Contains(s.refusal, "spec.architecture") {
				return "refused, naming spec.architecture", nil
			}
			return "refused: " + s.refusal, nil
		},
	},
	{
		title: "Delete the pods",
		act: func(ctx context.Context, s *stage) error {
			return s.client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0))
		},
		expected: "no instance and no node is left",
		see:      seeEmptied,
	},
	{
		title: "Delete the Provisioners",
		act: func(ctx context.Context, s *stage) error {
			return s.client.DeleteAllOf(ctx, &provisioningv1.Provisioner{})
		},
		expected: "AWS holds the launch template web alone, no Provisioner is left",
		see:      seeOwnTemplateAlone,
	},
}

// makeOwnTemplate creates a launch template that Slipway has no part in.
func (s *stage) makeOwnTemplate(ctx context.Context) error {
	image, err := ssm.NewFromConfig(s.lab.ManagerEnv(s.lab.Cloud).AWSConfig()).GetParameter(ctx, &ssm.GetParameterInput{Name: awssdk.String(imageParameter)})
	if err != nil {
		return err
	}
	_, err = s.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String(ownTemplate),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			ImageId: image.Parameter.Value, SecurityGroupIds: []string{"sg-0c1000000000000ab"},
			UserData: awssdk.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\n/usr/local/bin/join\n"))),
		},
	})
	return err
}

// provisioner returns the example, for the laboratory's API server.
func (s *stage) provisioner() string {
	config := s.lab.Workload.RESTConfig()
	return strings.NewReplacer(
		"https://api.example.com:6443", config.Host, "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==", base64.StdEncoding.EncodeToString(config.CAData),
	).Replace(examples.Provisioner)
}

// choosyProvisioner returns the example with a launch template, and further lines.
func (s *stage) choosyProvisioner(lines ...string) string {
	text := strings.Replace(s.provisioner(), "name: default", "name: "+choosy, 1)
	text += "  labels:\n    " + provisioningv1.LabelLaunchTemplateName + ": " + ownTemplate + "\n"
	for _, line := range lines {
		text += "  " + line + "\n"
	}
	return text
}

// createPods creates a pod for each name, with the node selector that it has. No two fit on one of
// the smallest nodes.
func (s *stage) createPods(ctx context.Context, selectors map[string]map[string]string) error {
	for name, selector := range selectors {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: corev1.PodSpec{
				NodeSelector: selector, TerminationGracePeriodSeconds: ptr.To[int64](0), AutomountServiceAccountToken: ptr.To(false),
				Containers: []corev1.Container{{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Gi"),
				}}}},
			},
		}
		if err := s.client.Create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// seePods describes for each pod what it runs on, by the labels of its Node.
func seePods(ctx context.Context, s *stage) (string, error) {
	pods := &corev1.PodList{}
	if err := s.client.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		return "", err
	}
	var seen []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Spec.NodeName == "" {
			seen = append(seen, pod.Name+" waits")
			continue
		}
		node := &corev1.Node{}
		if err := s.lab.WorkloadClient().Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node); err != nil {
			return "", err
		}
		template := "a default template"
		if name := node.Labels[provisioningv1.LabelLaunchTemplateName]; name == ownTemplate {
			template = name + " version " + node.Labels[provisioningv1.LabelLaunchTemplateVersion]
		}
		if len(pod.Spec.NodeSelector) > 0 { // any architecture suits a pod that asks for none
			template = node.Labels[corev1.LabelArchStable] + " of " + template
		}
		seen = append(seen, fmt.Sprintf("%s runs on %s", pod.Name, template))
	}
	slices.Sort(seen)
	return strings.Join(seen, ", "), nil
}

// seeEmptied describes the nodes that are no longer needed.
func seeEmptied(ctx context.Context, s *stage) (string, error) {
	left, err := s.left(ctx)
	if err != nil {
		return "", err
	}
	ready, err := s.readyNodes(ctx)
	if err != nil {
		return "", err
	}
	if ready > 0 || strings.Contains(left, "instance ") {
		return fmt.Sprintf("%d nodes are Ready; AWS holds %s", ready, left), nil
	}
	return "no instance and no node is left", nil
}

// seeOwnTemplateAlone looks for anything that just-in-time nodes left behind.
func seeOwnTemplateAlone(ctx context.Context, s *stage) (string, error) {
	provisioners := &provisioningv1.ProvisionerList{}
	if err := s.client.List(ctx, provisioners); err != nil {
		return "", err
	}
	left, err := s.left(ctx)
	if err != nil {
		return "", err
	}
	if len(provisioners.Items) > 0 || left != "launch template "+ownTemplate {
		return fmt.Sprintf("%d Provisioners are left; AWS holds %s", len(provisioners.Items), left), nil
	}
	return "AWS holds the launch template web alone, no Provisioner is left", nil
}
