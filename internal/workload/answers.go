package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/slipway-project/slipway/internal/boundedhttp"
)

// Three bytes of JSON, `{},`, become a whole Container or Node in memory if they are decoded into
// Kubernetes's types. So lists are decoded object by object as they are read, what is not needed of
// an object stays text, and nothing is kept but the fields that draining reads.
const (
	// longestItem bounds the length of an object: etcd stores at most 1.5 MiB, and Nodes and pods
	// are a fraction of that.
	longestItem = 1 << 20
	// longestContinue is far beyond the tokens that API servers create, which hold the name of an
	// object.
	longestContinue = 8 << 10
	// longestName bounds the name of an object, and longestText the other texts that are kept:
	// provider IDs and UIDs.
	longestName = 253
	longestText = 512
	// mostNodes and mostPods bound what is taken of a cluster, and of a node (the kubelet's default
	// is 110, EKS's most is 737).
	mostNodes = 100_000
	mostPods  = 2_000
	// mostVolumes and mostClaims bound the volumes that are kept of a Node, whose instance has at most
	// 128 attachments, and of a pod.
	mostVolumes = 256
	mostClaims  = 32
	// mostBudgets bounds what is taken of a cluster, longestSelector the selector of a budget, and
	// longestLabels the labels of a pod, of which Kubernetes has no limit.
	mostBudgets     = 20_000
	longestSelector = 16 << 10
	longestLabels   = 16 << 10
	// mostPages bounds a list whose pages are empty.
	mostPages = 1_000
)

// AnswerError reports an API server whose answer is not what was asked for.
type AnswerError struct{ Reason string }

// Error implements error.
func (e *AnswerError) Error() string {
	return "the workload cluster's API server responds with " + e.Reason
}

