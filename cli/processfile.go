package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/apserver/ap/core/process"
)

// processFileName is what a process's file is called in its folder.
const processFileName = "PROCESS.md"

// processFile is a PROCESS.md as it was read.
type processFile struct {
	// path is as it was written, with the file's name when a folder was named.
	path   string
	source []byte
	// folder is the folder's name as written in the path, which the process's name has to equal; empty where the path
	// names none, and for a file of another name.
	folder string
}

var errNoProcessFile = errors.New("no file in it is called " + processFileName)

// openProcessFile reads a PROCESS.md, or the one in a folder: no more of it than shows that it is too large.
func openProcessFile(path string) (processFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return processFile{}, err
	}
	if info.IsDir() {
		path = filepath.Join(path, processFileName)
	}
	f, err := os.Open(path)
	if err != nil {
		if info.IsDir() && errors.Is(err, fs.ErrNotExist) {
			return processFile{}, &fs.PathError{Op: "open", Path: filepath.Dir(path), Err: errNoProcessFile}
		}
		return processFile{}, err
	}
	defer f.Close()
	source, err := io.ReadAll(io.LimitReader(f, process.MaxBytes+1))
	if err != nil {
		return processFile{}, err
	}
	return processFile{path: path, source: source, folder: folderOf(path)}, nil
}

func folderOf(path string) string {
	dir, file := filepath.Split(path)
	if file != processFileName || dir == "" {
		return ""
	}
	switch name := filepath.Base(dir); name {
	case ".", "..", string(filepath.Separator):
		return ""
	default:
		return name
	}
}

// readProcess reads and checks the PROCESS.md that a command names. Its issues are printed; an error among them refuses
// it.
func (a *app) readProcess(path string) ([]byte, *process.Document, error) {
	file, doc, issues, err := a.parseArg(path)
	if err != nil {
		return nil, nil, usage("%v; name a PROCESS.md or the folder it is in", err)
	}
	if doc == nil || !a.quiet {
		if err := printIssues(a.err, []linted{{path: file.path, source: file.source, issues: issues}}); err != nil {
			return nil, nil, failed("printing the issues", err)
		}
	}
	if doc == nil {
		return nil, nil, refused("%s has mistakes; mend them and import it again", file.path)
	}
	return file.source, doc, nil
}
