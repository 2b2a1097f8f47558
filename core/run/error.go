package run

import "strings"

// Code is one of the protocol's seven error codes (protocol.md 8).
type Code string

const (
	Invalid     Code = "invalid"
	NotAccepted Code = "not_accepted"
	Stale       Code = "stale"
	Conflict    Code = "conflict"
	Forbidden   Code = "forbidden"
	NotFound    Code = "not_found"
	Retry       Code = "retry"
)

// Issues with a fixed text (protocol.md 3, 4, 6, 7).
const (
	IssueRunEnded        = "run_ended"
	IssueAlreadyDecided  = "already_decided"
	IssueClaimedByOther  = "claimed_by_other"
	IssueClaimedByYou    = "claimed_by_you"
	IssueNotReady        = "not_ready"
	IssueRequestIDReused = "request_id_reused"
)

// Error is a refusal in the protocol's terms: it is shown to the caller as it is. Any other error is internal: logged,
// never shown.
type Error struct {
	Code    Code     `json:"code"`
	Message string   `json:"message"`
	Issues  []string `json:"issues,omitempty"`
}

// Error implements error.
func (e *Error) Error() string {
	if len(e.Issues) == 0 {
		return e.Message
	}
	return e.Message + ": " + strings.Join(e.Issues, "; ")
}
