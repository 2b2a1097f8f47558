// Package static is the style sheet, the scripts and the icons of the pages, embedded. vendor/ holds what others wrote,
// with its licence, at the version that package-lock.json pins.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed ap.css ap.js icon.svg vendor/htmx.min.js vendor/htmx.LICENSE
var files embed.FS

type asset struct {
	name, url, contentType string
	plain, zipped          []byte
}

// assets are read and compressed when the first page is served: a command that serves none shouldn't wait for it.
var assets = sync.OnceValues(load)

// load reads the assets once and names each by its content, so that browsers may keep them for good.
func load() (byName, byURL map[string]*asset) {
	byName, byURL = map[string]*asset{}, map[string]*asset{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		plain, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		zipped, err := zip(plain)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(plain)
		base, ext := path.Base(name), path.Ext(name)
		a := &asset{
			name:        base,
			url:         fmt.Sprintf("/static/%s.%s%s", strings.TrimSuffix(base, ext), hex.EncodeToString(sum[:6]), ext),
			contentType: contentType(ext),
			plain:       plain,
			zipped:      zipped,
		}
		byName[base], byURL[a.url], byURL["/static/"+base] = a, a, a
		return nil
	})
	if err != nil {
		panic(err) // the files are part of the program
	}
	return byName, byURL
}

func contentType(ext string) string {
	switch ext {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return "text/plain; charset=utf-8"
	}
}

func zip(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(plain); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// URL is the address of an asset, which changes with its content.
func URL(name string) string {
	byName, _ := assets()
	if a := byName[name]; a != nil {
		return a.url
	}
	panic("static: no asset " + name)
}

// Handler serves the assets under /static/. A name with the content's hash in it may be cached for ever.
func Handler() http.Handler {
	_, byURL := assets()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := byURL[r.URL.Path]
		if a == nil {
			http.NotFound(w, r)
			return
		}
		head := w.Header()
		head.Set("Content-Type", a.contentType)
		head.Set("Vary", "Accept-Encoding")
		head.Set("Cache-Control", "public, max-age=300")
		if r.URL.Path == a.url {
			head.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		content := a.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(a.zipped) < len(a.plain) {
			head.Set("Content-Encoding", "gzip")
			content = a.zipped
		}
		http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(content))
	})
}
