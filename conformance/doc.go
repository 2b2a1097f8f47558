// Package conformance tests any process server for Agent Process from outside: over MCP, with the tokens it is given,
// knowing nothing but the protocol. It imports nothing of this project, so that it can't share its mistakes.
package conformance
