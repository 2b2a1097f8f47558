package web

import "sync"

// roomyBytes is how much garbage at least is made between two collections.
const roomyBytes = 64 << 20

// roomy keeps the memory once it was asked for.
var roomy = sync.OnceValue(func() []byte { return make([]byte, roomyBytes) })

// RoomyHeap makes collections of a small heap rarer, for programs that serve: the MCP SDK leaves some 400 KiB of buffers
// behind with every message, so that a heap of a few MiB would be collected every dozen messages. Memory that is counted
// but never touched moves the collector's goal up by its size, and takes none of the machine's.
func RoomyHeap() { roomy() }
