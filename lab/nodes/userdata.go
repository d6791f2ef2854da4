package nodes

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	kubeletapis "k8s.io/kubelet/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// userData holds what a machine understands of its user data.
type userData struct {
	// tokens are the kubeadm bootstrap tokens in it, "id.secret".
	tokens []string
	// nodeLabels are the kubelet's --node-labels.
	nodeLabels map[string]string
	// taints are the taints that the kubelet registers with.
	taints []corev1.Taint
	// maxPods is the kubelet's bound; 0 for the default of who configures it.
	maxPods int64
	// eks reports that EKS's own bootstrap configures the kubelet, which sets its defaults by the
	// instance type.
	eks bool
}

var (
	// tokenPattern finds kubeadm join tokens: in a JoinConfiguration, on a command line, in JSON.
	tokenPattern = regexp.MustCompile(`(?:token["']?\s*[:=]\s*["']?|--token[= ]["']?)([a-z0-9]{6}\.[a-z0-9]{16})\b`)
	// labelsPattern finds the kubelet's labels: as a map entry, a list of name and value, or a flag.
	labelsPattern = regexp.MustCompile(`node-labels["']?(?:\s*[:=]\s*|\s*\n\s*value:\s*)["']?([^\s"']+)`)
	// taintsPattern and maxPodsPattern find more of its flags, likewise.
	taintsPattern  = regexp.MustCompile(`register-with-taints["']?(?:\s*[:=]\s*|\s*\n\s*value:\s*)["']?([^\s"']+)`)
	maxPodsPattern = regexp.MustCompile(`(?:max-pods["']?(?:\s*[:=]\s*|\s*\n\s*value:\s*)|maxPods:\s*)["']?(\d+)`)
	// taintListPattern finds lists of taints: a NodeConfig's and a JoinConfiguration's.
	taintListPattern = regexp.MustCompile(`(?:registerWithTaints|taints):[ \t]*\n((?:[ \t]+(?:- )?[ \t]*(?:key|value|effect):.*\n?|[ \t]*- (?:key|value|effect):.*\n?)+)`)
	// eksPattern finds what EKS's images are configured by: nodeadm, the script of Amazon Linux 2,
	// and Bottlerocket's settings.
	eksPattern = regexp.MustCompile(`node\.eks\.aws/|/etc/eks/bootstrap\.sh|\[settings\.kubernetes`)
)

// maxInflated bounds what a machine unpacks; user data itself is limited to 16 KiB.
const maxInflated = 4 << 20

// readUserData unpacks user data as cloud-init and Ignition do. The error says why a machine could
// not use it.
func readUserData(raw []byte) (userData, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return userData{}, errNoUserData
	}
	text, err := inflate(raw)
	if err != nil {
		return userData{}, fmt.Errorf("its user data is damaged: %w", err)
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		if text, err = ignitionFiles(trimmed); err != nil {
			return userData{}, fmt.Errorf("its user data is not a valid Ignition configuration: %w", err)
		}
	}
	data := userData{nodeLabels: map[string]string{}, eks: eksPattern.Match(text)}
	for _, match := range tokenPattern.FindAllSubmatch(text, -1) {
		data.tokens = append(data.tokens, string(match[1]))
	}
	for _, match := range labelsPattern.FindAllSubmatch(text, -1) {
		for pair := range strings.SplitSeq(string(match[1]), ",") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				data.nodeLabels[key] = value
			}
		}
	}
	if match := maxPodsPattern.FindSubmatch(text); match != nil {
		if data.maxPods, err = strconv.ParseInt(string(match[1]), 10, 32); err != nil {
			return userData{}, fmt.Errorf("its user data bounds its pods by %s: %w", match[1], err)
		}
	}
	if data.taints, err = readTaints(text); err != nil {
		return userData{}, err
	}
	return data, checkLabels(data.nodeLabels)
}

