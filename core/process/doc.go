// Package process is a PROCESS.md: parsing, rules, content hash, and the process map. It reads bytes and does no I/O.
// protocol.md section 1 is its specification.
package process
