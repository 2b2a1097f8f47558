package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"github.com/apserver/ap/core/server"
)

// Exit statuses.
const (
	exitDone    = 0
	exitRefused = 1
	exitFailed  = 2
)

// exitError ends a command with a status. Message says what is wrong and, after a semicolon, what to do; it is printed
// on stderr after "ap: ". An empty one prints nothing: what there is to say was said.
type exitError struct {
	code    int
	message string
	cause   error
}

func (e *exitError) Error() string {
	switch {
	case e.cause == nil:
		return e.message
	case e.message == "":
		return e.cause.Error()
	}
	return e.message + ": " + e.cause.Error()
}

func (e *exitError) Unwrap() error { return e.cause }

// errIssues ends a command that has already printed the issues it found.
var errIssues = &exitError{code: exitRefused}

// refused is a refusal (exit 1): the request was understood and is not allowed or not possible.
func refused(format string, args ...any) error {
	return &exitError{code: exitRefused, message: fmt.Sprintf(format, args...)}
}

// usage is wrong usage (exit 2).
func usage(format string, args ...any) error {
	return &exitError{code: exitFailed, message: fmt.Sprintf(format, args...)}
}

// failed is input or output that failed (exit 2), with its cause.
func failed(doing string, cause error) error {
	return &exitError{code: exitFailed, message: doing, cause: cause}
}

// report prints an error and returns the exit status.
func (a *app) report(err error) int {
	if err == nil {
		return exitDone
	}
	code, message := exitFailed, err.Error()
	var exit *exitError
	var refusal *server.Error
	switch {
	case errors.As(err, &exit):
		code = exit.code
	case errors.As(err, &refusal):
		// A busy or full database is no refusal of what was asked.
		if refusal.Code != "retry" {
			code = exitRefused
		}
		message = refusal.Message
		for _, issue := range refusal.Issues {
			message += "\n    " + issue
		}
	}
	if message != "" {
		fmt.Fprintf(a.err, "ap: %s\n", printable(message))
	}
	return code
}

// nearest returns the candidate that was most likely meant, or "".
func nearest(word string, candidates []string) string {
	length := utf8.RuneCountInString(word)
	best, distance := "", min(max(2, length/3)+1, length)
	for _, c := range candidates {
		d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(c))
		if d < distance {
			best, distance = c, d
		}
	}
	return best
}

// didYouMean is the end of a message that names the nearest candidate, or "".
func didYouMean(word string, candidates []string) string {
	if n := nearest(word, candidates); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// didYouMeanFlag is didYouMean for flags.
func didYouMeanFlag(word string, candidates []string) string {
	if n := nearest(word, candidates); n != "" {
		return ", did you mean --" + n + "?"
	}
	return ""
}
