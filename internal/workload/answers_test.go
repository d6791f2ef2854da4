package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// podsOf reads a list of pods as API.Pods does.
func podsOf(answer string) ([]corev1.Pod, string, error) {
	var pods []corev1.Pod
	next, err := readList(strings.NewReader(answer), func(decoder *json.Decoder) (bool, error) {
		var item pod
		if err := decoder.Decode(&item); err != nil {
			return false, err
		}
		object, err := item.object()
		if err == nil {
			pods = append(pods, *object)
		}
		return true, err
	})
	return pods, next, err
}

// describePod shows what was kept of a pod.
func describePod(pod corev1.Pod) string {
	text := fmt.Sprintf("%s/%s", pod.Namespace, pod.Name)
	if pod.Spec.Priority != nil {
		text += fmt.Sprintf(" priority %d", *pod.Spec.Priority)
	}
	if pod.DeletionTimestamp != nil {
		text += " going"
	}
	for key, value := range pod.Labels {
		text += fmt.Sprintf(" label %s=%s", key, value)
	}
	for key, value := range pod.Annotations {
		text += fmt.Sprintf(" annotation %s=%s", key, value)
	}
	if !pod.CreationTimestamp.IsZero() {
		text += " created " + pod.CreationTimestamp.UTC().Format(time.RFC3339)
	}
	for _, toleration := range pod.Spec.Tolerations {
		text += fmt.Sprintf(" tolerates %s%s", toleration.Key, toleration.Value)
	}
	for _, volume := range pod.Spec.Volumes {
		text += " volume " + volume.Name
		if volume.PersistentVolumeClaim != nil {
			text += " of " + volume.PersistentVolumeClaim.ClaimName
		}
	}
	for _, owner := range pod.OwnerReferences {
		text += fmt.Sprintf(" of %s %s", owner.APIVersion, owner.Kind)
	}
	return text
}

