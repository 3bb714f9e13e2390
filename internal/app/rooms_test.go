package app_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// roomImports returns the rooms, the folders of internal, that each room imports, with a file that does.
func roomImports(t *testing.T) map[string]map[string]string {
	t.Helper()
	rooms := map[string]map[string]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == "testdata":
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		room := strings.Split(filepath.ToSlash(path), "/")[1]
		if rooms[room] == nil {
			rooms[room] = map[string]string{}
		}
		for _, i := range file.Imports {
			imported, _ := strconv.Unquote(i.Path.Value)
			if below, ours := strings.CutPrefix(imported, "campaign-dispatch/internal/"); ours {
				other, _, _ := strings.Cut(below, "/")
				rooms[room][other] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range rooms {
		delete(rooms[room], room)
	}
	return rooms
}

// dropFloors removes the rooms that import no other, those that import only these, and so on.
func dropFloors(rooms map[string]map[string]string) {
	for {
		floor := ""
		for room, imports := range rooms {
			if len(imports) == 0 {
				floor = room
			}
		}
		if floor == "" {
			return
		}
		delete(rooms, floor)
		for _, imports := range rooms {
			delete(imports, floor)
		}
	}
}

// Every arrow between rooms goes down: no room imports one that imports it, directly or through others.
func TestRooms_NoCircle(t *testing.T) {
	t.Parallel()
	rooms := roomImports(t)
	if len(rooms) < 20 || rooms["dispatch"]["reach"] == "" {
		t.Fatalf("the imports of the rooms were not read: %v", rooms)
	}
	dropFloors(rooms)
	for _, imports := range rooms {
		for other, file := range imports {
			t.Errorf("%s, of a circle of rooms, imports %s", file, other)
		}
	}
}
