package pool

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// answered returns an error that AWS answers.
func answered(code string) error { return &smithy.GenericAPIError{Code: code, Message: "no"} }

// TestAccessIsShown holds that a condition shows whether AWS can be called, and which failures are
// checked again.
func TestAccessIsShown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		access Access
		status metav1.ConditionStatus
		why    string
		says   string
		// again reports whether the object is checked again by itself.
		again bool
	}{
		{"AWS can be called", Access{Exists: true}, "True", infrav1.ReadyReason, "", false},
		{"there is no Cluster", Access{Cluster: "prod"}, "False", infrav1.WaitingForClusterReason, `Cluster "prod" does not exist`, false},
		{"the network is not ready", Access{Exists: true, Err: &cluster.NotReadyError{Reason: "WaitingForNetwork", Message: "no VPC yet"}}, "False", "WaitingForNetwork", "no VPC yet", false},
		{"the infrastructure is not AWS's", Access{Exists: true, Err: &cluster.UnsupportedError{Cluster: "prod", Kind: "GCPCluster"}}, "False", infrav1.InvalidSpecReason, "GCPCluster", false},
		{
			"the namespace may not use the identity", Access{Exists: true, Err: &identity.Error{Reason: infrav1.IdentityNotAllowedReason, Message: "blue may not"}},
			"False", infrav1.IdentityNotAllowedReason, "blue may not", true,
		},
		{
			"the role cannot be assumed", Access{Exists: true, Err: &aws.CredentialsError{Role: "arn:aws:iam::1:role/r", Err: answered("AccessDenied")}},
			"False", infrav1.CredentialsInvalidReason, "allow the caller in the trust policy of the role", true,
		},
		{"no region is named", Access{Exists: true, Err: &aws.NoRegionError{}}, "False", infrav1.InvalidSpecReason, "no AWS region", false},
		{"STS is throttled", Access{Exists: true, Err: answered("Throttling")}, "Unknown", infrav1.AWSUnavailableReason, "Slipway retries the call", true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object, plan := &infrav1.AWSMachinePool{}, reconcile.Plan{}
			reached := row.access.Show(object, &plan)
			shown := meta.FindStatusCondition(object.Status.Conditions, infrav1.ClusterInfrastructureReadyCondition)
			if shown == nil || shown.Status != row.status || shown.Reason != row.why || !strings.Contains(shown.Message, row.says) {
				t.Errorf("condition %+v", shown)
			}
			if reached != (row.status == metav1.ConditionTrue) || plan.Again > 0 != row.again || plan.Err != nil {
				t.Errorf("reached %t, plan %+v", reached, plan)
			}
		})
	}
}

// TestAccessOfWhatIsDeletedIsShown says in the Deleting condition why nothing can be deleted yet,
// and nothing of an object for which nothing was made.
func TestAccessOfWhatIsDeletedIsShown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		access  Access
		reached bool
		says    string
	}{
		{"AWS can be called", Access{}, true, ""},
		{"nothing was made", Access{NothingMade: true}, false, ""},
		{"the identity is gone", Access{Err: &identity.Error{Reason: infrav1.IdentityNotFoundReason, Message: "no such identity"}}, false, "no such identity"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object, plan := &infrav1.AWSMachinePool{}, reconcile.Plan{}
			if reached := row.access.ShowForDeletion(object, &plan); reached != row.reached {
				t.Errorf("reached %t", reached)
			}
			shown := meta.FindStatusCondition(object.Status.Conditions, infrav1.DeletingCondition)
			if row.says == "" && shown != nil || row.says != "" && (shown == nil || shown.Status != metav1.ConditionTrue || shown.Message != row.says) {
				t.Errorf("condition %+v", shown)
			}
		})
	}
}

// TestFailuresAreShown says whose turn it is after a failure, and when AWS is called again.
func TestFailuresAreShown(t *testing.T) {
	t.Parallel()
	held := &aws.ThrottledError{RetryAfter: 7 * time.Second}
	for _, row := range []struct {
		reason string
		known  bool
		err    error
		status metav1.ConditionStatus
		why    string
		again  time.Duration
		held   bool
		fails  bool
	}{
		{"a user has to allow it", false, answered("UnauthorizedOperation"), "False", infrav1.AccessDeniedReason, 2 * time.Minute, false, false},
		{"a quota is used up", false, answered("LaunchTemplateVersionLimitExceeded"), "False", infrav1.QuotaExceededReason, 2 * time.Minute, false, false},
		{"AWS refuses what is asked for", true, answered("InvalidParameterValue"), "False", "UpdateFailed", 2 * time.Minute, false, false},
		{"nothing is known yet, and AWS does not answer", false, errors.New("connection refused"), "Unknown", infrav1.AWSUnavailableReason, 0, false, true},
		{"what is known stays while AWS does not answer", true, errors.New("connection refused"), "True", infrav1.ReadyReason, 0, false, true},
		{"the call waits for its turn in the request budget", true, held, "True", infrav1.ReadyReason, 7 * time.Second, true, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object, plan := &infrav1.AWSMachinePool{}, reconcile.Plan{}
			if row.known {
				reconciling.True(object, infrav1.ASGReadyCondition, infrav1.ReadyReason, "")
			}
			ShowFailure(object, &plan, infrav1.ASGReadyCondition, "UpdateFailed", row.err)
			shown := meta.FindStatusCondition(object.Status.Conditions, infrav1.ASGReadyCondition)
			if shown == nil || shown.Status != row.status || shown.Reason != row.why {
				t.Errorf("condition %+v", shown)
			}
			if plan.Again != row.again || plan.Held != row.held || plan.Err != nil != row.fails {
				t.Errorf("plan %+v", plan)
			}
		})
	}
}

// TestTryAgain holds when something is tried again after a failure that no condition shows.
func TestTryAgain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		err    error
		again  time.Duration
		fails  bool
	}{
		{"AWS refuses", answered("UnauthorizedOperation"), 2 * time.Minute, false},
		{"AWS does not answer", errors.New("connection refused"), 0, true},
	} {
		var plan reconcile.Plan
		if TryAgain(&plan, row.err); plan.Again != row.again || (plan.Err != nil) != row.fails {
			t.Errorf("%s: again after %v, error %v", row.reason, plan.Again, plan.Err)
		}
	}
}
