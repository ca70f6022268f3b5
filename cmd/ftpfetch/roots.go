//go:build roots

package main

// A container image built from scratch has no certificate authorities. Its build includes Mozilla's, which are used
// only where the system has none.
import _ "golang.org/x/crypto/x509roots/fallback"
