package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"github.com/apserver/ap/core/server"
)

// files is a server.Files on a folder: files/ab/abcdef….
type files struct {
	dir    string
	bucket *blob.Bucket
}

func openFiles(dir string) (*files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of files: %w", err)
	}
	b, err := fileblob.OpenBucket(dir, &fileblob.Options{DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		return nil, fmt.Errorf("open the folder of files: %w", err)
	}
	return &files{dir: dir, bucket: b}, nil
}

// fileKey is where the bytes with a hash are kept. Only a hash is ever part of a path.
func fileKey(sum string) (string, error) {
	b, err := hex.DecodeString(sum)
	if err != nil || len(b) != sha256.Size {
		return "", fmt.Errorf("%q is not a SHA-256 in hex", sum)
	}
	sum = hex.EncodeToString(b)
	return sum[:2] + "/" + sum, nil
}

// Put returns once the bytes and their name are on the disk. Bytes that are there already are checked, and written again
// if they are not what their name says.
func (f *files) Put(ctx context.Context, sum string, content []byte) error {
	key, err := fileKey(sum)
	if err != nil {
		return err
	}
	if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != filepath.Base(key) {
		return fmt.Errorf("store file %s: the content's hash is %x", sum, got)
	}
	if !f.whole(ctx, key, content) {
		if err := f.put(ctx, key, content); err != nil {
			return fmt.Errorf("store file %s: %w", sum, classifyIO(err))
		}
	}
	if err := errors.Join(syncDir(filepath.Join(f.dir, filepath.Dir(key))), syncDir(f.dir)); err != nil {
		return fmt.Errorf("store file %s: %w", sum, classifyIO(err))
	}
	return nil
}

// put writes through a temporary file that takes the name once its bytes are on the disk.
func (f *files) put(ctx context.Context, key string, content []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File
	w, err := f.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: "application/octet-stream",
		BeforeWrite: func(as func(any) bool) error {
			if !as(&file) {
				return errors.New("the file can't be synced")
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		cancel() // so that Close drops the file instead of giving it the name
	}
	return errors.Join(err, w.Close())
}

func (f *files) whole(ctx context.Context, key string, content []byte) bool {
	r, err := f.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return false
	}
	defer r.Close()
	if r.Size() != int64(len(content)) {
		return false
	}
	stored, err := io.ReadAll(r)
	return err == nil && bytes.Equal(stored, content)
}

// Open implements server.Files.
func (f *files) Open(ctx context.Context, sum string) (io.ReadCloser, error) {
	key, err := fileKey(sum)
	if err != nil {
		return nil, fmt.Errorf("open file: %w: %w", server.ErrNotFound, err)
	}
	r, err := f.bucket.NewReader(ctx, key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, fmt.Errorf("file %s: %w", sum, server.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open file %s: %w", sum, err)
	}
	return r, nil
}
