// Package db keeps everything durable in one data directory: the Store of core/server on SQLite (ap.db), the uploads
// (files/) and the server's secret (secret.key).
//
// One goroutine writes. It shares a transaction, and so an fsync, between all writes that wait at that moment, and answers
// them after the commit. Readers have connections of their own and never wait for it.
// Other processes may use the same directory at the same time: writers take turns (turn.go), and the ones who watch for
// changes notice theirs.
package db
