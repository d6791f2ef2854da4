package integration

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// amazonLinux are the names of EKS's images that the journeys boot.
const (
	amazonLinux2023 = "amazon-eks-node-al2023-x86_64-standard-1.34-v20250903"
	amazonLinux2    = "amazon-eks-node-1.32-v20241218"
)

// imageNamed is the id of Amazon's image of that name.
func (w *world) imageNamed(name string) string {
	w.Helper()
	out, err := w.ec2().DescribeImages(w.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: aws.String("name"), Values: []string{name}}}})
	if err != nil || len(out.Images) != 1 {
		w.Fatalf("there are %d images called %s, %v", len(out.Images), name, err)
	}
	return *out.Images[0].ImageId
}

// boots is nil once the node group of the managed pool boots that image of the launch template's,
// with user data that the check likes.
func (w *world) boots(image string, check func(userData string) error) error {
	seen, err := w.seenInEKS(managedName)
	if err != nil {
		return err
	}
	if seen.AmiType != ekstypes.AMITypesCustom || aws.ToString(seen.launches.ImageId) != image {
		return fmt.Errorf("it is %s and boots %s, want %s; conditions %+v", seen.AmiType, aws.ToString(seen.launches.ImageId), image, w.mustManaged().Status.Conditions)
	}
	data, err := base64.StdEncoding.DecodeString(aws.ToString(seen.launches.UserData))
	return errors.Join(err, check(string(data)), w.managedActed(managedName))
}

// says is a check that wants parts in user data.
func says(parts ...string) func(string) error {
	return func(data string) error {
		for _, part := range parts {
			if !strings.Contains(data, part) {
				return fmt.Errorf("user data does not say %q:\n%s", part, data)
			}
		}
		return nil
	}
}

// TestManagedOwnImage holds the ways to say which image nodes boot: by id, as one that EKS
// published, and by name; that EKS calls the group CUSTOM; and that user data is what the Secret
// says, completed where nodes of the image need it.
func TestManagedOwnImage(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	source := w.imageNamed(amazonLinux2023)
	golden, byName, byOS := w.publish(source, "golden-1"), w.publish(source, "nodes-1.34.0-a"), w.publish(source, "nodes-plan9-1.34.0-a")
	w.createSecret("managed-bootstrap", map[string][]byte{"value": []byte("#!/bin/bash\n/opt/golden/join\n")})
	w.applyManaged(`dataSecretName: ""`, "dataSecretName: managed-bootstrap", "  amiType: AL2023_x86_64_STANDARD\n", "  updateConfig: {maxUnavailable: 2}\n",
		"  awsLaunchTemplate:\n", "  awsLaunchTemplate:\n    ami: {id: "+golden+"}\n")
	asTheSecret := func(data string) error {
		if data != "#!/bin/bash\n/opt/golden/join\n" {
			return fmt.Errorf("user data is %q", data)
		}
		return nil
	}
	w.Eventually("the group boots the image", func() error { return w.boots(golden, asTheSecret) })
	for _, edit := range []struct {
		reason, image string
		change        func(*infrav1.AWSLaunchTemplate)
		check         func(string) error
	}{
		{"an image that EKS published", source, func(template *infrav1.AWSLaunchTemplate) {
			template.AMI = infrav1.AMIReference{EKSOptimizedLookupType: ptr.To(infrav1.EKSAMILookupTypeAmazonLinux2023)}
		}, says("multipart/mixed", "/opt/golden/join", "kind: NodeConfig", `name: "`+w.eksCluster+`"`, `apiServerEndpoint: "https://`, "certificateAuthority: ", `cidr: "172.20.0.0/16"`)},
		{"an image by its name", byName, func(template *infrav1.AWSLaunchTemplate) {
			template.AMI, template.ImageLookupFormat, template.ImageLookupOrg = infrav1.AMIReference{}, "nodes-{{.K8sVersion}}-*", w.Account
		}, asTheSecret},
		{"an image by its name, with a system in it", byOS, func(template *infrav1.AWSLaunchTemplate) {
			template.ImageLookupFormat, template.ImageLookupBaseOS = "nodes-{{.BaseOS}}-{{.K8sVersion}}-*", "plan9"
		}, asTheSecret},
	} {
		w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { edit.change(pool.Spec.AWSLaunchTemplate) })
		w.Eventually(edit.reason, func() error { return w.boots(edit.image, edit.check) })
	}
	w.expectCounts(map[string]int{"CreateNodegroup": 1, "UpdateNodegroupVersion": 3})
}

