package provisioningtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/nodelifecycle"
)

// newClient returns an empty API server, which gives objects UIDs and times on the world's clock.
func (w *World) newClient() client.WithWatch {
	w.Helper()
	scheme := runtime.NewScheme()
	// Only what the controllers read: the fake client walks all kinds of its scheme at each write.
	if err := errors.Join(corev1.AddToScheme(scheme), policyv1.AddToScheme(scheme), storagev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), provisioningv1.AddToScheme(scheme), infrav1.AddToScheme(scheme), capav1.AddToScheme(scheme)); err != nil {
		w.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(newTracker(scheme, w.Clock)).WithReturnManagedFields().WithStatusSubresource(&provisioningv1.Provisioner{}, &provisioningv1.ProvisionedNode{})
	for _, index := range nodelifecycle.Indexes() {
		builder = builder.WithIndex(index.Object, index.Name, index.Values)
	}
	return interceptor.NewClient(builder.WithInterceptorFuncs((&reads{}).funcs()).Build(), interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
		if object.GetUID() == "" {
			object.SetUID(uuid.NewUUID())
		}
		object.SetGeneration(1)
		object.SetCreationTimestamp(metav1.NewTime(w.Clock.Now()).Rfc3339Copy())
		return c.Create(ctx, object, options...)
	}})
}

func (w *World) list(list client.ObjectList) {
	w.Helper()
	if err := w.Client.List(w.Context(), list); err != nil {
		w.Fatal(err)
	}
}

func itemsOf(list client.ObjectList) []client.Object {
	var items []client.Object
	_ = meta.EachListItem(list, func(object runtime.Object) error { // fails for no list
		items = append(items, object.(client.Object))
		return nil
	})
	return items
}

// clientset drains nodes of the same API server.
func clientset(ctx context.Context, c client.Client) kubernetes.Interface {
	set := kubernetesfake.NewClientset()
	answer := func(object runtime.Object, err error) (bool, runtime.Object, error) { return true, object, err }
	set.PrependReactor("get", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		node := &corev1.Node{}
		return answer(node, c.Get(ctx, client.ObjectKey{Name: action.(clienttesting.GetAction).GetName()}, node))
	})
	set.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: patch.GetName()}}
		return answer(node, c.Patch(ctx, node, client.RawPatch(patch.GetPatchType(), patch.GetPatch())))
	})
	set.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pods := &corev1.PodList{}
		return answer(pods, c.List(ctx, pods, client.MatchingFieldsSelector{Selector: action.(clienttesting.ListAction).GetListRestrictions().Fields}))
	})
	set.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: action.GetNamespace(), Name: action.(clienttesting.DeleteAction).GetName()}}
		return answer(nil, c.Delete(ctx, pod))
	})
	set.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		name := action.(clienttesting.CreateAction).GetObject().(metav1.Object).GetName()
		return answer(nil, evict(ctx, c, action.GetNamespace(), name))
	})
	return set
}

// evict deletes a pod unless a PodDisruptionBudget is in the way, or several select the pod.
func evict(ctx context.Context, c client.Client, namespace, name string) error {
	pod := &corev1.Pod{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
		return err
	}
	var budgets policyv1.PodDisruptionBudgetList
	if err := c.List(ctx, &budgets, client.InNamespace(namespace)); err != nil {
		return err
	}
	covering := slices.DeleteFunc(budgets.Items, func(budget policyv1.PodDisruptionBudget) bool { return !covers(&budget, pod) })
	switch {
	case len(covering) > 1:
		return apierrors.NewInternalError(errors.New("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")) //nolint:staticcheck // the server's own message
	case len(covering) == 1 && refuses(&covering[0], pod):
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	}
	return c.Delete(ctx, pod)
}

// covers reports whether a PodDisruptionBudget counts for a pod: it selects the pod, and the pod runs and
// is not being deleted.
func covers(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels)) && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
}

// refuses reports whether the API server evicts a pod only if its PodDisruptionBudget allows a
// disruption, and the budget allows none. A budget also counts for a pod that is not ready while there
// are too few healthy pods, unless its policy is AlwaysAllow (Kubernetes: registry/core/pod/storage,
// eviction.go).
func refuses(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	if budget.Status.DisruptionsAllowed > 0 {
		return false
	}
	ready := slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
	healthy := budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0
	return ready || !healthy && ptr.Deref(budget.Spec.UnhealthyPodEvictionPolicy, policyv1.IfHealthyBudget) != policyv1.AlwaysAllow
}

