package db

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
)

// secretBytes is the length of the secret.
const secretBytes = 32

// openSecret reads the secret. It is made with the directory, and never again: tokens and signed URLs go by it.
func (d *DB) openSecret() ([]byte, error) {
	path := d.path(secretFile)
	secret, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		exists, failed := d.exists(databaseFile)
		if failed != nil {
			return nil, fmt.Errorf("read the data directory %s: %w", d.dir, failed)
		}
		if !exists {
			return d.makeSecret()
		}
		// The secret is made before the database: another process may have made both just now.
		secret, err = os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s is missing beside the database: bring it back from a backup; if it is lost, make a new one "+
				"with `head -c 32 /dev/urandom > %s && chmod 600 %s`, and claims that agents hold now have to be made again",
				path, path, path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the secret: %w; it has to be readable by the user that runs ap", err)
	}
	if len(secret) != secretBytes {
		return nil, fmt.Errorf("%s holds %d bytes instead of %d: bring it back from a backup", path, len(secret), secretBytes)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		d.opts.Logger.Warn("the secret can be read by other users: chmod 600", "file", path)
	}
	return secret, nil
}

// makeSecret writes a new secret whole or not at all. When two processes make one, the first one's counts.
func (d *DB) makeSecret() ([]byte, error) {
	secret := make([]byte, secretBytes)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("make the secret: %w", err)
	}
	f, err := os.CreateTemp(d.dir, ".secret-*") // 0600
	if err != nil {
		return nil, fmt.Errorf("make the secret: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(secret)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, fmt.Errorf("make the secret: %w", err)
	}
	err = os.Link(f.Name(), d.path(secretFile))
	if errors.Is(err, os.ErrExist) {
		return d.openSecret()
	}
	if err == nil {
		err = syncDir(d.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("make the secret: %w", err)
	}
	return secret, nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
