package controlplane

import (
	"io"
	"sync"
	_ "unsafe" // for go:linkname

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	_ "k8s.io/apiserver/pkg/storage/storagebackend/factory" // has etcdClientLogger
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
)

// logOutput is the destination of the process's klog and controller-runtime logs. They know one
// logger per process and ask not to be given another while in use, so the logger is installed once
// and its output is exchanged.
var logOutput = &switchingWriter{out: io.Discard}

// The API server's etcd clients have a logger of their own that knows only standard error, where it
// complains about every request that a stop cuts off.
//
//go:linkname etcdClientLogger k8s.io/apiserver/pkg/storage/storagebackend/factory.etcd3ClientLogger
var etcdClientLogger *zap.Logger

// newZapLogger returns a logger for etcd's server and clients.
func newZapLogger(w io.Writer) *zap.Logger {
	encoder := zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(w), zapcore.WarnLevel))
}

var installLogger = sync.OnceFunc(func() {
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(logOutput), textlogger.Verbosity(1)))
	klog.SetLogger(logger)
	etcdClientLogger = newZapLogger(logOutput)
	ctrl.SetLogger(logger)
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
})

// LogTo sends everything that the API servers and controllers of this process
// log to w; nil discards it.
func LogTo(w io.Writer) {
	if w == nil {
		w = io.Discard
	}
	logOutput.set(w)
	installLogger()
}

type switchingWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (s *switchingWriter) set(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = w
}

// Write implements io.Writer.
func (s *switchingWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}
