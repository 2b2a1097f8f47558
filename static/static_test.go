package static

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func get(path, encoding string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestAnAssetIsServedForGoodUnderItsContentsName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ap.css", "ap.js", "htmx.min.js", "icon.svg"} {
		require.Regexp(t, `^/static/[a-z.]+\.[0-9a-f]{12}\.(css|js|svg)$`, URL(name))
		r := get(URL(name), "")
		require.Equal(t, http.StatusOK, r.StatusCode)
		require.Contains(t, r.Header.Get("Cache-Control"), "immutable")
		plain, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		r = get("/static/"+name, "gzip, br")
		require.NotContains(t, r.Header.Get("Cache-Control"), "immutable")
		require.Equal(t, "gzip", r.Header.Get("Content-Encoding"))
		zipped, err := gzip.NewReader(r.Body)
		require.NoError(t, err)
		unzipped, err := io.ReadAll(zipped)
		require.NoError(t, err)
		require.Equal(t, plain, unzipped)
	}
	require.Equal(t, "text/css; charset=utf-8", get(URL("ap.css"), "").Header.Get("Content-Type"))
	require.Equal(t, "text/javascript; charset=utf-8", get(URL("ap.js"), "").Header.Get("Content-Type"))
}

func TestOnlyAssetsAreServed(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/static/", "/static/static.go", "/static/../static.go", "/static/vendor/htmx.min.js", "/static/ap.000000000000.css"} {
		require.Equal(t, http.StatusNotFound, get(path, "").StatusCode, path)
	}
	require.Panics(t, func() { URL("missing.css") })
}

func TestNothingAsksAnotherHost(t *testing.T) {
	t.Parallel()
	outside := regexp.MustCompile(`(?i)@import|url\(\s*["']?(https?:)?//|["'](https?:)?//[a-z]`)
	byName, _ := assets()
	for _, name := range []string{"ap.css", "ap.js"} {
		require.Empty(t, outside.FindString(string(byName[name].plain)), name)
	}
}
