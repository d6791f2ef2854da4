package charts_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

// booleans returns the paths of all values of a chart that are true or false, with their defaults.
func booleans(values map[string]any, prefix ...string) map[string]bool {
	found := map[string]bool{}
	for name, value := range values {
		path := append(slices.Clone(prefix), name)
		switch typed := value.(type) {
		case bool:
			found[strings.Join(path, ".")] = typed
		case map[string]any:
			maps.Copy(found, booleans(typed, path...))
		}
	}
	return found
}

// TestSwitches flips each boolean of the charts, each pair of them, and each with other sources of the webhook's
// certificate. Either the rendered objects fit together, or an error names the missing value.
func TestSwitches(t *testing.T) {
	t.Parallel()
	for _, name := range charts {
		switches := booleans(load(t, name).Values)
		paths := slices.Sorted(maps.Keys(switches))
		refused := 0
		flip := func(values map[string]any, path string) {
			if err := unstructured.SetNestedField(values, !switches[path], strings.Split(path, ".")...); err != nil {
				t.Fatal(err)
			}
		}
		try := func(values map[string]any) {
			content, err := yaml.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			text := withoutDefinitions(t, string(content))
			if _, err := render(t, name, text); err != nil {
				if !strings.Contains(err.Error(), "needs metrics.enabled") {
					t.Errorf("%s with %s: %v", name, content, err)
				}
				refused++
				return
			}
			checkConsistent(t, name+" with "+string(content), objects(t, name, text))
		}
		for i, first := range paths {
			for _, second := range paths[i:] {
				values := map[string]any{}
				flip(values, first)
				flip(values, second)
				try(values)
			}
			if name == "slipway" {
				for _, certificate := range []string{"self-managed", "provided"} {
					values := map[string]any{"webhook": map[string]any{"certificate": certificate, "secretName": "mine", "caBundle": "Q0E="}}
					flip(values, first)
					try(values)
				}
			}
		}
		if len(paths) < 10 || refused != 2 {
			t.Errorf("%s has %d booleans, and %d pairs are refused, want 2", name, len(paths), refused)
		}
	}
}

// checkConsistent fails if objects refer to what does not exist: ports, pods, roles, volumes.
func checkConsistent(t *testing.T, what string, objects map[string]*unstructured.Unstructured) {
	t.Helper()
	pods := podTemplate(t, objects)
	ports, services := sets.New[string](), sets.New[string]()
	for _, port := range pods.Spec.Containers[0].Ports {
		ports.Insert(port.Name)
	}
	own := maps.Clone(objects)
	delete(own, "ClusterRoleBinding "+nameOf(objects)+"-kube-state-metrics") // of another program
	permissions(t, own, pods.Spec.ServiceAccountName)
	reached := func(key, port string) {
		if !ports.Has(port) {
			t.Errorf("%s: %s leads to port %q, and the pods have %v", what, key, port, sets.List(ports))
		}
	}
	selects := func(key string, selector map[string]string) {
		if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(pods.Labels)) {
			t.Errorf("%s: %s selects %v, and the pods have %v", what, key, selector, pods.Labels)
		}
	}
	for key, object := range objects {
		switch object.GetKind() {
		case "Service":
			service := typed[corev1.Service](t, object)
			selects(key, service.Spec.Selector)
			for _, port := range service.Spec.Ports {
				reached(key, port.TargetPort.String())
				services.Insert(port.Name)
			}
		case "PodDisruptionBudget":
			selects(key, typed[policyv1.PodDisruptionBudget](t, object).Spec.Selector.MatchLabels)
		case "NetworkPolicy":
			policy := typed[networkingv1.NetworkPolicy](t, object)
			selects(key, policy.Spec.PodSelector.MatchLabels)
			open := sets.New[string]()
			for _, rule := range policy.Spec.Ingress {
				for _, port := range rule.Ports {
					open.Insert(port.Port.String())
				}
			}
			if !open.Equal(ports) || !slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
				t.Errorf("%s: %s opens %v, and the pods have %v; types %v", what, key, sets.List(open), sets.List(ports), policy.Spec.PolicyTypes)
			}
		}
	}
	if monitor := objects["ServiceMonitor "+nameOf(objects)]; monitor != nil {
		checkMonitor(t, what, monitor, objects, services)
	}
}

// nameOf returns the name of the one Deployment.
func nameOf(objects map[string]*unstructured.Unstructured) string {
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			return object.GetName()
		}
	}
	return ""
}

// podTemplate returns the template of the Deployment's pods, whose mounts must have volumes.
func podTemplate(t *testing.T, objects map[string]*unstructured.Unstructured) corev1.PodTemplateSpec {
	t.Helper()
	pods := typed[appsv1.Deployment](t, objects["Deployment "+nameOf(objects)]).Spec.Template
	for _, mount := range pods.Spec.Containers[0].VolumeMounts {
		if !slices.ContainsFunc(pods.Spec.Volumes, func(volume corev1.Volume) bool { return volume.Name == mount.Name }) {
			t.Errorf("%s is mounted, and there is no such volume", mount.Name)
		}
	}
	return pods
}

// checkMonitor fails unless the ServiceMonitor selects a Service with the port that it names.
func checkMonitor(t *testing.T, what string, monitor *unstructured.Unstructured, objects map[string]*unstructured.Unstructured, ports sets.Set[string]) {
	t.Helper()
	found := typed[struct {
		Spec struct {
			Selector  metav1.LabelSelector `json:"selector"`
			Endpoints []struct {
				Port string `json:"port"`
			} `json:"endpoints"`
		} `json:"spec"`
	}](t, monitor)
	service := objects["Service "+monitor.GetName()+"-metrics"]
	if service == nil || !labels.SelectorFromSet(found.Spec.Selector.MatchLabels).Matches(labels.Set(service.GetLabels())) {
		t.Errorf("%s: the ServiceMonitor selects no Service", what)
	}
	for _, endpoint := range found.Spec.Endpoints {
		if !ports.Has(endpoint.Port) {
			t.Errorf("%s: the ServiceMonitor collects from port %q, and Services have %v", what, endpoint.Port, sets.List(ports))
		}
	}
}
