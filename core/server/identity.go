package server

import (
	"slices"
	"strings"
)

// Identity is who calls.
type Identity struct {
	// Kind decides what the caller may do at all.
	Kind Kind
	// Name is the agent's name, or the person's e-mail in lower case; empty for the admin.
	Name string
	// Groups are the groups a person is in: those of the sign-in and those of `ap group add`.
	Groups []string
	// Processes limits an agent to these processes; nil is no limit.
	Processes []string
}

// Kind is what sort of caller an identity is.
type Kind int

const (
	// Nobody may do nothing.
	Nobody Kind = iota
	// Agent is whatever authenticates with a bearer token: never a person (protocol.md 4).
	Agent
	// Person is a human whose sign-in the server has seen.
	Person
	// Admin is whoever runs `ap` on the data directory; it acts as "server", never as a person.
	Admin
)

// By is the caller as run data records it: an e-mail, "agent:NAME" or "server".
func (id Identity) By() string {
	switch id.Kind {
	case Agent:
		return "agent:" + id.Name
	case Person:
		return id.Name
	default:
		return "server"
	}
}

// In says whether a person is in the group.
func (id Identity) In(group string) bool {
	return id.Kind == Person && slices.Contains(id.Groups, group)
}

// MayWork says whether an agent is open to the process.
func (id Identity) MayWork(process string) bool {
	return id.Processes == nil || slices.Contains(id.Processes, process)
}

// NormalEmail is the form in which e-mail addresses are kept and compared.
func NormalEmail(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