// node are the fields of a Node that draining reads. Lists in it stay text.
type node struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		ProviderID    string          `json:"providerID"`
		Unschedulable bool            `json:"unschedulable"`
		Taints        json.RawMessage `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions   json.RawMessage `json:"conditions"`
		VolumesInUse json.RawMessage `json:"volumesInUse"`
	} `json:"status"`
}

// object returns the Node with those fields.
func (n *node) object() (*corev1.Node, error) {
	if len(n.Metadata.Name) > longestName || len(n.Spec.ProviderID) > longestText {
		return nil, &AnswerError{"a Node whose name or provider ID is too long"}
	}
	made := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Metadata.Name},
		Spec:       corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Unschedulable: n.Spec.Unschedulable},
	}
	err := eachElement(n.Status.Conditions, func(decoder *json.Decoder) (bool, error) {
		var condition struct{ Type, Status string }
		if err := decoder.Decode(&condition); err != nil {
			return false, err
		}
		if condition.Type != string(corev1.NodeReady) {
			return true, nil
		}
		made.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: conditionStatus(condition.Status)}}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	err = eachElement(n.Spec.Taints, func(decoder *json.Decoder) (bool, error) {
		var taint struct {
			Key, Effect string
			TimeAdded   *metav1.Time
		}
		if err := decoder.Decode(&taint); err != nil {
			return false, err
		}
		if taint.Key != corev1.TaintNodeUnschedulable || taint.Effect != string(corev1.TaintEffectNoSchedule) {
			return true, nil
		}
		made.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: taint.TimeAdded}}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	err = eachElement(n.Status.VolumesInUse, func(decoder *json.Decoder) (bool, error) {
		var name string
		if err := decoder.Decode(&name); err != nil {
			return false, err
		}
		made.Status.VolumesInUse = append(made.Status.VolumesInUse, corev1.UniqueVolumeName(name[:min(len(name), longestText)]))
		return len(made.Status.VolumesInUse) < mostVolumes, nil
	})
	return made, err
}

// conditionStatus keeps a known status and no other text.
func conditionStatus(status string) corev1.ConditionStatus {
	for _, known := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		if status == string(known) {
			return known
		}
	}
	return corev1.ConditionUnknown
}

// pod are the fields of a Pod that draining reads. Lists and maps in it stay text.
type pod struct {
	Metadata struct {
		Name              string          `json:"name"`
		Namespace         string          `json:"namespace"`
		UID               string          `json:"uid"`
		CreationTimestamp *time.Time      `json:"creationTimestamp"`
		DeletionTimestamp *time.Time      `json:"deletionTimestamp"`
		Labels            json.RawMessage `json:"labels"`
		Annotations       json.RawMessage `json:"annotations"`
		OwnerReferences   json.RawMessage `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Priority    *int32          `json:"priority"`
		Tolerations json.RawMessage `json:"tolerations"`
		Volumes     json.RawMessage `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// object returns the Pod with those fields.
func (p *pod) object() (*corev1.Pod, error) {
	meta := &p.Metadata
	if max(len(meta.Name), len(meta.Namespace)) > longestName || len(meta.UID) > longestText || len(p.Status.Phase) > longestText {
		return nil, &AnswerError{"a Pod whose name, namespace, or UID is too long"}
	}
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, UID: types.UID(meta.UID)},
		Spec:       corev1.PodSpec{Priority: p.Spec.Priority},
		Status:     corev1.PodStatus{Phase: corev1.PodPhase(p.Status.Phase)},
	}
	if meta.CreationTimestamp != nil {
		made.CreationTimestamp = metav1.Time{Time: *meta.CreationTimestamp}
	}
	if meta.DeletionTimestamp != nil {
		made.DeletionTimestamp = &metav1.Time{Time: *meta.DeletionTimestamp}
	}
	var err error
	if made.Labels, err = member(meta.Labels, clusterv1.PodDrainLabel); err != nil {
		return nil, err
	}
	if made.Annotations, err = member(meta.Annotations, corev1.MirrorPodAnnotationKey); err != nil {
		return nil, err
	}
	if made.Spec.Tolerations, err = tolerations(p.Spec.Tolerations); err != nil {
		return nil, err
	}
	if made.Spec.Volumes, err = claims(p.Spec.Volumes); err != nil {
		return nil, err
	}
	err = eachElement(meta.OwnerReferences, func(decoder *json.Decoder) (bool, error) {
		var owner struct {
			APIVersion, Kind, Name string
			Controller             *bool
		}
		if err := decoder.Decode(&owner); err != nil {
			return false, err
		}
		if owner.Controller == nil || !*owner.Controller {
			return true, nil
		}
		if max(len(owner.APIVersion), len(owner.Kind)) > longestText {
			return false, &AnswerError{"a Pod whose owner reference is too long"}
		}
		made.OwnerReferences = []metav1.OwnerReference{{APIVersion: owner.APIVersion, Kind: owner.Kind, Controller: owner.Controller}}
		return false, nil
	})
	return made, err
}

// tolerations returns a toleration of the taint of cordoned Nodes, or none if a pod does not tolerate it.
func tolerations(all json.RawMessage) ([]corev1.Toleration, error) {
	cordoned := &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	var kept []corev1.Toleration
	err := eachElement(all, func(decoder *json.Decoder) (bool, error) {
		var one struct{ Key, Operator, Value, Effect string }
		if err := decoder.Decode(&one); err != nil {
			return false, err
		}
		toleration := corev1.Toleration{
			Key: one.Key, Operator: corev1.TolerationOperator(one.Operator), Value: one.Value, Effect: corev1.TaintEffect(one.Effect),
		}
		if toleration.ToleratesTaint(klog.Background(), cordoned, false) {
			toleration.Value = "" // Exists ignores it, and it may be long
			kept = []corev1.Toleration{toleration}
		}
		return len(kept) == 0, nil
	})
	return kept, err
}

// claims returns the volumes of a pod that have a PersistentVolumeClaim.
func claims(volumes json.RawMessage) ([]corev1.Volume, error) {
	var kept []corev1.Volume
	err := eachElement(volumes, func(decoder *json.Decoder) (bool, error) {
		var volume struct {
			Name                  string
			PersistentVolumeClaim *struct{ ClaimName string }
			Ephemeral             *struct{}
		}
		if err := decoder.Decode(&volume); err != nil {
			return false, err
		}
		made := corev1.Volume{Name: volume.Name[:min(len(volume.Name), longestName)]}
		switch {
		case volume.PersistentVolumeClaim != nil:
			name := volume.PersistentVolumeClaim.ClaimName
			made.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name[:min(len(name), longestName)]}
		case volume.Ephemeral != nil:
			made.Ephemeral = &corev1.EphemeralVolumeSource{}
		default:
			return true, nil
		}
		kept = append(kept, made)
		return len(kept) < mostClaims, nil
	})
	return kept, err
}

// member returns a map with one member of a JSON object of strings, or nil if the object has no
// such member. Values that are too long are shortened: nothing reads more of them.
func member(object json.RawMessage, key string) (map[string]string, error) {
	if len(object) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value string
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		if name == key {
			return map[string]string{key: value[:min(len(value), longestText)]}, nil
		}
	}
	return nil, nil
}

// eachElement calls a function at every element of a JSON array until it returns false. The
// function decodes the element. No array is an empty one.
func eachElement(array json.RawMessage, visit func(*json.Decoder) (bool, error)) error {
	if len(array) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(array))
	if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
		return err
	}
	for decoder.More() {
		if more, err := visit(decoder); err != nil || !more {
			return err
		}
	}
	return nil
}

// portion is a reader that fails when more than a number of bytes was read since it was renewed.
type portion struct {
	io.Reader
	left int
}

func (p *portion) renew() { p.left = longestItem }

// Read implements io.Reader.
func (p *portion) Read(target []byte) (int, error) {
	if p.left <= 0 {
		return 0, &boundedhttp.TooLargeError{Limit: longestItem}
	}
	n, err := p.Reader.Read(target[:min(len(target), p.left)])
	p.left -= n
	return n, err
}

// readList reads a list and calls a function at every item until it returns false. The function
// decodes the item. It returns the token of the next page, "" if there is none or nothing else is
// wanted.
func readList(reader io.Reader, visit func(*json.Decoder) (bool, error)) (string, error) {
	source := &portion{Reader: reader}
	source.renew()
	decoder := json.NewDecoder(source)
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return "", cmp.Or(notJSON(err), error(errNoList))
	}
	next, seen := "", false
	for decoder.More() {
		source.renew()
		key, err := decoder.Token()
		if err != nil {
			return "", notJSON(err)
		}
		switch key {
		case "items":
			seen = true
			more, err := readItems(decoder, source, visit)
			if err != nil || !more {
				return "", err
			}
		case "metadata":
			var metadata struct{ Continue string }
			if err := decoder.Decode(&metadata); err != nil {
				return "", notJSON(err)
			}
			if next = metadata.Continue; len(next) > longestContinue {
				return "", &AnswerError{"a continue token that is too long"}
			}
		default:
			var skipped json.RawMessage
			if err := decoder.Decode(&skipped); err != nil {
				return "", notJSON(err)
			}
		}
	}
	if _, err := decoder.Token(); err != nil {
		return "", notJSON(err)
	}
	if !seen {
		return "", errNoList
	}
	return next, nil
}

var errNoList = &AnswerError{"something else than a list"}

// readItems reads the array of a list's items. It returns false once nothing else is wanted.
func readItems(decoder *json.Decoder, source *portion, visit func(*json.Decoder) (bool, error)) (bool, error) {
	open, err := decoder.Token()
	if err == nil && open == nil {
		return true, nil // null for an empty list
	}
	if err != nil || open != json.Delim('[') {
		return false, cmp.Or(notJSON(err), error(errNoList))
	}
	for decoder.More() {
		source.renew()
		if more, err := visit(decoder); err != nil || !more {
			return false, notJSON(err)
		}
	}
	_, err = decoder.Token()
	return true, notJSON(err)
}

// notJSON describes an error of decoding, and leaves the other errors as they are.
func notJSON(err error) error {
	switch err.(type) { //nolint:errorlint // encoding/json wraps none of these
	case *json.SyntaxError, *json.UnmarshalTypeError, *time.ParseError:
		return &AnswerError{fmt.Sprintf("something else than Kubernetes objects in JSON (%T)", err)}
	}
	return err
}
