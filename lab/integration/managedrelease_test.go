package integration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab/capa"
)

// managedImage is one of EKS's for the managed pool's version, for templates that name their image.
func (w *world) managedImage() string {
	w.Helper()
	out, err := w.ec2().DescribeImages(w.Context(), &ec2.DescribeImagesInput{
		Filters: []ec2types.Filter{{Name: aws.String("name"), Values: []string{"amazon-eks-node-al2023-x86_64-standard-1.34-*"}}},
	})
	if err != nil || len(out.Images) == 0 {
		w.Fatalf("there is no image: %v", err)
	}
	return *out.Images[0].ImageId
}

// ownImage turns the example into what CAPA can run: with an image in the template, and bootstrap data.
func (w *world) ownImage() []string {
	w.Helper()
	w.createSecret("managed-bootstrap", map[string][]byte{"value": []byte("#!/bin/bash\necho joins\n")})
	return []string{
		`dataSecretName: ""`, "dataSecretName: managed-bootstrap",
		"  amiType: AL2023_x86_64_STANDARD\n", "  amiType: CUSTOM\n",
		"    rootVolume:\n      size: 30", "    ami: {id: " + w.managedImage() + "}",
	}
}

// plainNodegroup turns the example into a pool without a launch template.
func plainNodegroup() []string {
	return []string{"  awsLaunchTemplate:\n    instanceType: \"t3.large\"\n    rootVolume:\n      size: 30", "  instanceType: t3.large"}
}

// haveCAPAsManaged has a managed pool as CAPA leaves it, at rest. It is paused until unpauseManaged.
func (w *world) haveCAPAsManaged(replacements ...string) capa.Managed {
	w.Helper()
	provider := w.capaManaged()
	w.makeCAPAsManaged(provider, replacements...)
	return provider
}

func (w *world) makeCAPAsManaged(provider capa.Managed, replacements ...string) {
	w.Helper()
	const head = "kind: AWSManagedMachinePool\nmetadata:\n  name: " + managedName + "\nspec:"
	paused := strings.Replace(head, "metadata:\n", "metadata:\n  annotations: {"+clusterv1.PausedAnnotation+": \"true\"}\n", 1)
	w.applyManaged(append(replacements, head, paused)...)
	w.Eventually("CAPA makes its node group", func() error { return provider.Create(w.Context(), privateSubnetA) })
	w.Eventually("CAPA's node group is active", func() error {
		group, err := provider.Nodegroup(w.Context())
		if err == nil && group.Status != ekstypes.NodegroupStatusActive {
			err = fmt.Errorf("it is %s", group.Status)
		}
		return err
	})
	w.Cloud.AWS.ClearCalls()
}

func (w *world) capaManaged() capa.Managed {
	return capa.Managed{Provider: capa.Provider{Client: w.Client, AWS: w.awsConfig(), Key: w.managedKey()}}
}

func (w *world) annotateManaged(key, value string) {
	w.Helper()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
		if value == "" {
			delete(pool.Annotations, key)
			return
		}
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, key, value)
	})
}

func (w *world) unpauseManaged() {
	w.Helper()
	w.annotateManaged(clusterv1.PausedAnnotation, "")
}

// releaseManaged asks for it and waits until it is done.
func (w *world) releaseManaged() {
	w.Helper()
	w.annotateManaged(infrav1.ReleaseAnnotation, "true")
	w.awaitManaged(infrav1.ReleasedCondition, metav1.ConditionTrue, infrav1.ReleasedReason)
	w.rest()
}

// expectManagedIsCAPAs demands that CAPA would find nothing to do, and nothing of Slipway's.
func (w *world) expectManagedIsCAPAs(provider capa.Managed) {
	w.Helper()
	decision, err := provider.Decide(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(capa.Decision{}, decision, cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("CAPA would do something (-nothing +got):\n%s", diff)
	}
	group, err := provider.Nodegroup(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	keys := slices.Collect(maps.Keys(group.Tags))
	for _, template := range w.templates() {
		if group.LaunchTemplate != nil && *template.LaunchTemplateId == *group.LaunchTemplate.Id {
			keys = slices.AppendSeq(keys, maps.Keys(tagMap(template.Tags)))
		}
	}
	for _, key := range keys {
		if strings.HasPrefix(key, infrav1.TagSlipwayPrefix) {
			w.Errorf("tag %s is left", key)
		}
	}
}

// TestManagedThereAndBackAgain takes a managed pool over from CAPA, gives it back, and takes it
// over again: its nodes stay all the while.
func TestManagedThereAndBackAgain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		example func(*world) []string
	}{
		{"with a launch template", (*world).ownImage},
		{"without a launch template", func(*world) []string { return plainNodegroup() }},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := managedWorld(t)
			provider := w.haveCAPAsManaged(row.example(w)...)
			w.expectManagedIsCAPAs(provider)
			nodes := w.running()
			w.unpauseManaged()
			w.Eventually("the pool is taken over", func() error { return w.managedSettled(2) })

			w.releaseManaged()
			w.expectManagedIsCAPAs(provider)
			// Slipway no longer does anything for it.
			w.Cloud.AWS.ClearCalls()
			w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"tier": "web"} })
			w.rest()
			if writes := w.writes(); len(writes) != 0 {
				t.Errorf("the manager wrote %q", writes)
			}

			w.annotateManaged(infrav1.ReleaseAnnotation, "")
			w.Eventually("the pool is taken over again, with what was edited meanwhile", func() error {
				if w.count("UpdateNodegroupConfig") == 0 {
					return errors.New("the node group is as it was")
				}
				return w.managedSettled(2)
			})
			w.rest()
			w.expectCounts(map[string]int{"CreateLaunchTemplate": 0, "CreateNodegroup": 0, "UpdateNodegroupVersion": 0, "UpdateNodegroupConfig": 1})
			if err := equals(w.running(), nodes); err != nil {
				t.Errorf("nodes: %v", err)
			}
			w.deleteManaged()
		})
	}
}

