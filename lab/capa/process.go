package capa

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientconfig "sigs.k8s.io/controller-runtime/pkg/client/config"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// passInterval is the time between two passes over all pools.
const passInterval = 300 * time.Millisecond

// Process stands for CAPA's manager as a process. It is started with the arguments of the manager's
// Deployment, and finds the management cluster and AWS by the environment.
type Process struct {
	// Pools is true if the feature gate MachinePool is on.
	Pools bool
	// Certificates is the directory of the webhooks' certificate, and Port their port.
	Certificates string
	Port         int
	// Log receives what went wrong.
	Log io.Writer

	client client.Client
	failed map[client.ObjectKey]string
}

// Run runs the process until the context is done.
func Run(ctx context.Context, arguments []string, log io.Writer) error {
	p := Process{Log: log, failed: map[client.ObjectKey]string{}}
	set, gates := pflag.NewFlagSet("capa", pflag.ContinueOnError), ""
	set.ParseErrorsAllowlist.UnknownFlags = true
	set.Func("feature-gates", "", func(value string) error { gates += "," + value; return nil })
	set.StringVar(&p.Certificates, "webhook-cert-dir", "", "")
	set.IntVar(&p.Port, "webhook-port", 0, "")
	if err := set.Parse(arguments); err != nil {
		return err
	}
	for _, gate := range strings.Split(gates, ",") { // the last one counts
		if name, value, _ := strings.Cut(gate, "="); name == "MachinePool" {
			p.Pools = value == "true"
		}
	}
	return p.run(ctx)
}

func (p *Process) run(ctx context.Context) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	cluster, err := clientconfig.GetConfig()
	if err != nil {
		return err
	}
	if p.client, err = client.New(cluster, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	served := make(chan error, 1)
	server := &http.Server{Addr: fmt.Sprintf("127.0.0.1:%d", p.Port), Handler: http.HandlerFunc(p.admit), ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	go func() {
		served <- server.ListenAndServeTLS(filepath.Join(p.Certificates, "tls.crt"), filepath.Join(p.Certificates, "tls.key"))
	}()
	ticker := time.NewTicker(passInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return server.Close()
		case err := <-served:
			return err
		case <-ticker.C:
			if p.Pools {
				p.pass(ctx)
			}
		}
	}
}

// pass reconciles every AWSMachinePool whose cluster is not paused.
func (p *Process) pass(ctx context.Context) {
	pools := &infrav1.AWSMachinePoolList{}
	if err := p.client.List(ctx, pools); err != nil {
		fmt.Fprintf(p.Log, "listing pools: %v\n", err)
		return
	}
	for i := range pools.Items {
		key := client.ObjectKeyFromObject(&pools.Items[i])
		text := ""
		if err := p.reconcile(ctx, &pools.Items[i]); err != nil {
			text = err.Error()
		}
		if text != "" && text != p.failed[key] {
			fmt.Fprintf(p.Log, "reconciling %s: %s\n", key, text)
		}
		p.failed[key] = text
	}
}

func (p *Process) reconcile(ctx context.Context, pool *infrav1.AWSMachinePool) error {
	cluster := &clusterv1.Cluster{}
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: pool.Namespace, Name: pool.Labels[clusterv1.ClusterNameLabel]}, cluster); err != nil {
		return err
	}
	if _, paused := pool.Annotations[clusterv1.PausedAnnotation]; paused || ptr.Deref(cluster.Spec.Paused, false) {
		return nil
	}
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	return Provider{Client: p.client, AWS: aws, Key: client.ObjectKeyFromObject(pool)}.Reconcile(ctx)
}

// admit allows what it is asked about. Without the feature gate, the webhooks for pools are not served.
func (p *Process) admit(w http.ResponseWriter, r *http.Request) {
	review := admissionv1.AdmissionReview{}
	err := json.NewDecoder(r.Body).Decode(&review)
	switch {
	case !p.Pools && strings.HasSuffix(r.URL.Path, "machinepool"):
		http.NotFound(w, r)
		return
	case err == nil && review.Request == nil:
		err = errors.New("there is no request")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	if err := json.NewEncoder(w).Encode(review); err != nil {
		fmt.Fprintf(p.Log, "answering the API server: %v\n", err)
	}
}
