package templates

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/apserver/ap/core/process"
)

// MapStylePath is where the style sheet of process maps is served.
const MapStylePath = "/static/map.css"

// mapStyleURL is its address, which changes with its content.
var mapStyleURL = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(process.MapCSS()))
	return MapStylePath + "?v=" + hex.EncodeToString(sum[:6])
})
