package integration

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// recordRelease has TestUpgrade write the objects that the present state of Slipway creates, as the
// state of a release: once, when that is released.
var recordRelease = flag.String("record-release", "", "write the objects of this release, for TestUpgrade, and what AWS holds: a name such as v0.1")

// stored is a pool as some release left it in the API server and in AWS.
type stored struct {
	Secret      *corev1.Secret
	MachinePool *clusterv1.MachinePool
	Pool        *infrav1.AWSMachinePool
	Config      *infrav1.AWSLaunchConfig

	Template ec2types.LaunchTemplate
	Versions []ec2types.LaunchTemplateVersion
	Group    asgtypes.AutoScalingGroup
	Hooks    []asgtypes.LifecycleHook
}

// A placeholder stands in the stored text for each value that a test does not choose.
const (
	namespaceWord, accountWord, templateWord = "{namespace}", "{account}", "{template}"
	storedSecret                             = "stored-bootstrap"
	storedPools                              = "testdata/upgrade"
)

// TestUpgrade takes over what an earlier release wrote, and gives it back, without a node being
// replaced or anything being written in AWS. Of an earlier release nothing runs here: what it goes
// by, in AWS and in annotations, has to stay as it left it, and this release has to take up again
// what it would write.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	if *recordRelease != "" {
		record(t, *recordRelease)
	}
	eachRelease(t, storedPools, func(t *testing.T, content string) {
		w := newWorld(t)
		w.stopManager()
		release := w.restore(content)
		instances, versions, group := w.running(), w.versions(), w.group()
		w.Cloud.AWS.ClearCalls()
		var changed []string
		if group.DefaultInstanceWarmup == nil {
			changed = []string{"UpdateAutoScalingGroup"} // releases before v0.2 gave groups no warm-up
		}

		unchanged := func(when string) {
			t.Helper()
			w.Eventually(when+", the pool is settled", func() error { return w.settled(2) })
			w.rest()
			if writes := w.writes(); !slices.Equal(writes, changed) {
				t.Errorf("%s, AWS was written to: %q, want %q", when, writes, changed)
			}
			if warmup := w.group().DefaultInstanceWarmup; aws.ToInt32(warmup) != 300 {
				t.Errorf("%s, the group has a warm-up of %d s, want 300 s", when, aws.ToInt32(warmup))
			}
			if err := equals(w.running(), instances); err != nil {
				t.Errorf("%s, instances: %v", when, err)
			}
			if diff := cmp.Diff(versions, w.versions(), ignoreSerde); diff != "" {
				t.Errorf("%s, versions (-before +after):\n%s", when, diff)
			}
			if diff := cmp.Diff(group.Tags, w.group().Tags, ignoreSerde); diff != "" {
				t.Errorf("%s, tags of the group (-before +after):\n%s", when, diff)
			}
			w.keepsAnnotations(when, release.Pool, w.mustPool())
			w.keepsAnnotations(when, release.Config, w.mustConfig())
		}
		w.startManager()
		unchanged("after the upgrade")
		w.stopManager()
		w.writeStatus(release)
		template := w.template()
		w.startManager()
		w.touch()
		unchanged("after going back and forth")
		if diff := cmp.Diff(template, w.template(), ignoreSerde); diff != "" {
			t.Errorf("the template (-before +after):\n%s", diff)
		}

		w.editType("m6i.large")
		w.Eventually("an edit replaces both", func() error { return w.replaced(instances, 2) })
		w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 1, "StartInstanceRefresh": 1})
	})
}

// eachRelease runs a test with what every release stored in a directory.
func eachRelease(t *testing.T, directory string, test func(*testing.T, string)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no stored release: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			test(t, string(content))
		})
	}
}

// ignoreSerde ignores the unexported members that all types of the SDK have.
var ignoreSerde = cmp.FilterPath(func(path cmp.Path) bool {
	field, ok := path.Last().(cmp.StructField)
	return ok && field.Name() == "noSmithyDocumentSerde"
}, cmp.Ignore())

