package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequests(t *testing.T) {
	t.Parallel()
	text := `# HELP apiserver_request_total [STABLE] Counter of apiserver requests
apiserver_request_total{code="200",component="apiserver",dry_run="",group="infrastructure.cluster.x-k8s.io",resource="awsmachinepools",scope="resource",subresource="status",verb="PATCH",version="v1beta2"} 12
apiserver_request_total{code="409",component="apiserver",dry_run="",group="infrastructure.cluster.x-k8s.io",resource="awsmachinepools",scope="resource",subresource="status",verb="PATCH",version="v1beta2"} 2
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="secrets",scope="resource",subresource="",verb="POST",version="v1"} 1e+02
apiserver_request_total{code="0",component="apiserver",dry_run="",group="",resource="secrets",scope="cluster",subresource="",verb="WATCH",version="v1"} 7
apiserver_request_total{code="200",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="PUT",version="v1"} 9
apiserver_request_total{code="200",component="",dry_run="",group="",resource="",scope="",subresource="/readyz",verb="GET",version=""} 3
apiserver_request_terminations_total{code="429",component="apiserver",resource="secrets",verb="POST"} 5
`
	got := readRequests(text)
	want := map[string]int{"PATCH awsmachinepools/status": 14, "POST secrets": 100}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("requests (-want +got):\n%s", difference)
	}
	if difference := cmp.Diff(map[string]int{"POST secrets": 60}, since(got, map[string]int{"PATCH awsmachinepools/status": 14, "POST secrets": 40})); difference != "" {
		t.Errorf("requests since (-want +got):\n%s", difference)
	}
}
