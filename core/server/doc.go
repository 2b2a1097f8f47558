// Package server is the process server: the fourteen tools and what the admin does as Go methods, with identity,
// idempotency and limits. The MCP endpoint, the web pages and the command line all call it, so they all keep the same
// rules. It owns the Store interface; SQL lives behind it.
package server
