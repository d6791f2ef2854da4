package simulation

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-project/slipway/internal/sdkcopy"
)

// readings remembers how the SDK read the answers of AWS in a schedule. Most descriptions have the same
// answer as an earlier one, and reading XML takes longer than anything else in a schedule.
type readings struct {
	mu    sync.Mutex
	known map[string]any
}

// install has a client of the SDK use what is known. It is an option of the SDK's configuration.
func (r *readings) install(stack *middleware.Stack) error {
	reader, has := stack.Deserialize.Get("OperationDeserializer")
	if !has || !strings.HasPrefix(stack.ID(), "Describe") {
		return nil
	}
	_, err := stack.Deserialize.Swap(reader.ID(), reading{reader, r, stack.ID()})
	return err //nolint:wrapcheck // an error of the SDK for the SDK
}

// reading replaces the SDK's reader of the answers to an operation.
type reading struct {
	middleware.DeserializeMiddleware
	readings  *readings
	operation string
}

// HandleDeserialize implements middleware.DeserializeMiddleware.
func (r reading) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	response, is := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !is || response.StatusCode != http.StatusOK {
		return r.read(ctx, in, out, metadata, err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return out, metadata, err //nolint:wrapcheck // an error of the transport for the SDK
	}
	key := r.operation + withoutRequestID(string(body))
	if known := r.readings.get(key); known != nil {
		out.Result = known
		return out, metadata, nil
	}
	out, metadata, err = r.read(ctx, in, out, metadata, nil)
	if err == nil {
		r.readings.put(key, out.Result)
	}
	return out, metadata, err
}

// read has the SDK read a response that has arrived.
func (r reading) read(ctx context.Context, in middleware.DeserializeInput, out middleware.DeserializeOutput, metadata middleware.Metadata, err error) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	arrived := middleware.DeserializeHandlerFunc(func(context.Context, middleware.DeserializeInput) (middleware.DeserializeOutput, middleware.Metadata, error) {
		return out, metadata, err
	})
	return r.DeserializeMiddleware.HandleDeserialize(ctx, in, arrived) //nolint:wrapcheck // the SDK's own
}

// get returns a copy of the result of an answer, nil if the answer has not been read.
func (r *readings) get(key string) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known[key]
	if known == nil {
		return nil
	}
	return sdkcopy.Deep(known)
}

func (r *readings) put(key string, read any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string]any{}
	}
	r.known[key] = sdkcopy.Deep(read)
}

// withoutRequestID returns an answer without the number of its request, which is different each time.
func withoutRequestID(body string) string {
	for _, name := range []string{"<requestId>", "<RequestId>"} {
		if start := strings.Index(body, name); start >= 0 {
			if length := strings.IndexByte(body[start+len(name):], '<'); length >= 0 {
				return body[:start] + body[start+len(name)+length:]
			}
		}
	}
	return body
}
