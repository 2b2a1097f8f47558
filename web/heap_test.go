package web

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// The collector's goal moves up, and stays up after a collection.
func TestRoomyHeap(t *testing.T) {
	RoomyHeap()
	RoomyHeap()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	require.Greater(t, m.NextGC, uint64(2*roomyBytes))
	require.Less(t, m.NextGC, uint64(6*roomyBytes), "once, however often it is asked for")
}
