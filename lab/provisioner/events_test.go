package provisioner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/manager"
)

// eventOf waits for an event on a pod that has some words.
func (w *world) eventOf(pod *corev1.Pod, words string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("an event of pod %s says %q", pod.Name, words), func() error { return w.someTold([]*corev1.Pod{pod}, words) })
}

// someTold fails unless an event of one of the pods has some words.
func (w *world) someTold(pods []*corev1.Pod, words string) error {
	var events eventsv1.EventList
	if err := w.Client.List(w.Context(), &events, client.InNamespace(w.Namespace)); err != nil {
		return err
	}
	var notes []string
	for i := range events.Items {
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return events.Items[i].Regarding.UID == pod.UID }) {
			notes = append(notes, events.Items[i].Note)
		}
	}
	if !slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, words) }) {
		return fmt.Errorf("events are %q", notes)
	}
	return nil
}

// toldOf returns which of the pods, by name, have an event with some words.
func (w *world) toldOf(pods []*corev1.Pod, words string) map[string]bool {
	w.Helper()
	var events eventsv1.EventList
	if err := w.Client.List(w.Context(), &events, client.InNamespace(w.Namespace)); err != nil {
		w.Fatal(err)
	}
	byUID := map[types.UID]string{}
	for _, pod := range pods {
		byUID[pod.UID] = pod.Name
	}
	told := map[string]bool{}
	for i := range events.Items {
		if name := byUID[events.Items[i].Regarding.UID]; name != "" && strings.Contains(events.Items[i].Note, words) {
			told[name] = true
		}
	}
	return told
}

// everywhere has the provisioner see the pods of all namespaces, as users have it, and not the test's alone.
func everywhere(o *manager.ProvisionerOptions) { o.Namespace = "" }

// TestEventsOfABacklog holds that all pods of a backlog that is larger than what one pass reports
// get events, though nothing but the passes themselves brings the next. Tests next to the code hold
// that a pass writes at most so many events.
func TestEventsOfABacklog(t *testing.T) {
	w := newWorldWith(t, options{unstarted: true, change: everywhere})
	w.provision("default")
	var pods []*corev1.Pod
	for i := range 250 {
		pods = append(pods, w.pod(fmt.Sprintf("pod-%03d", i), asking("1000", "1Gi")))
	}
	w.unschedulable(pods)
	w.clock.SetRate(slow) // a minute, after which every pod is considered again, does not pass
	w.Cleanup(func() { w.clock.SetRate(rate) })
	w.start()
	w.Eventually("all pods are told", func() error {
		if told := len(w.toldOf(pods, "requests 1000 CPU")); told != len(pods) {
			return fmt.Errorf("%d are", told)
		}
		return nil
	})
}