// TestManagedReleaseOfSlipwaysOwn gives managed pools to CAPA that it never had, with tags and
// metadata options that it reads back otherwise.
func TestManagedReleaseOfSlipwaysOwn(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged(append(w.ownImage(), "    instanceType: \"t3.large\"", "    instanceType: \"t3.large\"\n    instanceMetadataOptions: {httpTokens: required}",
		"  scaling:\n", "  additionalTags: {team: a}\n  labels: {tier: web}\n  scaling:\n")...)
	nodes := w.running()
	w.releaseManaged()
	w.expectManagedIsCAPAs(w.capaManaged())
	if err := equals(w.running(), nodes); err != nil {
		t.Errorf("nodes: %v", err)
	}
	w.awaitEvents("NodegroupReleased", "LaunchTemplateReleased")
}

// TestManagedReleaseIsRefused holds that a pool that CAPA cannot run is kept, and that the way out is said.
func TestManagedReleaseIsRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, because, advice string
		replacements            []string
	}{
		{"CAPA dereferences the image of every template", infrav1.InvalidSpecReason, "without awsLaunchTemplate", nil},
		{"CAPA ignores the name of a template", infrav1.NameTakenReason, "capa-control-plane-" + managedName, []string{"    instanceType:", "    name: mine\n    instanceType:"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := managedWorld(t)
			replacements := row.replacements
			if replacements != nil {
				replacements = append(w.ownImage(), replacements...)
			}
			w.haveManaged(replacements...)
			w.annotateManaged(infrav1.ReleaseAnnotation, "true")
			condition := w.awaitManaged(infrav1.ReleasedCondition, metav1.ConditionFalse, row.because)
			if !strings.Contains(condition.Message, row.advice) {
				t.Errorf("the message is %q", condition.Message)
			}
			w.rest()
			if writes := w.writes(); len(writes) != 0 {
				t.Errorf("the manager wrote %q", writes)
			}
			w.annotateManaged(infrav1.ReleaseAnnotation, "")
			w.Eventually("the pool is Slipway's as before", func() error { return w.managedSettled(2) })
		})
	}
}

// TestManagedFixedFields holds that the settings of a CAPA node group that EKS cannot change are
// compared with the spec, that the condition names the differences and the way out, and that
// everything else is kept up.
func TestManagedFixedFields(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	provider := w.capaManaged()
	provider.Change = func(input *eks.CreateNodegroupInput) {
		input.CapacityType, input.InstanceTypes = ekstypes.CapacityTypesSpot, []string{"m5.large"}
	}
	w.makeCAPAsManaged(provider, plainNodegroup()...)
	w.unpauseManaged()
	condition := w.awaitManaged(infrav1.NodegroupReadyCondition, metav1.ConditionFalse, infrav1.ImmutableFieldReason)
	for _, words := range []string{"capacity type is SPOT, but the spec has ON_DEMAND", "[m5.large], but the spec has [t3.large]", "new pool"} {
		if !strings.Contains(condition.Message, words) {
			t.Errorf("the message is %q, without %q", condition.Message, words)
		}
	}
	w.awaitManaged(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.ImmutableFieldReason)
	nodes := w.running()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"tier": "web"} })
	w.Eventually("labels are kept up", func() error {
		if labels := w.nodegroup().Labels; labels["tier"] != "web" {
			return fmt.Errorf("labels are %v", labels)
		}
		return nil
	})
	w.rest()
	w.expectCounts(map[string]int{"CreateNodegroup": 0, "UpdateNodegroupVersion": 0})
	if err := equals(w.running(), nodes); err != nil {
		t.Errorf("nodes: %v", err)
	}
}
