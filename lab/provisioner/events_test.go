package provisioner

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
