package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// extensions lists the extensions of the files that are read from a directory, as in kubectl.
var extensions = []string{".json", ".yaml", ".yml"}

// readObjects reads the objects of a file, or of the files in a directory.
func readObjects(in io.Reader, name string) ([]*unstructured.Unstructured, error) {
	if name == "-" {
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return decodeObjects(bytes.NewReader(data), "standard input")
	}
	if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") {
		return nil, fmt.Errorf("%s is an address, and only files are read: download it, or pipe it into the command with -f -", name)
	}
	files := []string{name}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		if files, err = filesIn(name); err != nil {
			return nil, err
		}
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // the user names the file
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, withoutPath(err))
		}
		objects, err := decodeObjects(bytes.NewReader(data), file)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// filesIn returns the files of a directory, without directories below it.
func filesIn(directory string) ([]string, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", directory, withoutPath(err))
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains(extensions, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(directory, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("directory %s has no file with the extension .json, .yaml, or .yml", directory)
	}
	return files, nil
}

// withoutPath returns why a file cannot be read, without its name.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// decodeObjects decodes the objects of a file of a name. Lists are taken apart.
func decodeObjects(in io.Reader, name string) ([]*unstructured.Unstructured, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(in, 4096)
	var objects []*unstructured.Unstructured
	for {
		var document any
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", name, err)
		case document == nil:
			continue
		}
		found, err := objectsOf(document)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		objects = append(objects, found...)
	}
}

// objectsOf returns the objects of a document: one, or the items of a list.
func objectsOf(document any) ([]*unstructured.Unstructured, error) {
	fields, is := document.(map[string]any)
	if !is {
		return nil, errors.New("a document is no object with apiVersion and kind")
	}
	object := &unstructured.Unstructured{Object: fields}
	switch {
	case len(fields) == 0:
		return nil, nil
	case object.GetKind() == "":
		return nil, fmt.Errorf("object %q has no kind", object.GetName())
	case !object.IsList():
		return []*unstructured.Unstructured{object}, nil
	}
	var objects []*unstructured.Unstructured
	err := object.EachListItem(func(item runtime.Object) error {
		one := item.(*unstructured.Unstructured)
		if one.GetKind() == "" {
			return fmt.Errorf("object %q of a list has no kind", one.GetName())
		}
		objects = append(objects, one)
		return nil
	})
	return objects, err
}