// TestWhatIsReadOfPods holds what draining learns from a list of pods: the fields that it goes by,
// and of hostile or broken answers an error that says what is wrong with the API server.
func TestWhatIsReadOfPods(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", longestText+1)
	item := func(metadata string) string {
		return `{"items":[{"metadata":{"name":"a","namespace":"b",` + metadata + `}}]}`
	}
	spec := func(spec string) string {
		return `{"items":[{"metadata":{"name":"a","namespace":"b"},"spec":{` + spec + `}}]}`
	}
	for _, row := range []struct {
		reason, answer string
		want           []string
		next, wrong    string
	}{
		{reason: "an empty list", answer: `{"items":[]}`},
		{reason: "null for an empty list", answer: `{"items":null}`},
		{reason: "the token of the next page, whatever comes first", answer: `{"items":[],"metadata":{"continue":"more"},"kind":"PodList"}`, next: "more"},
		{reason: "metadata that is null", answer: `{"metadata":null,"items":[]}`},
		{reason: "fields that are not needed", answer: `{"items":[{"spec":{"containers":[{}],"priority":-5},"metadata":{"name":"a","namespace":"b"},"status":{"phase":"Running"}}]}`, want: []string{"b/a priority -5"}},
		{reason: "a pod that is going", answer: item(`"deletionTimestamp":"2026-11-22T10:00:00Z"`), want: []string{"b/a going"}},
		{reason: "the label that draining goes by, among others", answer: item(`"labels":{"x":"y","` + clusterv1.PodDrainLabel + `":"skip","z":""}`), want: []string{"b/a label " + clusterv1.PodDrainLabel + "=skip"}},
		{reason: "a label that is longer than any that counts", answer: item(`"labels":{"` + clusterv1.PodDrainLabel + `":"` + long + `"}`), want: []string{"b/a label " + clusterv1.PodDrainLabel + "=" + long[1:]}},
		{reason: "no labels", answer: item(`"labels":null,"annotations":{}`), want: []string{"b/a"}},
		{reason: "labels that are a list", answer: item(`"labels":["x"]`), want: []string{"b/a"}},
		{reason: "the pod of a static manifest", answer: item(`"annotations":{"` + corev1.MirrorPodAnnotationKey + `":"hash"}`), want: []string{"b/a annotation " + corev1.MirrorPodAnnotationKey + "=hash"}},
		{reason: "the owner that controls it, and no other", answer: item(`"ownerReferences":[{"apiVersion":"v1","kind":"A"},{"apiVersion":"apps/v1","kind":"DaemonSet","controller":true},{"controller":true}]`), want: []string{"b/a of apps/v1 DaemonSet"}},
		{reason: "owners that control nothing", answer: item(`"ownerReferences":[{"kind":"A","controller":false}]`), want: []string{"b/a"}},
		{reason: "owners that are no list", answer: item(`"ownerReferences":{}`), want: []string{"b/a"}},

		{reason: "when it was created", answer: item(`"creationTimestamp":"2026-11-22T10:00:00Z"`), want: []string{"b/a created 2026-11-22T10:00:00Z"}},
		{reason: "the toleration of the cordon, and no other", answer: spec(`"tolerations":[{"key":"x","operator":"Exists"},{"key":"node.kubernetes.io/unschedulable","operator":"Exists","value":"` + long + `"},{"operator":"Exists"}]`), want: []string{"b/a tolerates node.kubernetes.io/unschedulable"}},
		{reason: "the toleration of everything", answer: spec(`"tolerations":[{"operator":"Exists"}]`), want: []string{"b/a tolerates "}},
		{reason: "tolerations of something else", answer: spec(`"tolerations":[{"operator":"Exists","effect":"NoExecute"},{"key":"node.kubernetes.io/unschedulable","value":"x"}]`), want: []string{"b/a"}},
		{reason: "volumes with claims", answer: spec(`"volumes":[{"name":"t","emptyDir":{}},{"name":"d","persistentVolumeClaim":{"claimName":"d-0"}},{"name":"s","ephemeral":{}}]`), want: []string{"b/a volume d of d-0 volume s"}},

		{reason: "a toleration that is a text", answer: spec(`"tolerations":["x"]`), wrong: "something else than Kubernetes objects"},
		{reason: "a volume that is a text", answer: spec(`"volumes":["x"]`), wrong: "something else than Kubernetes objects"},
		{reason: "a label that is a number", answer: item(`"labels":{"x":1}`), wrong: "something else than Kubernetes objects"},
		{reason: "an annotation that is an object", answer: item(`"annotations":{"x":{}}`), wrong: "something else than Kubernetes objects"},
		{reason: "an owner that is a text", answer: item(`"ownerReferences":["x"]`), wrong: "something else than Kubernetes objects"},
		{reason: "an owner with a name that nothing has", answer: item(`"ownerReferences":[{"kind":"` + long + `","controller":true}]`), wrong: "owner reference is too long"},
		{reason: "a UID that nothing has", answer: item(`"uid":"` + long + `"`), wrong: "too long"},
		{reason: "a namespace that nothing has", answer: `{"items":[{"metadata":{"namespace":"` + long + `"}}]}`, wrong: "too long"},
		{reason: "a phase that nothing has", answer: `{"items":[{"status":{"phase":"` + long + `"}}]}`, wrong: "too long"},
		{reason: "a time that is none", answer: item(`"deletionTimestamp":"yesterday"`), wrong: "something else than Kubernetes objects"},
		{reason: "a priority beyond 32 bits", answer: `{"items":[{"spec":{"priority":2147483648}}]}`, wrong: "something else than Kubernetes objects"},
		{reason: "items that are an object", answer: `{"items":{}}`, wrong: "something else than a list"},
		{reason: "no items", answer: `{"kind":"PodList"}`, wrong: "something else than a list"},
		{reason: "a list without its object", answer: `[]`, wrong: "something else than a list"},
		{reason: "metadata that is a text", answer: `{"metadata":"x","items":[]}`, wrong: "something else than Kubernetes objects"},
		{reason: "a continue token without end", answer: `{"metadata":{"continue":"` + strings.Repeat("a", longestContinue+1) + `"}}`, wrong: "a continue token that is too long"},
		{reason: "HTML", answer: `<html>`, wrong: "something else than Kubernetes objects"},
		{reason: "an answer that breaks off", answer: `{"items":[{"metadata":`, wrong: "EOF"},
		{reason: "an answer that breaks off behind its items", answer: `{"items":[]`, wrong: "EOF"},
		{reason: "nothing", answer: ``, wrong: "EOF"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			pods, next, err := podsOf(row.answer)
			if (err != nil) != (row.wrong != "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
				t.Fatalf("the error is %v, want %q", err, row.wrong)
			}
			if err != nil {
				return
			}
			var got []string
			for _, pod := range pods {
				got = append(got, describePod(pod))
			}
			if difference := cmp.Diff(row.want, got); difference != "" || next != row.next {
				t.Errorf("next page %q, pods:\n%s", next, difference)
			}
		})
	}
}

