// Command sbom writes the list of the modules that are in a Go binary (SBOM), as
// CycloneDX, to a file:
//
//	go run ./internal/release/sbom BINARY FILE
//
// The same binary gives the same file: no time, no random serial number.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write describes a binary in the file at path.
func write(binary, path string) error {
	bom, err := describe(binary)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return file.Close()
}

// describe lists the modules in a binary, and the Go release whose standard library
// is in it.
func describe(binary string) (*cyclonedx.BOM, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(content)
	main := component(cyclonedx.ComponentTypeApplication, &info.Main)
	main.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}}
	parts := []cyclonedx.Component{component(cyclonedx.ComponentTypeLibrary, &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")})}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		parts = append(parts, component(cyclonedx.ComponentTypeLibrary, module))
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	bom.Components = &parts
	return bom, nil
}

// component names a module by its package URL, which is what scanners look up.
func component(kind cyclonedx.ComponentType, module *debug.Module) cyclonedx.Component {
	url := "pkg:golang/" + module.Path + "@" + strings.ReplaceAll(module.Version, "+", "%2B")
	return cyclonedx.Component{BOMRef: url, Type: kind, Name: module.Path, Version: module.Version, PackageURL: url}
}
