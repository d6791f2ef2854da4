package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate/templateleaves"
)

// TestEveryLeafIsStored holds that every member of EC2's launch template data, set and changed
// through the API server, is in the version that AWS stores, and that each change creates one
// version. Configs may name what the simulated AWS does not have: EC2 stores such a version and
// warns.
func TestEveryLeafIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	images := w.bothImages()
	for _, name := range []string{"one", "two"} {
		w.create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
			Data:       map[string][]byte{"value": []byte("#cloud-config\nruncmd: [" + name + "]\n"), "format": []byte("cloud-config")},
		})
	}
	cases, asked := templateleaves.Cases(), w.ec2() // one client, because each keeps connections
	for n := range cases {
		w.create(&infrav1.AWSLaunchConfig{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: leafName(n), Annotations: map[string]string{"cluster.x-k8s.io/paused": "true"}},
			Spec: infrav1.AWSLaunchConfigSpec{
				ClusterName: "capa", KubernetesVersion: "v1.25.0",
				AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: "m5.large", AMI: infrav1.AMIReference{ID: ptr.To(images.Replace(templateleaves.Image))}},
			},
		})
		w.patchLeaf(n, images.Replace(cases[n].Patch(0)), `{metadata: {annotations: null}}`)
	}
	w.Eventually("every leaf is set", func() error { return w.leavesStored(asked, cases, images, 0) })
	for n := range cases {
		w.patchLeaf(n, images.Replace(cases[n].Patch(1)))
	}
	w.Eventually("every leaf is changed", func() error { return w.leavesStored(asked, cases, images, 1) })
}

func leafName(n int) string { return fmt.Sprintf("leaf-%d", n) }

func (w *world) create(object client.Object) {
	w.Helper()
	if err := w.Client.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// patchLeaf patches a config as kubectl does.
func (w *world) patchLeaf(n int, patches ...string) {
	w.Helper()
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: leafName(n)}}
	for _, patch := range patches {
		document, err := yaml.YAMLToJSON([]byte(patch))
		if err != nil {
			w.Fatalf("reading %s: %v", patch, err)
		}
		if err := w.Client.Patch(w.Context(), config, client.RawPatch(types.MergePatchType, document)); err != nil {
			w.Errorf("patching with %s: %v", patch, err)
		}
	}
}

// bothImages puts two images of the world into cases.
func (w *world) bothImages() *strings.Replacer {
	w.Helper()
	first := w.publicImage()
	return strings.NewReplacer(templateleaves.OtherImage, w.publish(first, "another"), templateleaves.Image, first)
}

// leavesStored is nil once every case has its n-th value in the newest of n+1 versions.
func (w *world) leavesStored(client *ec2.Client, cases []templateleaves.Case, images *strings.Replacer, n int) error {
	pages := ec2.NewDescribeLaunchTemplatesPaginator(client, &ec2.DescribeLaunchTemplatesInput{
		Filters: []ec2types.Filter{{Name: aws.String("launch-template-name"), Values: []string{"leaf-*"}}},
	})
	ids := map[string]string{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.Context())
		if err != nil {
			return err
		}
		for _, template := range page.LaunchTemplates {
			ids[*template.LaunchTemplateName] = *template.LaunchTemplateId
		}
	}
	for i, c := range cases {
		id := ids[leafName(i)]
		if id == "" {
			return fmt.Errorf("%s: there is no template; conditions %+v", c.Leaf, w.leafConditions(i))
		}
		out, err := client.DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id})
		if err != nil {
			return err
		}
		if got := len(out.LaunchTemplateVersions); got != n+1 {
			return fmt.Errorf("%s: there are %d versions, want %d; conditions %+v", c.Leaf, got, n+1, w.leafConditions(i))
		}
		newest := out.LaunchTemplateVersions[0] // newest first
		values := templateleaves.Values(newest.LaunchTemplateData, c.Leaf)
		wanted, other := images.Replace(c.Wants(n)), images.Replace(c.Wants(1-n))
		if (wanted != templateleaves.Unset && !slices.Contains(values, wanted)) || slices.Contains(values, other) {
			return fmt.Errorf("%s: version %d holds %q, want %q among them and not %q", c.Leaf, *newest.VersionNumber, values, wanted, other)
		}
	}
	return nil
}

func (w *world) leafConditions(n int) []metav1.Condition {
	config := &infrav1.AWSLaunchConfig{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: leafName(n)}, config); err != nil {
		w.Error(err)
	}
	return config.Status.Conditions
}