// TestManagedImageLookedUp holds that CUSTOM without an image has one looked up, with all that its
// nodes need to join: Amazon Linux 2 as with CAPA, and Amazon Linux 2023 for versions that have no
// other.
func TestManagedImageLookedUp(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.cluster.KubernetesVersion = "v1.32.0"
	w := newWorldWith(t, options)
	w.applyManaged(managedVersion, "v1.32.0", "AL2023_x86_64_STANDARD", "CUSTOM")
	w.Eventually("the group boots Amazon Linux 2", func() error {
		return w.boots(w.imageNamed(amazonLinux2), says("/etc/eks/bootstrap.sh", w.eksCluster))
	})
	w.upgradeControlPlane("1.34")
	w.editManagedMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Template.Spec.Version = managedVersion })
	w.Eventually("the group boots Amazon Linux 2023", func() error {
		return w.boots(w.imageNamed(amazonLinux2023), says("kind: NodeConfig", `name: "`+w.eksCluster+`"`, `apiServerEndpoint: "https://`, "certificateAuthority: "))
	})
	w.expectCounts(map[string]int{"CreateNodegroup": 1, "UpdateNodegroupVersion": 1})
}

// launchConfig creates a launch config that is no pool's.
func (w *world) launchConfig(name string, spec infrav1.AWSLaunchConfigSpec) {
	w.Helper()
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Spec: spec}
	if err := w.Client.Create(w.Context(), config); err != nil {
		w.Fatal(err)
	}
}

// TestManagedLaunchConfigRef holds that two pools launch from the template of one launch config,
// that an edit of it rolls both, and that it stays when they go. A config that no node group could
// be created from is reported as such.
func TestManagedLaunchConfigRef(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	spec := managedSpec{
		AMIType: ptr.To(infrav1.AMITypeAL2023X86), AvailabilityZones: []string{"us-east-1a"}, UpdateConfig: &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](2)},
		LaunchConfigRef: &infrav1.LaunchConfigReference{Name: "shared"},
	}
	names := []string{managedName, "other"}
	for _, name := range names {
		w.makeManaged(name, &spec)
	}
	w.awaitManaged(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.WaitingForLaunchConfigReason)
	w.launchConfig("shared", infrav1.AWSLaunchConfigSpec{ClusterName: "capa", AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}})
	condition := w.awaitManaged(infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.InvalidSpecReason)
	if !strings.Contains(condition.Message, "spec.nodegroup is not set") {
		t.Errorf("the message is %s", condition.Message)
	}
	edit := func(change func(*infrav1.AWSLaunchConfig)) {
		w.Helper()
		edited(w, &infrav1.AWSLaunchConfig{}, "shared", change)
	}
	launching := func(instanceType string) {
		t.Helper()
		w.Eventually("both pools launch "+instanceType, func() error {
			config := &infrav1.AWSLaunchConfig{}
			if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "shared"}, config); err != nil {
				return err
			}
			for _, name := range names {
				seen, err := w.seenInEKS(name)
				if err != nil {
					return err
				}
				if *seen.LaunchTemplate.Id != config.Status.LaunchTemplateID || *seen.LaunchTemplate.Version != fmt.Sprint(config.Status.Version) {
					return fmt.Errorf("%s launches from version %s of %s, the config has %+v", name, *seen.LaunchTemplate.Version, *seen.LaunchTemplate.Id, config.Status)
				}
				if string(seen.launches.InstanceType) != instanceType {
					return fmt.Errorf("%s launches %s", name, seen.launches.InstanceType)
				}
				if err := w.managedActed(name); err != nil {
					return err
				}
			}
			return nil
		})
	}
	edit(func(config *infrav1.AWSLaunchConfig) {
		config.Spec.Nodegroup = &infrav1.LaunchConfigNodegroup{AMIType: infrav1.AMITypeAL2023X86}
	})
	launching("t3.large")
	edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "m5.large" })
	launching("m5.large")
	w.expectCounts(map[string]int{"CreateLaunchTemplate": 1, "CreateNodegroup": 2, "UpdateNodegroupVersion": 2})
	for _, name := range names {
		w.remove(&clusterv1.MachinePool{}, name)
	}
	w.Eventually("the pools are gone", func() error {
		if groups := w.nodegroups(); len(groups) != 0 {
			return fmt.Errorf("node groups %q are left", groups)
		}
		_, err := w.managedNamed("other")
		if _, first := w.managed(); !apierrors.IsNotFound(err) || !apierrors.IsNotFound(first) {
			return fmt.Errorf("the pools are there: %w, %w", err, first)
		}
		return nil
	})
	if template := w.template(); *template.LaunchTemplateName != "shared" {
		t.Errorf("the template of the launch config is gone, and there is %s", *template.LaunchTemplateName)
	}
}
