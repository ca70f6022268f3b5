package digest

import "io"

// Sidecar is a file on the server that may hold the digest of another one in
// the same directory.
type Sidecar struct {
	File      string    // its name, in the directory of the file to verify
	Algorithm Algorithm // of its digests; "" if its lines tell
	Whole     bool      // it lists the whole directory, so one retrieval serves many files
}

// Find reads the digest of the file name from the contents of the sidecar; see
// the function [Find]. If the sidecar lists the whole directory, a digest without
// a name does not count.
func (s Sidecar) Find(r io.Reader, name string) (Sum, error) {
	in := search{name: name, algorithm: s.Algorithm, named: s.Whole}
	return in.read(r, MaxList)
}

// Sidecars returns the sidecars to look for beside the file name, best first:
// stronger algorithms before weaker ones, and for each algorithm the file's own
// list (NAME.sha256) before the directory's (SHA256SUMS), which is larger. NCBI
// uses md5checksums.txt, others md5sums.txt; the lines of CHECKSUMS name their
// algorithm. Sidecars omits the file itself.
//
// Most of them will not exist. A caller that has the directory's listing saves
// the round trips.
func Sidecars(name string) []Sidecar {
	all := []Sidecar{
		{File: name + ".sha512", Algorithm: SHA512},
		{File: "SHA512SUMS", Algorithm: SHA512, Whole: true},
		{File: name + ".sha256", Algorithm: SHA256},
		{File: "SHA256SUMS", Algorithm: SHA256, Whole: true},
		{File: "CHECKSUMS", Whole: true},
		{File: name + ".sha1", Algorithm: SHA1},
		{File: "SHA1SUMS", Algorithm: SHA1, Whole: true},
		{File: name + ".md5", Algorithm: MD5},
		{File: "MD5SUMS", Algorithm: MD5, Whole: true},
		{File: "md5checksums.txt", Algorithm: MD5, Whole: true},
		{File: "md5sums.txt", Algorithm: MD5, Whole: true},
	}
	other := all[:0]
	for _, s := range all {
		if s.File != name {
			other = append(other, s)
		}
	}
	return other
}
