package adoption_test

import (
	"errors"
	"fmt"
	"testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/adoption"
	"github.com/slipway-project/slipway/internal/aws"
)

// TestClaim holds what proves that a resource belongs to a pool's namespace.
func TestClaim(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		secrets  []string
		namesake bool
		proven   bool
	}{
		{reason: "its instances are of the namespace", secrets: []string{"team/a", "team/b"}, proven: true},
		{reason: "its instances are of the namespace, though another one has a cluster of the name", secrets: []string{"team/a"}, namesake: true, proven: true},
		{reason: "an instance is of another namespace", secrets: []string{"team/a", "teammates/b"}},
		{reason: "it has no instances, and only this namespace has a cluster of the name", proven: true},
		{reason: "it has no instances, and another namespace has a cluster of the name", namesake: true},
	} {
		err := adoption.Claim{Namespace: "team", Cluster: "prod", Resource: "the group", Secrets: row.secrets, Namesake: row.namesake}.Decide()
		if (err == nil) != row.proven {
			t.Errorf("%s: %v", row.reason, err)
		}
		if err == nil {
			continue
		}
		if reason := adoption.ReasonOf(fmt.Errorf("adopting: %w", err), "Other"); reason != infrav1.AdoptionBlockedReason || aws.FateOf(err).Kind != aws.WaitForUser {
			t.Errorf("%s: the reason is %s", row.reason, reason)
		}
	}
	if reason := adoption.ReasonOf(errors.New("no answer"), "Other"); reason != "Other" {
		t.Errorf("the reason of another error is %s", reason)
	}
}