// TestWhatIsReadOfNodes holds that a Node is ready only if the API server reports a status that
// Kubernetes defines.
func TestWhatIsReadOfNodes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, conditions string
		want               corev1.ConditionStatus
		wrong              bool
	}{
		{reason: "ready", conditions: `[{"type":"DiskPressure","status":"False"},{"type":"Ready","status":"True"}]`, want: corev1.ConditionTrue},
		{reason: "not ready", conditions: `[{"type":"Ready","status":"False"}]`, want: corev1.ConditionFalse},
		{reason: "not heard of", conditions: `[{"type":"Ready","status":"Unknown"}]`, want: corev1.ConditionUnknown},
		{reason: "a status that Kubernetes does not have", conditions: `[{"type":"Ready","status":"` + strings.Repeat("true", 1000) + `"}]`, want: corev1.ConditionUnknown},
		{reason: "the first one counts", conditions: `[{"type":"Ready","status":"False"},{"type":"Ready","status":"True"}]`, want: corev1.ConditionFalse},
		{reason: "no such condition", conditions: `[{"type":"DiskPressure","status":"True"}]`},
		{reason: "no conditions", conditions: `null`},
		{reason: "conditions that are no list", conditions: `{"type":"Ready","status":"True"}`},
		{reason: "a condition that is a text", conditions: `["Ready"]`, wrong: true},
	} {
		var read node
		if err := json.Unmarshal([]byte(`{"metadata":{"name":"a"},"status":{"conditions":`+row.conditions+`}}`), &read); err != nil {
			t.Fatal(err)
		}
		made, err := read.object()
		if (err != nil) != row.wrong {
			t.Errorf("%s: %v", row.reason, err)
		}
		if err != nil {
			continue
		}
		var got corev1.ConditionStatus
		for _, condition := range made.Status.Conditions {
			got += condition.Status
		}
		if got != row.want {
			t.Errorf("%s: ready is %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestAnswersAreBounded holds that what is kept of an answer has a bound, whatever JSON a tenant's
// API server sends, and that every answer is read or refused.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.StringN(0, 20, -1), rapid.SampledFrom([]string{
		strings.Repeat("é", longestText), strings.Repeat("a", longestName), clusterv1.PodDrainLabel, corev1.MirrorPodAnnotationKey, "2026-11-22T10:00:00Z", "\x00", "True",
	}))
	scalar := rapid.OneOf(rapid.Map(text, func(s string) any { return s }), rapid.SampledFrom([]any{nil, true, 0, -1, 1e300, []any{}, map[string]any{}}))
	strict := rapid.MapOfN(text, scalar, 0, 3)
	owners := rapid.SliceOfN(rapid.MapOfN(rapid.SampledFrom([]string{"apiVersion", "kind", "controller"}), scalar, 0, 3), 0, 3)
	rapid.Check(t, func(r *rapid.T) {
		item := map[string]any{
			"metadata": map[string]any{
				"name": text.Draw(r, "name"), "namespace": scalar.Draw(r, "namespace"), "uid": text.Draw(r, "uid"),
				"labels": strict.Draw(r, "labels"), "annotations": strict.Draw(r, "annotations"), "ownerReferences": owners.Draw(r, "owners"),
			},
			"status": map[string]any{"phase": scalar.Draw(r, "phase"), "conditions": owners.Draw(r, "conditions")},
		}
		answer, err := json.Marshal(map[string]any{"items": []any{item, item}, "metadata": map[string]any{"continue": text.Draw(r, "continue")}})
		if err != nil {
			r.Fatal(err)
		}
		pods, next, err := podsOf(string(answer))
		if len(next) > longestContinue || err != nil && next != "" {
			r.Errorf("the next page is %q, error %v", next, err)
		}
		for _, pod := range pods {
			if longest := max(len(pod.Name), len(pod.Namespace), len(pod.UID), len(pod.Status.Phase)); longest > longestText || len(pod.Labels)+len(pod.Annotations) > 2 || len(pod.OwnerReferences) > 1 {
				r.Errorf("kept %+v", pod)
			}
		}
		if err == nil && len(pods) != 2 {
			r.Errorf("%d pods of two, and no error", len(pods))
		}
	})
}