// keepsAnnotations demands that every annotation of the stored object is there as it was. An
// annotation that is a record only needs the same entries: they are digests of IDs, which differ in
// each test.
func (w *world) keepsAnnotations(when string, before, after client.Object) {
	w.Helper()
	for key, value := range before.GetAnnotations() {
		// A release may add an entry, which earlier ones ignore. It must not drop one.
		lost := slices.DeleteFunc(entries(value), func(entry string) bool { return slices.Contains(entries(after.GetAnnotations()[key]), entry) })
		if now := after.GetAnnotations()[key]; now != value && len(lost) > 0 {
			w.Errorf("%s, annotation %s of %s is %q, was %q", when, key, after.GetName(), now, value)
		}
	}
}

// entries are the names in a JSON object; any other text is an entry itself.
func entries(text string) []string {
	object := map[string]any{}
	if json.Unmarshal([]byte(text), &object) != nil {
		return []string{text}
	}
	return slices.Sorted(maps.Keys(object))
}

// record writes the objects that this release creates from the example.
func record(t *testing.T, release string) {
	t.Helper()
	w := newWorld(t)
	secret := bootstrapSecret(w.Namespace)
	if err := w.Client.Create(w.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.havePool(bootstrapBySecret(storedSecret)...)
	first := w.running()
	w.editType("m5.large")
	w.Eventually("the edit replaces both", func() error { return w.replaced(first, 2) })
	w.rest()
	group := w.group()
	hooks, err := w.asg().DescribeLifecycleHooks(w.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: group.AutoScalingGroupName})
	if err != nil {
		t.Fatal(err)
	}
	w.writeRelease(filepath.Join(storedPools, release+".json"), stored{
		Secret: bootstrapSecret(w.Namespace), MachinePool: w.machinePool(), Pool: w.mustPool(), Config: w.mustConfig(),
		Template: w.template(), Versions: w.versions(), Group: group, Hooks: hooks.LifecycleHooks,
	}, *w.template().LaunchTemplateId)
}

// writeRelease writes what is stored of a release, with words for what a test does not choose.
func (w *world) writeRelease(path string, release any, template string) {
	w.Helper()
	content, err := json.MarshalIndent(release, "", "  ")
	if err != nil {
		w.Fatal(err)
	}
	text := strings.NewReplacer(w.Namespace, namespaceWord, w.Account, accountWord, template, templateWord).Replace(string(content))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		w.Fatal(err)
	}
}

// bootstrapSecret is bootstrap data that is the same in every cluster.
func bootstrapSecret(namespace string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: storedSecret, Labels: map[string]string{clusterv1.ClusterNameLabel: "capa"}},
		Type:       clusterv1.ClusterSecretType,
		Data:       map[string][]byte{"value": []byte("#cloud-config\nruncmd:\n- systemctl start kubelet\n"), "format": []byte("cloud-config")},
	}
}

// restore creates in AWS and in the API server what a release left there.
func (w *world) restore(content string) stored {
	w.Helper()
	content = w.here(content)
	release := decoded[stored](w, []byte(content))
	content = w.withTemplate(content, w.restoreTemplate(release.Template, release.Versions))
	release = decoded[stored](w, []byte(content))
	w.restoreGroup(release)
	// The group of this world has an ARN of its own, and the pool knows its group by that.
	content = strings.ReplaceAll(content, *release.Group.AutoScalingGroupARN, *w.group().AutoScalingGroupARN)
	release = decoded[stored](w, []byte(content))
	w.restoreObjects(release.Config, release.Secret, release.MachinePool, release.Pool)
	w.writeStatus(release)
	return release
}

// here returns what a release stored, for the world's namespace and account.
func (w *world) here(content string) string {
	return strings.NewReplacer(namespaceWord, w.Namespace, accountWord, w.Account).Replace(content)
}

func (w *world) withTemplate(content, id string) string {
	return strings.ReplaceAll(content, templateWord, id)
}

