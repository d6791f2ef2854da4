package iam

import (
	"crypto/sha1" //nolint:gosec // thumbprints of certificates are SHA-1
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// OpenIDConnectProvider is an issuer of identity tokens that the account's roles can trust.
type OpenIDConnectProvider struct {
	ARN         string            `json:"arn"`
	URL         string            `json:"url"` // without https://, as IAM answers it
	ClientIDs   []string          `json:"clientIDs,omitempty"`
	Thumbprints []string          `json:"thumbprints,omitempty"`
	Created     time.Time         `json:"created"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// Quotas (AWS: API_CreateOpenIDConnectProvider, ClientIDList and ThumbprintList; "IAM and AWS STS quotas",
// OpenID Connect identity providers per account).
const (
	maxClientIDs   = 100
	maxThumbprints = 5
	maxProviders   = 100
)

var thumbprints = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)

func (s *state) providerARN(url string) string { return s.arn("oidc-provider", "/", url) }

// FindOpenIDConnectProvider returns the account's provider of an issuer such as https://example.com. Only
// for code under the kernel's lock.
func FindOpenIDConnectProvider(a *sim.Account, issuer string) (OpenIDConnectProvider, bool) {
	s := of(a)
	url, found := strings.CutPrefix(issuer, "https://")
	provider, ok := s.providers.Get(s.providerARN(url))
	return provider, ok && found
}

func createOpenIDConnectProvider(c *sim.Call, in *iam.CreateOpenIDConnectProviderInput) (*iam.CreateOpenIDConnectProviderOutput, error) {
	s := of(c.Account)
	if err := checkIssuer(str(in.Url)); err != nil {
		return nil, err
	}
	if err := checkClientIDs(in.ClientIDList); err != nil {
		return nil, err
	}
	if err := checkThumbprints(in.ThumbprintList); err != nil {
		return nil, err
	}
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(*in.Url, "https://")
	p := OpenIDConnectProvider{
		ARN: s.providerARN(name), URL: name, ClientIDs: slices.Clone(in.ClientIDList), Thumbprints: slices.Clone(in.ThumbprintList), Created: c.Now, Tags: tags,
	}
	// https://github.com/unfunco/terraform-aws-oidc-github/issues/23
	if _, exists := s.providers.Get(p.ARN); exists {
		return nil, conflict("EntityAlreadyExists", "Provider with url %s already exists.", *in.Url)
	}
	if s.providers.Len() >= maxProviders {
		return nil, conflict("LimitExceeded", "Cannot exceed quota for OpenIdConnectProvidersPerAccount: %d", maxProviders)
	}
	// IAM takes the one of the issuer's certificate authority; here is no certificate
	if len(p.Thumbprints) == 0 {
		sum := sha1.Sum([]byte(p.URL)) //nolint:gosec // see above
		p.Thumbprints = []string{hex.EncodeToString(sum[:])}
	}
	s.providers.Put(p.ARN, p)
	return &iam.CreateOpenIDConnectProviderOutput{OpenIDConnectProviderArn: &p.ARN, Tags: tagList(p.Tags)}, nil
}

// checkIssuer refuses what is no issuer (AWS: API_CreateOpenIDConnectProvider, Url: it begins with
// https://, has no query parameters, and should have no port number). The words are an inference.
func checkIssuer(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Port() != "" || u.User != nil || strings.ContainsAny(text, "?# ") {
		return sim.Errorf("InvalidInput", "Invalid Open ID Connect Provider URL: %s", text)
	}
	return nil
}

func checkClientIDs(ids []string) error {
	if len(ids) > maxClientIDs {
		return conflict("LimitExceeded", "Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: %d", maxClientIDs)
	}
	return nil
}

func checkThumbprints(list []string) error {
	if len(list) > maxThumbprints {
		return sim.Errorf("InvalidInput", "Thumbprint list must contain fewer than %d entries.", maxThumbprints)
	}
	for _, text := range list {
		if !thumbprints.MatchString(text) {
			return sim.Errorf("InvalidInput", "Thumbprint %s is not a valid SHA-1 hash.", text)
		}
	}
	return nil
}

func (s *state) provider(arn *string) (OpenIDConnectProvider, error) {
	p, ok := s.providers.Get(str(arn))
	if !ok {
		return p, noSuchEntity("OpenIDConnect Provider not found for arn %s", str(arn))
	}
	return p, nil
}

func getOpenIDConnectProvider(c *sim.Call, in *iam.GetOpenIDConnectProviderInput) (*iam.GetOpenIDConnectProviderOutput, error) {
	p, ok := of(c.Account).providers.Visible(str(in.OpenIDConnectProviderArn))
	if !ok {
		return nil, noSuchEntity("OpenIDConnect Provider not found for arn %s", str(in.OpenIDConnectProviderArn))
	}
	return &iam.GetOpenIDConnectProviderOutput{
		Url: &p.URL, ClientIDList: p.ClientIDs, ThumbprintList: p.Thumbprints, CreateDate: &p.Created, Tags: tagList(p.Tags),
	}, nil
}

func listOpenIDConnectProviders(c *sim.Call, _ *iam.ListOpenIDConnectProvidersInput) (*iam.ListOpenIDConnectProvidersOutput, error) {
	list := []types.OpenIDConnectProviderListEntry{}
	for _, p := range of(c.Account).providers.VisibleAll() {
		list = append(list, types.OpenIDConnectProviderListEntry{Arn: &p.ARN})
	}
	return &iam.ListOpenIDConnectProvidersOutput{OpenIDConnectProviderList: list}, nil
}

// deleteOpenIDConnectProvider succeeds if there is no such provider (AWS: API_DeleteOpenIDConnectProvider:
// "This operation is idempotent").
func deleteOpenIDConnectProvider(c *sim.Call, in *iam.DeleteOpenIDConnectProviderInput) (*iam.DeleteOpenIDConnectProviderOutput, error) {
	of(c.Account).providers.Delete(str(in.OpenIDConnectProviderArn))
	return &iam.DeleteOpenIDConnectProviderOutput{}, nil
}

// changeProvider changes the provider with that ARN, unless change refuses.
func changeProvider[O any](c *sim.Call, arn *string, change func(*OpenIDConnectProvider) error) (*O, error) {
	s := of(c.Account)
	p, err := s.provider(arn)
	if err != nil {
		return nil, err
	}
	if err := change(&p); err != nil {
		return nil, err
	}
	s.providers.Put(p.ARN, p)
	return new(O), nil
}

func addClientID(c *sim.Call, in *iam.AddClientIDToOpenIDConnectProviderInput) (*iam.AddClientIDToOpenIDConnectProviderOutput, error) {
	return changeProvider[iam.AddClientIDToOpenIDConnectProviderOutput](c, in.OpenIDConnectProviderArn, func(p *OpenIDConnectProvider) error {
		if !slices.Contains(p.ClientIDs, str(in.ClientID)) {
			p.ClientIDs = append(slices.Clone(p.ClientIDs), str(in.ClientID))
		}
		return checkClientIDs(p.ClientIDs)
	})
}

// removeClientID succeeds if the provider does not have the client id (AWS:
// API_RemoveClientIDFromOpenIDConnectProvider: "This operation is idempotent").
func removeClientID(c *sim.Call, in *iam.RemoveClientIDFromOpenIDConnectProviderInput) (*iam.RemoveClientIDFromOpenIDConnectProviderOutput, error) {
	return changeProvider[iam.RemoveClientIDFromOpenIDConnectProviderOutput](c, in.OpenIDConnectProviderArn, func(p *OpenIDConnectProvider) error {
		p.ClientIDs = slices.DeleteFunc(slices.Clone(p.ClientIDs), func(id string) bool { return id == str(in.ClientID) })
		return nil
	})
}

func updateThumbprint(c *sim.Call, in *iam.UpdateOpenIDConnectProviderThumbprintInput) (*iam.UpdateOpenIDConnectProviderThumbprintOutput, error) {
	return changeProvider[iam.UpdateOpenIDConnectProviderThumbprintOutput](c, in.OpenIDConnectProviderArn, func(p *OpenIDConnectProvider) error {
		p.Thumbprints = slices.Clone(in.ThumbprintList)
		return checkThumbprints(p.Thumbprints)
	})
}

func tagProvider(c *sim.Call, in *iam.TagOpenIDConnectProviderInput) (*iam.TagOpenIDConnectProviderOutput, error) {
	return changeProvider[iam.TagOpenIDConnectProviderOutput](c, in.OpenIDConnectProviderArn, func(p *OpenIDConnectProvider) error {
		tags, err := tagged(p.Tags, in.Tags)
		if err != nil {
			return err
		}
		p.Tags = tags
		return nil
	})
}

func untagProvider(c *sim.Call, in *iam.UntagOpenIDConnectProviderInput) (*iam.UntagOpenIDConnectProviderOutput, error) {
	return changeProvider[iam.UntagOpenIDConnectProviderOutput](c, in.OpenIDConnectProviderArn, func(p *OpenIDConnectProvider) error {
		p.Tags = untagged(p.Tags, in.TagKeys)
		return nil
	})
}

func listProviderTags(c *sim.Call, in *iam.ListOpenIDConnectProviderTagsInput) (*iam.ListOpenIDConnectProviderTagsOutput, error) {
	p, ok := of(c.Account).providers.Visible(str(in.OpenIDConnectProviderArn))
	if !ok {
		return nil, noSuchEntity("OpenIDConnect Provider not found for arn %s", str(in.OpenIDConnectProviderArn))
	}
	page, marker, err := paginate(tagList(p.Tags), in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListOpenIDConnectProviderTagsOutput{Tags: page, Marker: marker, IsTruncated: marker != nil}, nil
}