// TestMessagesAreShortened holds that an error message of a tenant's API server takes a bounded
// place in conditions, and is cut between characters.
func TestMessagesAreShortened(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"", "short", strings.Repeat("é", longestMessage), strings.Repeat("é", longestMessage+1), strings.Repeat("\xff", 3*longestMessage)} {
		short := shortened(message)
		if runes := []rune(short); len(runes) > longestMessage+1 || len([]rune(message)) <= longestMessage && short != message {
			t.Errorf("%d characters became %d", len([]rune(message)), len(runes))
		}
	}
	if text := Explain(errBusy); text != errBusy.Error() {
		t.Errorf("a busy manager is explained as %q", text)
	}
}

// TestNodeThatWasNotAskedFor holds that an API server that answers with another Node, or none, is
// refused: its provider ID would be taken for the asked Node's.
func TestNodeThatWasNotAskedFor(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, answer, wrong string }{
		{"the Node", `{"metadata":{"name":"a"},"spec":{"providerID":"aws:///z/i-1"}}`, ""},
		{"another Node", `{"metadata":{"name":"b"},"spec":{"providerID":"aws:///z/i-1"}}`, "something else than the Node that was asked for"},
		{"no name", `{}`, "something else than the Node that was asked for"},
		{"a list", `[]`, "something else than Kubernetes objects"},
		{"a provider ID that nothing has", `{"metadata":{"name":"a"},"spec":{"providerID":"` + strings.Repeat("a", longestText+1) + `"}}`, "too long"},
		{"a condition that is a text", `{"metadata":{"name":"a"},"status":{"conditions":["Ready"]}}`, "something else than Kubernetes objects"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			s := hostile(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(row.answer)) })
			found, err := newRig(t, s.kubeconfig(`{token: one}`)).mustClient().Node(t.Context(), "a")
			if (err != nil) != (row.wrong != "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
				t.Fatalf("the error is %v, want %q", err, row.wrong)
			}
			if err == nil && found.Spec.ProviderID != "aws:///z/i-1" {
				t.Errorf("found %+v", found)
			}
			var answer *AnswerError
			if err != nil && !errors.As(err, &answer) {
				t.Errorf("the error is no answer of the API server: %T", err)
			}
		})
	}
}

// TestUncordonSendsThePatch holds that a Node is made schedulable by exactly the patch that was
// decided.
func TestUncordonSendsThePatch(t *testing.T) {
	t.Parallel()
	var got string
	s := hostile(t, func(w http.ResponseWriter, request *http.Request) {
		body := make([]byte, request.ContentLength)
		_, _ = request.Body.Read(body)
		got = fmt.Sprintf("%s %s %s %s", request.Method, request.URL.Path, request.Header.Get("Content-Type"), body)
		_, _ = w.Write([]byte(`{"kind":"Node","apiVersion":"v1"}`))
	})
	api := newRig(t, s.kubeconfig(`{token: one}`)).mustClient()
	if err := api.Uncordon(t.Context(), "a", []byte(`[{"op":"remove","path":"/spec/unschedulable"}]`)); err != nil {
		t.Fatal(err)
	}
	if want := `PATCH /api/v1/nodes/a application/json-patch+json [{"op":"remove","path":"/spec/unschedulable"}]`; got != want {
		t.Errorf("sent %s", got)
	}
}