// readTaints reads flags (key=value:effect, or key:effect) and lists.
func readTaints(text []byte) ([]corev1.Taint, error) {
	var taints []corev1.Taint
	for _, match := range taintsPattern.FindAllSubmatch(text, -1) {
		for flag := range strings.SplitSeq(string(match[1]), ",") {
			pair, effect, ok := strings.Cut(flag, ":")
			if !ok {
				return nil, fmt.Errorf("its kubelet does not understand the taint %q", flag)
			}
			key, value, _ := strings.Cut(pair, "=")
			taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
	}
	for _, match := range taintListPattern.FindAllSubmatch(text, -1) {
		var listed []corev1.Taint
		if err := yaml.Unmarshal(match[1], &listed); err != nil {
			return nil, fmt.Errorf("its list of taints is damaged: %w", err)
		}
		taints = append(taints, listed...)
	}
	return taints, nil
}

// checkLabels refuses what a kubelet does not start with: labels of Kubernetes that are not for it
// to set (kubelet: --node-labels).
func checkLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if domain, _, namespaced := strings.Cut(key, "/"); namespaced && isKubernetes(domain) && !kubeletapis.IsKubeletLabel(key) {
			return fmt.Errorf("its kubelet does not start: unknown 'kubernetes.io' or 'k8s.io' label specified with --node-labels: %s", key)
		}
	}
	return nil
}

func isKubernetes(domain string) bool {
	return slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(suffix string) bool {
		return domain == suffix || strings.HasSuffix(domain, "."+suffix)
	})
}

// inflate unpacks gzip; cloud-init takes both.
func inflate(raw []byte) ([]byte, error) {
	if !bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		return raw, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(reader, maxInflated))
}

// ignitionFiles returns every text in an Ignition configuration: what data URLs hold, and other
// strings as they are.
func ignitionFiles(config []byte) ([]byte, error) {
	var parsed any
	if err := json.Unmarshal(config, &parsed); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	var walk func(any) error
	walk = func(value any) error {
		switch value := value.(type) {
		case map[string]any:
			for _, child := range value {
				if err := walk(child); err != nil {
					return err
				}
			}
		case []any:
			for _, child := range value {
				if err := walk(child); err != nil {
					return err
				}
			}
		case string:
			content, err := dataURL(value)
			if err != nil {
				return err
			}
			text.WriteByte('\n')
			text.Write(content)
		}
		return nil
	}
	if err := walk(parsed); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// dataURL decodes an RFC 2397 URL, and returns anything else as it is.
func dataURL(value string) ([]byte, error) {
	rest, isData := strings.CutPrefix(value, "data:")
	if !isData {
		return []byte(value), nil
	}
	mediaType, content, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, fmt.Errorf("a data URL without a comma")
	}
	unescaped, err := url.PathUnescape(content)
	if err != nil {
		return nil, fmt.Errorf("a data URL: %w", err)
	}
	decoded := []byte(unescaped)
	if strings.HasSuffix(mediaType, ";base64") {
		if decoded, err = base64.StdEncoding.DecodeString(unescaped); err != nil {
			return nil, fmt.Errorf("a data URL: %w", err)
		}
	}
	return inflate(decoded)
}

// checkToken returns why the cluster does not accept a bootstrap token; empty if it does. The rules
// are the API server's bootstrap token authenticator's, read without its cache.
func (n *Nodes) checkToken(ctx context.Context, token string) (reason string, err error) {
	id, value, _ := strings.Cut(token, ".")
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: "kube-system", Name: bootstrapapi.BootstrapTokenSecretPrefix + id}
	if err := n.client.Get(ctx, key, &secret); apierrors.IsNotFound(err) {
		return fmt.Sprintf("its bootstrap token %s does not exist in the cluster", id), nil
	} else if err != nil {
		return "", fmt.Errorf("reading bootstrap token %s: %w", id, err)
	}
	switch {
	case secret.Type != bootstrapapi.SecretTypeBootstrapToken:
		return fmt.Sprintf("the Secret of its bootstrap token %s has another type", id), nil
	case string(secret.Data[bootstrapapi.BootstrapTokenSecretKey]) != value:
		return fmt.Sprintf("the secret part of its bootstrap token %s is wrong", id), nil
	case string(secret.Data[bootstrapapi.BootstrapTokenUsageAuthentication]) != "true":
		return fmt.Sprintf("its bootstrap token %s is not for authentication", id), nil
	}
	expiration := string(secret.Data[bootstrapapi.BootstrapTokenExpirationKey])
	if expiration == "" {
		return "", nil
	}
	expires, err := time.Parse(time.RFC3339, expiration)
	if err != nil {
		return fmt.Sprintf("the expiration %q of its bootstrap token %s is not a time", expiration, id), nil
	}
	if !time.Now().Before(expires) {
		return fmt.Sprintf("its bootstrap token %s expired at %s", id, expiration), nil
	}
	return "", nil
}
