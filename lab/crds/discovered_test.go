package crds

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// lagging lists one more version of its resources each time it is asked.
type lagging struct {
	versions []string
	asked    int
	// fails names the versions that are not listed yet in an error, as an API server that aggregates does.
	fails bool
}

func (l *lagging) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	known := min(l.asked, len(l.versions))
	l.asked++
	var lists []*metav1.APIResourceList
	for _, version := range l.versions[:known] {
		lists = append(lists, &metav1.APIResourceList{
			GroupVersion: "example.org/" + version, APIResources: []metav1.APIResource{{Name: "things"}},
		})
	}
	if !l.fails || known == len(l.versions) {
		return nil, lists, nil
	}
	failed := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{}}
	for _, version := range l.versions[known:] {
		failed.Groups[schema.GroupVersion{Group: "example.org", Version: version}] = errors.New("not found")
	}
	return nil, lists, failed
}

func TestWaitUntilDiscovered(t *testing.T) {
	t.Parallel()
	set := &Set{Definitions: []*apiextensionsv1.CustomResourceDefinition{{
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.org", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1beta1", Served: true}, {Name: "v1beta2", Served: true}, {Name: "v1alpha1"},
			},
		},
	}}}
	for _, row := range []struct {
		reason string
		server lagging
		asked  int
		err    error
	}{
		{reason: "all served versions are listed after two more requests", server: lagging{versions: []string{"v1beta1", "v1beta2"}}, asked: 3},
		{reason: "versions that fail are on their way", server: lagging{versions: []string{"v1beta1", "v1beta2"}, fails: true}, asked: 3},
		{reason: "a version that never comes is waited for until the end", server: lagging{versions: []string{"v1beta1"}}, err: context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := WaitUntilDiscovered(ctx, &row.server, set); !errors.Is(err, row.err) {
				t.Errorf("%s: the error is %v, want %v", row.reason, err, row.err)
			}
			if row.err == nil && row.server.asked != row.asked {
				t.Errorf("%s: the API server was asked %d times, want %d", row.reason, row.server.asked, row.asked)
			}
		})
	}
}
