package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	// regions matches the names of AWS regions, and no availability zones.
	regions = regexp.MustCompile(`^[a-z]{2,4}(-[a-z]+)+-[0-9]+$`)
	// queues matches the names of SQS queues (AWS: API_CreateQueue, QueueName).
	queues = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$|^[A-Za-z0-9_-]{1,75}\.fifo$`)
)

// validateNames returns an error for each name that nothing can have.
func (o Options) validateNames() error {
	var found []error
	for _, namespace := range []struct{ flag, name string }{
		{"--namespace", o.Namespace}, {"--leader-elect-namespace", o.LeaderElection.Namespace}, {"--identity-secret-namespace", o.IdentitySecretNamespace},
	} {
		if namespace.name != "" && len(validation.IsDNS1123Label(namespace.name)) > 0 {
			found = append(found, fmt.Errorf("%s is %q, and must be the name of one namespace", namespace.flag, namespace.name))
		}
	}
	if len(validation.IsDNS1123Subdomain(o.LeaderElection.ID)) > 0 {
		found = append(found, fmt.Errorf("--leader-election-id is %q, and must be the name of a lease: a DNS subdomain in lower case", o.LeaderElection.ID))
	}
	if len(validation.IsValidLabelValue(o.WatchFilter)) > 0 {
		found = append(found, fmt.Errorf("--watch-filter is %q, and must be the value of a label", o.WatchFilter))
	}
	if o.AWS.Region != "" && !regions.MatchString(o.AWS.Region) {
		found = append(found, fmt.Errorf("the AWS region, of AWS_REGION or the profile, is %q, and must be a region such as eu-west-1", o.AWS.Region))
	}
	if o.EventQueue != "" && !queues.MatchString(o.EventQueue) {
		found = append(found, fmt.Errorf("--event-queue is %q, and must be the name of an SQS queue, without its URL or ARN", o.EventQueue))
	}
	return errors.Join(found...)
}

// validateAddresses returns an error for each address that nothing can listen at, and for each that two
// servers would listen at.
func (o Options) validateAddresses() error {
	var found []error
	flags := map[string]string{}
	if o.Webhooks.on() {
		flags[":"+strconv.Itoa(o.Webhooks.Port)] = "--webhook-port"
	}
	for _, server := range []struct{ flag, address string }{
		{"--health-addr", o.HealthAddress}, {"--diagnostics-address", o.MetricsAddress},
		{"--dashboard-address", o.DashboardAddress}, {"--profiler-address", o.ProfilerAddress},
	} {
		if server.address == "" || server.address == "0" && server.flag != "--dashboard-address" {
			continue // disabled; programs with controller-runtime take 0 for that
		}
		_, port, err := net.SplitHostPort(server.address)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			found = append(found, fmt.Errorf("%s is %q, and must be an address with a port, such as :9442", server.flag, server.address))
			continue
		}
		if other := flags[server.address]; other != "" && port != "0" {
			found = append(found, fmt.Errorf("%s is %s, and %s is the same: give each a port of its own", server.flag, server.address, other))
		}
		flags[server.address] = server.flag
	}
	return errors.Join(found...)
}

// checkLeaseNamespace returns an error if the namespace of the lease does not exist: no process would ever
// become the leader. A manager that may not read the namespace does without the check. The namespace
// whose objects are reconciled may be created later, as clusterctl move does.
func checkLeaseNamespace(ctx context.Context, manager ctrl.Manager, election LeaderElection) error {
	if !election.Enabled || election.Namespace == "" {
		return nil
	}
	err := manager.GetAPIReader().Get(ctx, client.ObjectKey{Name: election.Namespace}, &corev1.Namespace{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("--leader-elect-namespace is %s, and there is no such namespace: create it, or correct the flag", election.Namespace)
	case err != nil && !apierrors.IsForbidden(err):
		return fmt.Errorf("reading namespace %s of --leader-elect-namespace: %w", election.Namespace, err)
	}
	return nil
}
