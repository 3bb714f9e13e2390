package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const dynamo = root + "/internal/aws/dynamo/"

// The diagram of rows in architecture.md, and the table in doc.go, name every kind of key that
// package dynamo builds.
func TestRows_EveryKey(t *testing.T) {
	t.Parallel()
	_, diagram, _ := strings.Cut(read(t, "architecture.md"), "\n## Tables and rows\n")
	diagram, _, _ = strings.Cut(diagram, "\n```\n")
	drawn, listed, keys := capitals(diagram), capitals(read(t, dynamo+"doc.go")), keysOf(t)
	if len(keys) < 40 {
		t.Fatalf("found %d kinds of keys, want 40 or more", len(keys))
	}
	for key, file := range keys {
		if !drawn[key] || !listed[key] {
			t.Errorf("%s of %s: drawn in architecture.md %t, listed in doc.go %t", key, file, drawn[key], listed[key])
		}
	}
}

// capitals returns the words of capital letters in a text.
func capitals(text string) map[string]bool {
	words := map[string]bool{}
	for _, word := range regexp.MustCompile(`[A-Z]+`).FindAllString(text, -1) {
		words[word] = true
	}
	return words
}

// keysOf returns the first words of the keys in package dynamo, with a file of each.
func keysOf(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(dynamo + "*.go")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, match := range key.FindAllStringSubmatch(read(t, file), -1) {
			if word := match[1] + match[2]; !notRows[word] {
				keys[word] = filepath.Base(file)
			}
		}
	}
	return keys
}

// key matches the beginning of a key with a #, and a whole sort key or its constant.
var key = regexp.MustCompile(`"([A-Z]+)#|(?:"sk": text\(|SK += |PK = )"([A-Z]+)"`)

// notRows are partition keys of the index due.
var notRows = map[string]bool{"PARKED": true, "DEAD": true}
