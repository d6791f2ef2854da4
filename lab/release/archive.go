package release

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"
)

// archived is a file of an archive.
type archived struct {
	name    string
	mode    int64
	content []byte
}

// writeArchive writes a compressed tar archive. It records no times and no users, so that the same
// files make the same archive.
func writeArchive(to string, files []archived) error {
	file, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644) // #nosec G302 G304 -- a file of the release, for everyone to read
	if err != nil {
		return fmt.Errorf("creating %s: %w", filepath.Base(to), err)
	}
	compressed := gzip.NewWriter(file)
	archive := tar.NewWriter(compressed)
	for _, entry := range files {
		header := &tar.Header{Name: entry.name, Mode: entry.mode, Size: int64(len(entry.content)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if err = archive.WriteHeader(header); err == nil {
			_, err = archive.Write(entry.content)
		}
		if err != nil {
			break
		}
	}
	for _, finish := range []func() error{archive.Close, compressed.Close, file.Close} {
		if problem := finish(); err == nil {
			err = problem
		}
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(to), err)
	}
	return nil
}

// readTree returns the files of a directory and of its directories, in the order of their names, with
// the names below prefix. It follows symbolic links, as Helm does.
func readTree(directory, prefix string) ([]archived, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", directory, err)
	}
	var files []archived
	for _, entry := range entries {
		at, name := filepath.Join(directory, entry.Name()), path.Join(prefix, entry.Name())
		info, err := os.Stat(at)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", at, err)
		}
		if info.IsDir() {
			below, err := readTree(at, name)
			if err != nil {
				return nil, err
			}
			files = append(files, below...)
			continue
		}
		content, err := os.ReadFile(at) // #nosec G304 -- of the sources
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", at, err)
		}
		files = append(files, archived{name: name, mode: 0o644, content: content})
	}
	return files, nil
}
