// Package oracle reports how often the simulated AWS does what AWS is known to do. Tests that
// compare the two call [Report]; `make oracles` collects what they report into a table.
package oracle

import (
	"encoding/json"
	"strings"
	"testing"
)

// Attribute is the key under which results are in the output of `go test -json`.
const Attribute = "oracle"

// Result is the outcome of one comparison of the simulated AWS with AWS.
type Result struct {
	// Oracle names the knowledge about AWS, such as "answers recorded of AWS". Source says where a
	// reader finds it.
	Oracle, Source string
	// Service is the AWS service, such as EC2.
	Service string
	// Of Cases comparisons Held gave what AWS gives.
	Cases, Held int
}

// Name returns the common name of a service that is given by its name on the wire, such as Auto
// Scaling for autoscaling.
func Name(service string) string {
	switch service {
	case "autoscaling":
		return "Auto Scaling"
	case "ssm":
		return "Systems Manager"
	case "events":
		return "EventBridge"
	}
	return strings.ToUpper(service)
}

// Report records a result. A comparison in which cases do not hold fails the test by itself; the
// result is reported all the same.
func Report(t testing.TB, r Result) {
	t.Helper()
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Attr(Attribute, string(encoded))
}
