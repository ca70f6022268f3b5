//go:build roots

package main

// A container image from scratch has no certificate authorities. The build for it
// brings Mozilla's; they count only where the system has none.
import _ "golang.org/x/crypto/x509roots/fallback"
