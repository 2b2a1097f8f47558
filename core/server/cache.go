package server

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// What the caches may hold, in bytes of the JSON and source that their entries come from; the entries themselves take a
// few times that.
const (
	stateCacheBytes    = 16 << 20
	documentCacheBytes = 8 << 20
	// bindingCacheSize is a number of processes.
	bindingCacheSize = 1000
)

// cache keeps the most recently used values whose weights fit a budget. It is safe for concurrent use.
type cache[K comparable, V any] struct {
	mu     sync.Mutex
	lru    *simplelru.LRU[K, weighted[V]]
	weight int
	budget int
}

type weighted[V any] struct {
	value  V
	weight int
}

func newCache[K comparable, V any](budget int) *cache[K, V] {
	c := &cache[K, V]{budget: budget}
	lru, err := simplelru.NewLRU(math.MaxInt32, func(_ K, w weighted[V]) { c.weight -= w.weight })
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	c.lru = lru
	return c
}

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.lru.Get(key)
	return w.value, ok
}

func (c *cache[K, V]) put(key K, value V, weight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key) // so that the eviction callback counts the old weight out
	c.lru.Add(key, weighted[V]{value, weight})
	c.weight += weight
	for c.weight > c.budget && c.lru.Len() > 0 {
		c.lru.RemoveOldest()
	}
}

func (c *cache[K, V]) remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
}
