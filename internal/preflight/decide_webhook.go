package preflight

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
)

// expiresSoon is the time before the end of a certificate from which its renewal is overdue, for
// certificates of usualLifetime and more. It is proportionally shorter for others. cert-manager and the
// manager renew when a third of the lifetime is left.
const (
	expiresSoon   = 7 * 24 * time.Hour
	usualLifetime = 90 * 24 * time.Hour
)

// overdue returns the time before the end of a certificate from which its renewal is overdue.
func overdue(c *x509.Certificate) time.Duration {
	lifetime := min(c.NotAfter.Sub(c.NotBefore), usualLifetime)
	return time.Duration(float64(expiresSoon) * float64(lifetime) / float64(usualLifetime))
}

func decideWebhookCertificate(o Observed) Finding {
	if why := o.Cluster.HooksUnread; why != nil {
		return unread("Webhook configurations", why)
	}
	hooks, elsewhere := o.servedHooks()
	switch {
	case len(o.Cluster.Hooks) == 0 && !o.Cluster.Installed():
		return skipped("Slipway is not installed.")
	case len(o.Cluster.Hooks) == 0:
		return skipped("Slipway is installed without its webhook.")
	case len(hooks) == 0:
		return unnamedSecret(o, o.Cluster.Hooks)
	}
	finding := decideHooks(o, hooks)
	if elsewhere {
		finding.Message += " Webhooks of Slipway in other namespaces were not checked: name each namespace with --namespace."
	}
	return finding
}

// servedHooks returns the webhooks that a manager in the namespace serves, and whether there are others:
// releases in other namespaces have webhooks with certificates of their own.
func (o Observed) servedHooks() (here []Hook, elsewhere bool) {
	for _, hook := range o.Cluster.Hooks {
		if hook.Namespace != "" && hook.Namespace != o.Namespace {
			elsewhere = true
			continue
		}
		here = append(here, hook)
	}
	return here, elsewhere
}

// unnamedSecret returns the finding of webhooks whose certificate is not known.
func unnamedSecret(o Observed, hooks []Hook) Finding {
	if why := o.Cluster.DeploymentsUnread; why != nil {
		return unread("Deployments", why)
	}
	return Finding{
		Result:  Warning,
		Message: fmt.Sprintf("There are webhooks of Slipway, but no Deployment of Slipway in namespace %s names the Secret with their certificate.", o.Namespace),
		Nodes:   nodesOf(hooks), Remedy: "If the manager is in another namespace, name it with --namespace.",
	}
}

// chained is a serving certificate with its intermediates.
type chained struct {
	secret string
	leaf   *x509.Certificate
	more   *x509.CertPool
}

// decideHooks checks the certificate of every webhook as the API server does.
func decideHooks(o Observed, hooks []Hook) Finding {
	roots := make([]*x509.CertPool, len(hooks))
	for i, hook := range hooks {
		if len(hook.CABundle) == 0 {
			return untrusted(hooks, fmt.Sprintf("Webhook %s in %s has no CA bundle.", hook.Name, hook.Configuration))
		}
		trusted, err := cert.ParseCertsPEM(hook.CABundle)
		if err != nil {
			return untrusted(hooks, fmt.Sprintf("The CA bundle of webhook %s in %s holds no certificate.", hook.Name, hook.Configuration))
		}
		roots[i] = x509.NewCertPool()
		for _, authority := range trusted {
			roots[i].AddCert(authority)
		}
	}
	chains, finding := o.chains(hooks)
	if finding != nil {
		return *finding
	}
	for i, hook := range hooks {
		chain := chainOf(chains, hook)
		options := x509.VerifyOptions{DNSName: hook.Host, Roots: roots[i], Intermediates: chain.more, CurrentTime: o.Now}
		if _, err := chain.leaf.Verify(options); err != nil {
			return untrusted(hooks, fmt.Sprintf("The CA bundle of webhook %s in %s does not match the certificate in Secret %s: %s.", hook.Name, hook.Configuration, chain.secret, err))
		}
	}
	first := slices.MinFunc(chains, func(a, b chained) int { return a.leaf.NotAfter.Compare(b.leaf.NotAfter) })
	for _, chain := range chains {
		if o.Now.Add(overdue(chain.leaf)).After(chain.leaf.NotAfter) {
			finding := untrusted(hooks, fmt.Sprintf("The webhook's certificate in Secret %s expires at %s, and its renewal is overdue.", chain.secret, at(chain.leaf.NotAfter)))
			finding.Result = Warning
			return finding
		}
	}
	return ok("The webhook's certificate is valid until %s.", at(first.leaf.NotAfter))
}

// chains returns the serving certificates, or the finding that one of them cannot be used.
func (o Observed) chains(hooks []Hook) ([]chained, *Finding) {
	problem := func(finding Finding) ([]chained, *Finding) { return nil, &finding }
	if len(o.Cluster.Certificates) == 0 {
		return problem(unnamedSecret(o, hooks))
	}
	var chains []chained
	for _, certificate := range o.Cluster.Certificates {
		switch {
		case certificate.Unread != nil:
			return problem(unread("The Secret with the webhook's certificate", certificate.Unread))
		case certificate.Missing:
			return problem(untrusted(hooks, fmt.Sprintf("Secret %s with the webhook's certificate does not exist.", certificate.Secret)))
		}
		parsed, err := cert.ParseCertsPEM(certificate.PEM)
		if err != nil {
			return problem(untrusted(hooks, fmt.Sprintf("Secret %s has no certificate in tls.crt.", certificate.Secret)))
		}
		chain := chained{secret: certificate.Secret, leaf: parsed[0], more: x509.NewCertPool()}
		for _, intermediate := range parsed[1:] {
			chain.more.AddCert(intermediate)
		}
		switch {
		case o.Now.After(chain.leaf.NotAfter):
			return problem(untrusted(hooks, fmt.Sprintf("The webhook's certificate in Secret %s expired at %s.", chain.secret, at(chain.leaf.NotAfter))))
		case o.Now.Before(chain.leaf.NotBefore):
			return problem(untrusted(hooks, fmt.Sprintf("The webhook's certificate in Secret %s is not valid before %s.", chain.secret, at(chain.leaf.NotBefore))))
		}
		chains = append(chains, chain)
	}
	return chains, nil
}

// chainOf returns the certificate for the host of a webhook: several releases in one namespace have one
// each. If none is for the host, it returns the first, which does not match then.
func chainOf(chains []chained, hook Hook) chained {
	i := slices.IndexFunc(chains, func(c chained) bool { return c.leaf.VerifyHostname(hook.Host) == nil })
	return chains[max(i, 0)]
}

func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// untrusted returns the finding of webhooks that the API server cannot call.
func untrusted(hooks []Hook, message string) Finding {
	return Finding{
		Result: Failed, Message: message, Nodes: nodesOf(hooks),
		Remedy: "With cert-manager, check its Certificate and its cainjector (`kubectl describe certificate`). With a self-managed certificate, " +
			"check that the manager runs and leads, and read its log. It renews the certificate within a minute. " +
			"With a certificate that you provide, renew the Secret and webhook.caBundle of the chart.",
	}
}

// nodesOf describes what webhooks that cannot be called mean for nodes.
func nodesOf(hooks []Hook) string {
	if slices.ContainsFunc(hooks, func(hook Hook) bool { return !hook.Ignored }) {
		return "While the API server cannot call the webhook, it refuses edits of pools. Existing nodes keep running."
	}
	return "Pools can be edited, and nodes are not affected. While the API server cannot call the webhook, `kubectl apply` prints no warnings of Slipway."
}
