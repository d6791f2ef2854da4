package aws

import (
	"context"
	"fmt"
	"io"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// SendBodies keeps a call from failing because its answer comes early. It is an entry of an SDK
// configuration's APIOptions.
//
// The SDK closes a request's body when the answer begins. net/http may not have checked yet that
// the body has the right length, which on a busy machine happens after the answer. For a body with
// WriteTo, as bytes.Reader is, the SDK's closed body answers io.EOF as an error, net/http closes
// the connection over it, and reading the answer fails with "use of closed network connection"
// (aws-sdk-go-v2 issues 1825 and 2935). Of a body without WriteTo io.EOF is the end and no error. A
// stack that only signs a request, for another process to send, is left as it is.
func SendBodies(stack *middleware.Stack) error {
	if _, sends := stack.Finalize.Get("Retry"); !sends {
		return nil
	}
	// First of the last step, when the request is complete and signed: the SDK reads a body with
	// WriteTo for its checksum without a buffer.
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("SlipwaySendBodies", sendBody), middleware.Before)
}

func sendBody(
	ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
) (middleware.DeserializeOutput, middleware.Metadata, error) {
	request, isHTTP := in.Request.(*smithyhttp.Request)
	if !isHTTP {
		return next.HandleDeserialize(ctx, in)
	}
	stream := request.GetStream()
	seeker, seekable := stream.(io.ReadSeeker)
	if _, writes := stream.(io.WriterTo); !writes || !seekable {
		return next.HandleDeserialize(ctx, in)
	}
	length := request.ContentLength
	plain, err := request.SetStream(struct{ io.ReadSeeker }{seeker})
	if err != nil {
		return middleware.DeserializeOutput{}, middleware.Metadata{}, fmt.Errorf("preparing the body of a request: %w", err)
	}
	plain.ContentLength = length
	in.Request = plain
	return next.HandleDeserialize(ctx, in)
}
