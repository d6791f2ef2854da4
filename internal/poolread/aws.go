package poolread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/prices"
)

// errReadOnly is the answer to a call that would change AWS.
var errReadOnly = errors.New("this command changes nothing in AWS")

// AWS reads AWS as the identities of clusters, based on the credentials of the user.
type AWS struct {
	reader   client.Reader
	sessions *aws.Sessions
	resolver *identity.Resolver

	mu sync.Mutex
	// prices are the prices that clients read.
	prices map[*aws.Clients]*discovery.Prices
}

// NewAWS returns a reader of AWS. Identities are read from a management cluster, and the Secrets of static
// ones from a namespace.
func NewAWS(reader client.Reader, base awssdk.Config, secretNamespace, version string) *AWS {
	return &AWS{
		reader:   reader,
		sessions: aws.NewSessions(base, aws.WithVersion(version), aws.WithLimits(nil), aws.WithMayWrite(func() error { return errReadOnly })),
		resolver: &identity.Resolver{Reader: reader, Secrets: reader, SecretNamespace: secretNamespace},
		prices:   map[*aws.Clients]*discovery.Prices{},
	}
}

// reach returns the clients for the region of a cluster.
func (a *AWS) reach(ctx context.Context, of *clusterv1.Cluster) (*aws.Clients, error) {
	facts, err := cluster.Load(ctx, a.reader, of)
	if err != nil {
		return nil, fmt.Errorf("reading the infrastructure of Cluster %q: %w", of.Name, err)
	}
	return a.clientsOf(ctx, of.Name, facts)
}

func (a *AWS) clientsOf(ctx context.Context, clusterName string, facts *cluster.Facts) (*aws.Clients, error) {
	principal, err := a.resolver.Resolve(ctx, facts.Identity, facts.Namespace)
	if err != nil {
		return nil, fmt.Errorf("finding the AWS identity of Cluster %q: %w", clusterName, err)
	}
	return a.sessions.For(ctx, principal, facts.Region)
}

// Source implements prices.Sources. The prices of a place without a Cluster are read as the user.
func (a *AWS) Source(ctx context.Context, place prices.Place) (prices.Source, error) {
	clients, err := a.clientsIn(ctx, place)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.prices[clients] == nil {
		a.prices[clients] = discovery.New(clients, clock.RealClock{}).Prices
	}
	return a.prices[clients], nil
}

func (a *AWS) clientsIn(ctx context.Context, place prices.Place) (*aws.Clients, error) {
	if place.Cluster == "" {
		return a.sessions.For(ctx, aws.Principal{}, place.Region)
	}
	_, facts, err := cluster.LoadNamed(ctx, a.reader, place.Namespace, place.Cluster)
	if err != nil {
		return nil, err
	}
	return a.clientsOf(ctx, place.Cluster, facts)
}

// Versions returns the data of two versions of a launch template.
func (a *AWS) Versions(ctx context.Context, of *clusterv1.Cluster, template string, first, second int64) (before, after launchtemplate.Data, err error) {
	clients, err := a.reach(ctx, of)
	if err != nil {
		return before, after, err
	}
	templates := launchtemplate.NewTemplates(clients.EC2)
	var found [2]launchtemplate.Data
	for i, number := range []int64{first, second} {
		versions, data, err := templates.VersionsWith(ctx, template, number)
		if err != nil {
			return before, after, err
		}
		if data == nil {
			return before, after, &NoVersionError{Template: template, Version: number, Existing: numbersOf(versions)}
		}
		found[i] = *data
	}
	return found[0], found[1], nil
}

// NoVersionError reports a version that a launch template does not have.
type NoVersionError struct {
	Template string
	Version  int64
	// Existing are the numbers of the versions that exist, in ascending order.
	Existing []int64
}

// Error implements error.
func (e *NoVersionError) Error() string {
	text := fmt.Sprintf("launch template %s has no version %d", e.Template, e.Version)
	if len(e.Existing) == 0 {
		return text + ": EC2 returns no version of it"
	}
	return fmt.Sprintf("%s: its versions are from %d to %d, and old ones that nothing uses are deleted", text, e.Existing[0], e.Existing[len(e.Existing)-1])
}

func numbersOf(versions []launchtemplate.Version) []int64 {
	numbers := make([]int64, 0, len(versions))
	for _, version := range versions {
		numbers = append(numbers, version.Number)
	}
	slices.Sort(numbers)
	return numbers
}

// Activity is a scaling activity of an Auto Scaling group.
type Activity struct {
	// Time is when it began, and Status such as Successful or Failed.
	Time   time.Time
	Status string
	// Description says what was done, Cause why, and Message what failed.
	Description, Cause, Message string
}

// mostActivities is the most scaling activities that AWS returns in one answer.
const mostActivities = 100

// Activities returns the newest scaling activities of a group, newest first.
func (a *AWS) Activities(ctx context.Context, of *clusterv1.Cluster, group string) ([]Activity, error) {
	clients, err := a.reach(ctx, of)
	if err != nil {
		return nil, err
	}
	output, err := clients.AutoScaling.DescribeScalingActivities(ctx, &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: &group, MaxRecords: awssdk.Int32(mostActivities)})
	if err != nil {
		return nil, fmt.Errorf("describing the scaling activities of Auto Scaling group %q: %w", group, err)
	}
	activities := make([]Activity, 0, len(output.Activities))
	for i := range output.Activities {
		one := &output.Activities[i]
		activities = append(activities, Activity{
			Time: awssdk.ToTime(one.StartTime), Status: string(one.StatusCode), Description: awssdk.ToString(one.Description),
			Cause: awssdk.ToString(one.Cause), Message: awssdk.ToString(one.StatusMessage),
		})
	}
	slices.SortStableFunc(activities, func(x, y Activity) int { return cmp.Or(y.Time.Compare(x.Time)) })
	return activities, nil
}
