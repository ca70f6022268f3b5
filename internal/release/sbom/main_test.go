package main

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

// TestWrite describes this test's own binary.
func TestWrite(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sbom.json")
	if err := write(binary, path); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if got := bom.Metadata.Component; got.Name != "example.com/ftpfetch" || len((*got.Hashes)[0].Value) != 64 {
		t.Errorf("it describes %+v", got)
	}
	if bom.SerialNumber != "" || bom.Metadata.Timestamp != "" {
		t.Errorf("not reproducible: %q %q", bom.SerialNumber, bom.Metadata.Timestamp)
	}
	got := map[string]bool{}
	for _, part := range *bom.Components {
		got[part.PackageURL] = true
	}
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if url := "pkg:golang/" + module.Path + "@" + module.Version; !got[url] {
			t.Errorf("%s is missing", url)
		}
	}
	if !got["pkg:golang/stdlib@"+strings.TrimPrefix(runtime.Version(), "go")] || len(got) != len(info.Deps)+1 {
		t.Errorf("it lists %d modules, not %d and the standard library", len(got), len(info.Deps))
	}
}

func TestWriteNotGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sbom.json")
	if err := write("main_test.go", path); err == nil || !strings.Contains(err.Error(), "main_test.go") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("it wrote a file (%v)", err)
	}
}
