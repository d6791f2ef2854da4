package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/slipway-project/slipway/internal/drain"
)

// API holds the calls of draining to a workload cluster, whose answers are not trusted. It
// implements drain.API. The results have only the fields that draining reads.
type API struct{ client *rest.RESTClient }

var _ drain.API = &API{}

// page is the number of objects that one list asks for: some megabytes of Nodes, which may have to
// cross a slow network uncompressed.
const page = 200

// statuses decodes the answers that refuse something, and nothing else: client-go would decode
// whatever kind of its scheme an answer claims to be.
func statuses() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// EachNode implements drain.API.
func (a *API) EachNode(ctx context.Context, visit func(*corev1.Node) bool) error {
	return a.list(ctx, a.coreList("nodes", ""), items(mostNodes, "Nodes", (*node).object, visit))
}

// items returns a function that decodes the next item of a list and visits the object that is made of it. It
// accepts a number of items, and names them in the error about more.
func items[Item, Object any](most int, name string, object func(*Item) (*Object, error), visit func(*Object) bool) func(*json.Decoder) (bool, error) {
	seen := 0
	return func(decoder *json.Decoder) (bool, error) {
		if seen++; seen > most {
			return false, &AnswerError{fmt.Sprintf("more than %d %s", most, name)}
		}
		var item Item
		if err := decoder.Decode(&item); err != nil {
			return false, err
		}
		made, err := object(&item)
		if err != nil {
			return false, err
		}
		return visit(made), nil
	}
}

// Node implements drain.API.
func (a *API) Node(ctx context.Context, name string) (*corev1.Node, error) {
	body, err := a.client.Get().Resource("nodes").Name(name).MaxRetries(0).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // what was read is all that is wanted
	source := &portion{Reader: body}
	source.renew()
	var found node
	if err := json.NewDecoder(source).Decode(&found); err != nil {
		return nil, notJSON(err)
	}
	if found.Metadata.Name != name {
		return nil, &AnswerError{"something else than the Node that was asked for"}
	}
	object, err := found.object()
	return object, notJSON(err)
}

// Cordon implements drain.API.
func (a *API) Cordon(ctx context.Context, name string) error {
	return send(ctx, a.client.Patch(types.StrategicMergePatchType).Resource("nodes").Name(name).Body([]byte(drain.CordonPatch)))
}

// Uncordon implements drain.API.
func (a *API) Uncordon(ctx context.Context, name string, patch []byte) error {
	return send(ctx, a.client.Patch(types.JSONPatchType).Resource("nodes").Name(name).Body(patch))
}

// Pods implements drain.API.
func (a *API) Pods(ctx context.Context, node string) ([]corev1.Pod, error) {
	return a.pods(ctx, node, (*pod).object)
}

// LabeledPods returns the pods of a Node with all their labels.
func (a *API) LabeledPods(ctx context.Context, node string) ([]corev1.Pod, error) {
	return a.pods(ctx, node, (*pod).labeled)
}

func (a *API) pods(ctx context.Context, node string, object func(*pod) (*corev1.Pod, error)) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	selector := fields.OneTermEqualSelector("spec.nodeName", node).String()
	err := a.list(ctx, a.coreList("pods", selector), items(mostPods, "pods of one Node", object, func(found *corev1.Pod) bool {
		pods = append(pods, *found)
		return true
	}))
	return pods, err
}

// EachBudget calls a function with every PodDisruptionBudget until it returns false.
func (a *API) EachBudget(ctx context.Context, visit func(*policyv1.PodDisruptionBudget) bool) error {
	request := func() *rest.Request { return a.client.Get().AbsPath("/apis/policy/v1/poddisruptionbudgets") }
	return a.list(ctx, request, items(mostBudgets, "PodDisruptionBudgets", (*budget).object, visit))
}

// Evict implements drain.API.
func (a *API) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	eviction = eviction.DeepCopy()
	eviction.TypeMeta = metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "Eviction"}
	content, err := json.Marshal(eviction)
	if err != nil {
		return fmt.Errorf("writing an eviction: %w", err)
	}
	return send(ctx, a.client.Post().Namespace(eviction.Namespace).Resource("pods").Name(eviction.Name).SubResource("eviction").
		SetHeader("Content-Type", runtime.ContentTypeJSON).Body(content))
}

// coreList returns requests for a list of a resource of the core group.
func (a *API) coreList(resource, fieldSelector string) func() *rest.Request {
	return func() *rest.Request {
		request := a.client.Get().Resource(resource)
		if fieldSelector != "" {
			request.Param("fieldSelector", fieldSelector)
		}
		return request
	}
}

// list reads a list page by page.
func (a *API) list(ctx context.Context, first func() *rest.Request, visit func(*json.Decoder) (bool, error)) error {
	next := ""
	for range mostPages {
		request := first().MaxRetries(0).Param("limit", strconv.Itoa(page))
		if next != "" {
			request.Param("continue", next)
		}
		var err error
		if next, err = readPage(ctx, request, visit); err != nil || next == "" {
			return err
		}
	}
	return &AnswerError{fmt.Sprintf("more than %d pages of one list", mostPages)}
}

func readPage(ctx context.Context, request *rest.Request, visit func(*json.Decoder) (bool, error)) (string, error) {
	body, err := request.Stream(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }() // what was read is all that is wanted
	return readList(body, visit)
}

// most bounds how much of an unused answer is read, so that its connection can be used again.
const most = 64 << 10

// send sends a request whose answer only matters if it is a refusal.
func send(ctx context.Context, request *rest.Request) error {
	body, err := request.MaxRetries(0).Stream(ctx)
	if err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, body, most) // the status has been read
	return body.Close()
}
