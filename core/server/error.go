package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apserver/ap/core/run"
)

// Error is a refusal in the protocol's terms (see run.Error). Anything else a method returns is internal: log it, never
// show it.
type Error = run.Error

// errNobody refuses a caller without an identity.
var errNobody = refusal(run.Forbidden, "Sign in first")

// busy is what a caller hears while the database can't take its write, or when something unexpected went wrong: the
// call may be sent again, and with the same requestId it is safe to.
var busy = refusal(run.Retry, "The server can't do this right now; send the same call again, with the same requestId")

func forbidden(format string, args ...any) error {
	return refusal(run.Forbidden, fmt.Sprintf(format, args...))
}

func notFound(format string, args ...any) error {
	return refusal(run.NotFound, fmt.Sprintf(format, args...))
}

func invalid(message string, issues ...string) error {
	return refusal(run.Invalid, message, issues...)
}

func conflict(message string, issues ...string) error {
	return refusal(run.Conflict, message, issues...)
}

// refusal is an Error whose message is a sentence.
func refusal(code run.Code, message string, issues ...string) *Error {
	if !strings.HasSuffix(message, "?") {
		message += "."
	}
	return &Error{Code: code, Message: message, Issues: issues}
}

func unknownRun(id string) error { return notFound("There is no run %q", shown(id)) }

// storeError turns what a store returns into what a method returns.
func storeError(err error) error {
	if errors.Is(err, ErrBusy) {
		return busy
	}
	return err
}
