package preflight

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
)

// expiresSoon is the time before the end of a certificate from which its renewal is overdue:
// cert-manager and the manager renew when a third of the lifetime is left.
const expiresSoon = 7 * 24 * time.Hour

func decideWebhookCertificate(o Observed) Finding {
	if why := o.Cluster.HooksUnread; why != nil {
		return unread("Webhook configurations", why)
	}
	hooks, certificate := o.Cluster.Hooks, o.Cluster.Certificate
	switch {
	case len(hooks) == 0 && !o.Cluster.Installed():
		return skipped("Slipway is not installed.")
	case len(hooks) == 0:
		return skipped("Slipway is installed without its webhook.")
	}
	roots := map[string]*x509.CertPool{}
	for _, hook := range hooks {
		if len(hook.CABundle) == 0 {
			return untrusted(hooks, fmt.Sprintf("Webhook %s in %s has no CA bundle.", hook.Name, hook.Configuration))
		}
		trusted, err := cert.ParseCertsPEM(hook.CABundle)
		if err != nil {
			return untrusted(hooks, fmt.Sprintf("The CA bundle of webhook %s in %s holds no certificate.", hook.Name, hook.Configuration))
		}
		roots[hook.Name] = x509.NewCertPool()
		for _, authority := range trusted {
			roots[hook.Name].AddCert(authority)
		}
	}
	switch {
	case certificate.Unread != nil:
		return unread("The Secret with the webhook's certificate", certificate.Unread)
	case certificate.Secret == "":
		return Finding{
			Result:  Warning,
			Message: fmt.Sprintf("The webhooks have a CA bundle, but no Deployment of Slipway in namespace %s names the Secret with their certificate.", o.Namespace),
			Nodes:   nodesOf(hooks), Remedy: "If the manager is in another namespace, name it with --namespace.",
		}
	case certificate.Missing:
		return untrusted(hooks, fmt.Sprintf("Secret %s with the webhook's certificate does not exist.", certificate.Secret))
	}
	chain, err := cert.ParseCertsPEM(certificate.PEM)
	if err != nil {
		return untrusted(hooks, fmt.Sprintf("Secret %s has no certificate in tls.crt.", certificate.Secret))
	}
	return decideChain(o, chain, roots)
}

// decideChain checks a serving certificate as the API server does, at the time of the observation.
func decideChain(o Observed, chain []*x509.Certificate, roots map[string]*x509.CertPool) Finding {
	hooks, leaf, secret := o.Cluster.Hooks, chain[0], o.Cluster.Certificate.Secret
	expiry := leaf.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case o.Now.After(leaf.NotAfter):
		return untrusted(hooks, fmt.Sprintf("The webhook's certificate in Secret %s expired at %s.", secret, expiry))
	case o.Now.Before(leaf.NotBefore):
		return untrusted(hooks, fmt.Sprintf("The webhook's certificate in Secret %s is not valid before %s.", secret, leaf.NotBefore.UTC().Format(time.RFC3339)))
	}
	intermediates := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	for _, hook := range hooks {
		options := x509.VerifyOptions{DNSName: hook.Host, Roots: roots[hook.Name], Intermediates: intermediates, CurrentTime: o.Now}
		if _, err := leaf.Verify(options); err != nil {
			return untrusted(hooks, fmt.Sprintf("The CA bundle of webhook %s in %s does not match the certificate in Secret %s: %s.", hook.Name, hook.Configuration, secret, err))
		}
	}
	if o.Now.Add(expiresSoon).After(leaf.NotAfter) {
		finding := untrusted(hooks, fmt.Sprintf("The webhook's certificate in Secret %s expires at %s, and its renewal is overdue.", secret, expiry))
		finding.Result = Warning
		return finding
	}
	return ok("The webhook's certificate is valid until %s.", expiry)
}

// untrusted returns the finding of webhooks that the API server cannot call.
func untrusted(hooks []Hook, message string) Finding {
	return Finding{
		Result: Failed, Message: message, Nodes: nodesOf(hooks),
		Remedy: "With cert-manager, check its Certificate and its cainjector (`kubectl describe certificate`). With a self-managed certificate, " +
			"check that the manager runs and leads, and read its log. It renews the certificate within a minute.",
	}
}

// nodesOf describes what webhooks that cannot be called mean for nodes.
func nodesOf(hooks []Hook) string {
	if slices.ContainsFunc(hooks, func(hook Hook) bool { return !hook.Ignored }) {
		return "While the API server cannot call the webhook, it refuses edits of pools. Existing nodes keep running."
	}
	return "Pools can be edited, and nodes are not affected. While the API server cannot call the webhook, `kubectl apply` prints no warnings of Slipway."
}
