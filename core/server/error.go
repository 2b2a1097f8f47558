package server

import "github.com/apserver/ap/core/run"

// Error is a refusal in the protocol's terms (see run.Error). Anything else a method returns is internal: log it, never
// show it.
type Error = run.Error
