package ec2

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// internetGateways holds the internet gateways of a Region.
type internetGateways struct {
	*sim.Table[types.InternetGateway]
	region *sim.Region
}

func (ig *internetGateways) newGateway(id string, tags []types.Tag) types.InternetGateway {
	return types.InternetGateway{InternetGatewayId: ptr(id), OwnerId: ptr(ig.region.Account.ID), Tags: tags}
}

func (ig *internetGateways) find(id *string) (types.InternetGateway, error) {
	if err := internetGatewayID.check(val(id)); err != nil {
		return types.InternetGateway{}, err
	}
	gateway, ok := ig.Get(*id)
	if !ok {
		return gateway, internetGatewayID.missing(*id)
	}
	return gateway, nil
}

// attachedTo reports whether an internet gateway is attached to a VPC.
func (ig *internetGateways) attachedTo(vpc string) bool {
	return slices.ContainsFunc(ig.All(), func(g types.InternetGateway) bool { return isAttachedTo(g, vpc) })
}

func isAttachedTo(gateway types.InternetGateway, vpc string) bool {
	return len(gateway.Attachments) > 0 && *gateway.Attachments[0].VpcId == vpc
}

// gatewayAttachment returns the attachment of a gateway to a VPC (SDK,
// InternetGatewayAttachment.State: "the state is available when attached").
func gatewayAttachment(vpc string) []types.InternetGatewayAttachment {
	return []types.InternetGatewayAttachment{{VpcId: ptr(vpc), State: "available"}}
}
