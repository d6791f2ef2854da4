package provisioner

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// image is Amazon's for the newest Kubernetes, of an architecture.
func (w *world) image(architecture string) string {
	w.Helper()
	return w.imageFor("1.36", architecture)
}

func (w *world) imageFor(version, architecture string) string {
	w.Helper()
	parameter := eksParameter(version, architecture)
	output, err := ssm.NewFromConfig(w.person()).GetParameter(w.Context(), &ssm.GetParameterInput{Name: &parameter})
	if err != nil {
		w.Fatal(err)
	}
	return *output.Parameter.Value
}

// eksParameter returns the parameter where EKS publishes the newest image of Amazon Linux 2023.
func eksParameter(version, architecture string) string {
	return "/aws/service/eks/optimized-ami/" + version + "/amazon-linux-2023/" + architecture + "/standard/recommended/image_id"
}

// parameter stores an image in a user's parameter, and returns its name.
func (w *world) parameter(name, image string) string {
	w.Helper()
	_, err := ssm.NewFromConfig(w.person()).PutParameter(w.Context(), &ssm.PutParameterInput{
		Name: &name, Value: &image, Type: ssmtypes.ParameterTypeString, DataType: aws.String("aws:ec2:image"), Overwrite: aws.Bool(true),
	})
	if err != nil {
		w.Fatal(err)
	}
	return name
}

// template creates a user's own launch template with an image, and returns its ID.
func (w *world) template(name, image string, edit ...func(*ec2types.RequestLaunchTemplateData)) string {
	w.Helper()
	output, err := w.ec2().CreateLaunchTemplate(w.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: templateData(image, edit...)})
	if err != nil {
		w.Fatal(err)
	}
	return *output.LaunchTemplate.LaunchTemplateId
}

func templateData(image string, edit ...func(*ec2types.RequestLaunchTemplateData)) *ec2types.RequestLaunchTemplateData {
	data := &ec2types.RequestLaunchTemplateData{
		ImageId: &image, UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\n/etc/eks/join\n"))),
		SecurityGroupIds: []string{"sg-0c1000000000000ab"},
	}
	for _, one := range edit {
		one(data)
	}
	return data
}

// launchedFrom are the launch template and version of each instance, by the architecture of its image.
func (w *world) launchedFrom() []string {
	var launched []string
	for _, instance := range w.instances() {
		tags := map[string]string{}
		for _, tag := range instance.Tags {
			tags[*tag.Key] = *tag.Value
		}
		launched = append(launched, fmt.Sprintf("%s:%s %s", tags["aws:ec2launchtemplate:id"], tags["aws:ec2launchtemplate:version"], instance.Architecture))
	}
	slices.Sort(launched)
	return launched
}

// TestTemplateByLabel holds the document's demand: of two pods that wait together, one names a
// launch template and gets a node from it, and the other has a node launched from the default one.
// The scheduler may give the second pod the first one's node once that is ready, and then the first
// one gets another from the same template.
func TestTemplateByLabel(t *testing.T) {
	w := newWorld(t)
	id := w.template("web", w.image("x86_64"))
	w.provision("default", "allowedLaunchTemplates: {names: [web]}")
	named := w.pod("named", selecting(provisioningv1.LabelLaunchTemplateName, "web"))
	w.pod("plain")
	host := w.bound(named)
	w.Eventually("one node and more are from web, and one is from the default launch template", func() error {
		launched := slices.Compact(w.launchedFrom())
		if len(launched) != 2 || !slices.Contains(launched, id+":1 x86_64") {
			return fmt.Errorf("instances are launched from %q, and web is %s", launched, id)
		}
		var names []string
		for _, node := range w.Nodes() {
			name := node.Labels[provisioningv1.LabelLaunchTemplateName] + ":" + node.Labels[provisioningv1.LabelLaunchTemplateVersion]
			if node.Name == host && name != "web:1" {
				t.Errorf("the node of the pod that names web says that it is launched from %q", name)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		if !slices.Equal(slices.Compact(names), []string{":", "web:1"}) {
			return fmt.Errorf("nodes say they are launched from %q", names)
		}
		return nil
	})
}

// TestLatestIsANumber holds that a provisioner follows the newest version, and that nodes carry its number.
func TestLatestIsANumber(t *testing.T) {
	w := newWorld(t)
	image := w.image("x86_64")
	id := w.template("web", image)
	_, err := w.ec2().CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, LaunchTemplateData: templateData(image)})
	if err != nil {
		t.Fatal(err)
	}
	w.provision("default", "labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: $LATEST}")
	w.pod("one")
	node := w.readyNodes(1)[0]
	if version := node.Labels[provisioningv1.LabelLaunchTemplateVersion]; version != "2" {
		t.Errorf("the node carries version %q", version)
	}
	if launched := w.launchedFrom(); !slices.Equal(launched, []string{id + ":2 x86_64"}) {
		t.Errorf("the instance is launched from %q", launched)
	}
}

// TestOtherArchitecture holds what becomes of a pod for arm64 on a provisioner whose template is
// for x86_64: a node from the default template, or nothing, by policy.
func TestOtherArchitecture(t *testing.T) {
	for _, row := range []struct {
		reason, policy string
		nodes          []string
		event          string
	}{
		{"by default", "", []string{"arm64"}, ""},
		{"left alone", "incompatibleArchitecturePolicy: Ignore", nil, "does not launch nodes for the pod"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			w := newWorld(t)
			// The architecture is behind a parameter, as in most templates.
			w.template("web", "resolve:ssm:/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id")
			w.provision("default", "labels: {node.k8s.aws/launch-template-name: web}", row.policy)
			pod := w.pod("one", selecting(corev1.LabelArchStable, "arm64"))
			if row.event != "" {
				w.eventOf(pod, row.event)
			}
			var architectures []string
			for _, node := range w.readyNodes(len(row.nodes)) {
				architectures = append(architectures, node.Labels[corev1.LabelArchStable])
				if name, carries := node.Labels[provisioningv1.LabelLaunchTemplateName]; carries {
					t.Errorf("the node carries the name %q of a template that it is not launched from", name)
				}
			}
			if !slices.Equal(architectures, row.nodes) {
				t.Errorf("nodes are for %q", architectures)
			}
		})
	}
}

// TestUnusableTemplate holds that a name that does not exist, and a version that is no number, are
// reported where users look: on the pod and on the provisioner.
func TestUnusableTemplate(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "labels: {node.k8s.aws/launch-template-name: missing}")
	w.eventOf(w.pod("inherits"), "no launch template found for missing")
	w.eventOf(w.pod("latest", selecting(provisioningv1.LabelLaunchTemplateName, "web", provisioningv1.LabelLaunchTemplateVersion, "latest")), "use a number")
	w.Eventually("the provisioner says so", func() error {
		provisioner := &provisioningv1.Provisioner{}
		if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, provisioner); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(provisioner.Status.Conditions, provisioningv1.ReadyCondition)
		if condition == nil || condition.Reason != provisioningv1.TemplateUnusableReason {
			return fmt.Errorf("conditions are %+v", provisioner.Status.Conditions)
		}
		return nil
	})
	if w.count("CreateFleet") != 0 {
		t.Error("something was launched")
	}
}
