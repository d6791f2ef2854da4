package sim

import (
	"errors"
	"fmt"
)

// Error is an error as AWS answers it. Status 0 means 400.
type Error struct {
	Code    string
	Message string
	Status  int
}

// Errorf returns an error with that code, status 400 and a formatted message.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithStatus returns a copy with another HTTP status.
func (e *Error) WithStatus(status int) *Error {
	c := *e
	c.Status = status
	return &c
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// HTTPStatus returns the status to answer with.
func (e *Error) HTTPStatus() int {
	if e.Status == 0 {
		return 400
	}
	return e.Status
}

// AsError returns err as AWS would answer it. An error that is not a *Error is a defect of the
// simulator and answers InternalError with status 500.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: "InternalError", Message: err.Error(), Status: 500}
}