// Create creates an object.
func (w *World) Create(object client.Object) {
	w.Helper()
	if err := w.Client.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// Delete deletes an object.
func (w *World) Delete(object client.Object) {
	w.Helper()
	if err := w.Client.Delete(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// Update changes an object as the API server has it.
func (w *World) Update(object client.Object, change func()) {
	w.Helper()
	if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		w.Fatal(err)
	}
	change()
	if err := w.Client.Update(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// Provision creates a Provisioner for the cluster, which launches m5.large.
func (w *World) Provision(name string, edit ...func(*provisioningv1.ProvisionerSpec)) *provisioningv1.Provisioner {
	w.Helper()
	one := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: provisioningv1.ProvisionerSpec{
		Cluster:       provisioningv1.ProvisionerCluster{Name: Cluster, Endpoint: "https://api.example.com:6443", CABundle: "LS0tLS1CRUdJTi=="},
		InstanceTypes: []string{"m5.large"},
	}}
	for _, change := range edit {
		change(&one.Spec)
	}
	w.Create(one)
	return one
}

// Provisioner reads a Provisioner.
func (w *World) Provisioner(name string) *provisioningv1.Provisioner {
	w.Helper()
	one := &provisioningv1.Provisioner{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: name}, one); err != nil {
		w.Fatal(err)
	}
	return one
}

// Pod creates a pod of a ReplicaSet that the scheduler finds no node for. It fills most of an m5.large.
func (w *World) Pod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "set", UID: "set", Controller: ptr.To(true)},
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Gi"),
		}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
		}},
	}
	for _, change := range edit {
		change(pod)
	}
	w.Create(pod)
	return pod
}

// Bind puts a pod on a Node, as the scheduler and the kubelet do.
func (w *World) Bind(pod *corev1.Pod, node string) {
	w.Helper()
	w.Update(pod, func() { pod.Spec.NodeName = node })
	w.UpdateStatus(pod, func() {
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	})
}

// UpdateStatus changes the status of an object as the API server has it.
func (w *World) UpdateStatus(object client.Object, change func()) {
	w.Helper()
	if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		w.Fatal(err)
	}
	change()
	if err := w.Client.Status().Update(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// Naming has a pod name a launch template.
func Naming(template string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{provisioningv1.LabelLaunchTemplateName: template}
	}
}

// Of has a pod choose its Provisioner.
func Of(provisioner string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{provisioningv1.LabelProvisionerName: provisioner}
	}
}

// Template creates a launch template of a person's, which launches the newest EKS image with an
// instance profile, and returns its id.
func (w *World) Template(name, profile string) string {
	w.Helper()
	images, err := w.EC2.DescribeImages(w.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: ptr.To("name"), Values: []string{"amazon-eks-node-al2023-x86_64-standard-1.36-*"}},
	}})
	if err != nil || len(images.Images) == 0 {
		w.Fatalf("finding an image: %v, %v", images, err)
	}
	data := &ec2types.RequestLaunchTemplateData{
		ImageId: images.Images[0].ImageId, UserData: ptr.To("I2Nsb3VkLWNvbmZpZwo="),
		SecurityGroupIds: []string{"sg-0c1000000000000ab"},
	}
	if profile != "" {
		data.IamInstanceProfile = &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &profile}
	}
	made, err := w.EC2.CreateLaunchTemplate(w.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: data})
	if err != nil {
		w.Fatal(err)
	}
	return *made.LaunchTemplate.LaunchTemplateId
}

// Pods returns all pods by name.
func (w *World) Pods() []corev1.Pod {
	w.Helper()
	var list corev1.PodList
	w.list(&list)
	return list.Items
}

// Provisioned returns all ProvisionedNodes by name.
func (w *World) Provisioned() []provisioningv1.ProvisionedNode {
	w.Helper()
	var list provisioningv1.ProvisionedNodeList
	w.list(&list)
	return list.Items
}

// Members returns all Nodes by name.
func (w *World) Members() []corev1.Node {
	w.Helper()
	var list corev1.NodeList
	w.list(&list)
	return list.Items
}

// Join has a ready Node register for every running instance that has none.
func (w *World) Join() { w.JoinAfter(0) }

// JoinAfter has a ready Node register for every running instance that has none and was launched
// some time ago.
func (w *World) JoinAfter(startup time.Duration) {
	w.Helper()
	there := map[string]bool{}
	for _, member := range w.Members() {
		there[clusterstate.InstanceOf(member.Spec.ProviderID)] = true
	}
	for _, instance := range w.Instances() {
		if there[*instance.InstanceId] || w.Clock.Since(*instance.LaunchTime) < startup {
			continue
		}
		w.Create(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "ip-" + *instance.InstanceId, Labels: map[string]string{
				corev1.LabelInstanceTypeStable: string(instance.InstanceType), corev1.LabelTopologyZone: *instance.Placement.AvailabilityZone,
				corev1.LabelArchStable: "amd64", corev1.LabelHostname: "ip-" + *instance.InstanceId, corev1.LabelOSStable: "linux",
			}},
			Spec: corev1.NodeSpec{ProviderID: fmt.Sprintf("aws:///%s/%s", *instance.Placement.AvailabilityZone, *instance.InstanceId)},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("1930m"), corev1.ResourceMemory: resource.MustParse("7Gi"), corev1.ResourcePods: resource.MustParse("29"),
					corev1.ResourceEphemeralStorage: resource.MustParse("18Gi"),
				},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
	}
}

// Launch has nodes launched for the pods that wait, join, and become ready.
func (w *World) Launch() {
	w.Helper()
	w.Settle()
	w.Advance(5 * time.Second)
	w.Join()
	w.Settle()
}

// recorder keeps events.
type recorder struct {
	mu    sync.Mutex
	notes []string
}

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	name := ""
	if object, is := regarding.(metav1.Object); is {
		name = object.GetName()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, strings.Join([]string{kind, reason, name + ":", fmt.Sprintf(note, args...)}, " "))
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}
