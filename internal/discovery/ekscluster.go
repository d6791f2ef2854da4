package discovery

import (
	"cmp"
	"context"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
)

// EKSCluster contains what a node must know about an EKS cluster to join it, where EKS does not
// provide it.
type EKSCluster struct {
	Name, Endpoint string
	// CertificateAuthority is in base64.
	CertificateAuthority string
	// ServiceCIDR is the range of the cluster's Services, IPv4 or IPv6.
	ServiceCIDR string
}

// EKSCluster describes an EKS cluster. If it does not exist the error is a *NotFoundError.
func (d *Discovery) EKSCluster(ctx context.Context, name string) (EKSCluster, error) {
	return d.eksClusters.get(ctx, name, func(ctx context.Context) (EKSCluster, error) {
		output, err := d.clients.EKS.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &name})
		if err != nil {
			return EKSCluster{}, missing(err, "EKS cluster", name, "it does not exist in this region, or is not "+
				"visible yet")
		}
		found := EKSCluster{Name: name, Endpoint: awssdk.ToString(output.Cluster.Endpoint)}
		if authority := output.Cluster.CertificateAuthority; authority != nil {
			found.CertificateAuthority = awssdk.ToString(authority.Data)
		}
		if network := output.Cluster.KubernetesNetworkConfig; network != nil {
			found.ServiceCIDR = cmp.Or(awssdk.ToString(network.ServiceIpv6Cidr), awssdk.ToString(network.ServiceIpv4Cidr))
		}
		if found.Endpoint == "" || found.CertificateAuthority == "" {
			return EKSCluster{}, &NotFoundError{Kind: "endpoint", What: fmt.Sprintf("EKS cluster %q", name), Advice: "it is not active yet"}
		}
		return found, nil
	})
}
