// Package run is one run of a process as a pure state machine: events, deciding, applying, viewing. It has no clock,
// no I/O and no randomness: time, bindings and files come in through Env. protocol.md sections 2-7 and 1.5 are its
// specification.
package run
