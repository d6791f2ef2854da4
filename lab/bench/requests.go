package bench

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"
)

// requests returns how many requests the API server has answered so far, from any client, by verb
// and resource. It leaves out long-running requests (watches), requests about no object, and the
// leases of leaders.
func (b *bench) requests(ctx context.Context) (map[string]int, error) {
	clients, err := kubernetes.NewForConfig(b.lab.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	text, err := clients.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	return readRequests(string(text)), nil
}

// label matches one label of a metric, in Prometheus's text format. The values that are read have
// no quotes in them.
var label = regexp.MustCompile(`(\w+)="([^"]*)"`)

// readRequests reads the API server's metric of requests.
func readRequests(text string) map[string]int {
	requests := map[string]int{}
	for line := range strings.Lines(text) {
		labels, value, found := strings.Cut(strings.TrimPrefix(line, "apiserver_request_total{"), "} ")
		if !found || !strings.HasPrefix(line, "apiserver_request_total{") {
			continue
		}
		of := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(labels, -1) {
			of[pair[1]] = pair[2]
		}
		count, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || of["resource"] == "" || of["resource"] == "leases" || of["verb"] == "WATCH" {
			continue
		}
		what := of["verb"] + " " + of["resource"]
		if of["subresource"] != "" {
			what += "/" + of["subresource"]
		}
		requests[what] += int(count)
	}
	return requests
}

// since returns how many more there are than before.
func since(now, before map[string]int) map[string]int {
	more := map[string]int{}
	for what, count := range now {
		if count > before[what] {
			more[what] = count - before[what]
		}
	}
	return more
}