// restoreObjects creates objects, the last one being the pool, and the pool's config.
func (w *world) restoreObjects(config *infrav1.AWSLaunchConfig, objects ...client.Object) {
	w.Helper()
	var pool client.Object
	for _, object := range append(objects, config) {
		object.SetUID("")
		object.SetResourceVersion("")
		object.SetManagedFields(nil)
		object.SetOwnerReferences(nil)
		if object == client.Object(config) {
			w.must(nil, controllerutil.SetControllerReference(pool, config, w.Client.Scheme()))
		}
		made := object.DeepCopyObject().(client.Object)
		w.must(made, w.Client.Create(w.Context(), made))
		object.SetUID(made.GetUID())
		pool = object
	}
}

// writeStatus writes the status of a release to pool and config. Cluster API may write to the pool
// meanwhile.
func (w *world) writeStatus(release stored) {
	w.Helper()
	w.Eventually("status is as the release wrote it", func() error {
		pool, config := w.mustPool(), w.mustConfig()
		pool.Status, config.Status = release.Pool.Status, release.Config.Status
		return errors.Join(w.Client.Status().Update(w.Context(), pool), w.Client.Status().Update(w.Context(), config))
	})
}

func (w *world) restoreTemplate(template ec2types.LaunchTemplate, versions []ec2types.LaunchTemplateVersion) string {
	w.Helper()
	tags := []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: template.Tags}}
	id := ""
	for i, version := range versions {
		data := converted[ec2types.RequestLaunchTemplateData](w, version.LaunchTemplateData)
		if i == 0 {
			out, err := w.ec2().CreateLaunchTemplate(w.Context(), &ec2.CreateLaunchTemplateInput{
				LaunchTemplateName: template.LaunchTemplateName, VersionDescription: version.VersionDescription, LaunchTemplateData: &data, TagSpecifications: tags,
			})
			w.must(out, err)
			id = *out.LaunchTemplate.LaunchTemplateId
			continue
		}
		w.must(w.ec2().CreateLaunchTemplateVersion(w.Context(), &ec2.CreateLaunchTemplateVersionInput{
			LaunchTemplateId: &id, VersionDescription: version.VersionDescription, LaunchTemplateData: &data,
		}))
	}
	w.must(w.ec2().ModifyLaunchTemplate(w.Context(), &ec2.ModifyLaunchTemplateInput{
		LaunchTemplateId: &id, DefaultVersion: aws.String(strconv.FormatInt(*template.DefaultVersionNumber, 10)),
	}))
	return id
}

func (w *world) restoreGroup(release stored) {
	w.Helper()
	input := converted[autoscaling.CreateAutoScalingGroupInput](w, release.Group)
	input.LaunchTemplate.LaunchTemplateName = nil // the id is enough, and AWS takes one of them
	input.AvailabilityZones = nil                 // the subnets say them
	for i := range release.Hooks {
		input.LifecycleHookSpecificationList = append(input.LifecycleHookSpecificationList, converted[asgtypes.LifecycleHookSpecification](w, release.Hooks[i]))
	}
	w.must(w.asg().CreateAutoScalingGroup(w.Context(), &input))
	w.Eventually("two instances are in service", func() error {
		inService := slices.DeleteFunc(w.group().Instances, func(instance asgtypes.Instance) bool {
			return instance.LifecycleState != asgtypes.LifecycleStateInService
		})
		return equals([]int{len(inService)}, []int{int(*release.Group.DesiredCapacity)})
	})
}

// converted is a value of AWS's as another of its types, by the members that both have.
func converted[To any](w *world, from any) To {
	w.Helper()
	content, err := json.Marshal(from)
	if err != nil {
		w.Fatal(err)
	}
	return decoded[To](w, content)
}

func decoded[To any](w *world, content []byte) To {
	w.Helper()
	var to To
	if err := json.Unmarshal(content, &to); err != nil {
		w.Fatal(err)
	}
	return to
}
