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

func refuse(code Code, message string, issues ...string) *Error {
	return &Error{Code: code, Message: message, Issues: issues}
}

func runEnded(st *State) *Error {
	how := "was cancelled"
	if st.State == RunEnded {
		how = "has ended with the outcome " + st.Outcome
	}
	return refuse(Conflict, "The run "+how+": nothing can be changed in it any more.", IssueRunEnded)
}

func (f *fold) unknownStep(id string) *Error {
	return refuse(NotFound, "The process "+f.st.Process+" has no step "+quote(id)+".")
}

// quote sets off what a caller sent, at a length a message can bear.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return "“" + s + "”"
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func checkNote(name, s string) []string {
	if blank(s) {
		return []string{name + ": required"}
	}
	return nil
}
