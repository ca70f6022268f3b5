package cli

import (
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
)

// fileOptions is the values of flags that say how a file is retrieved.
type fileOptions struct {
	newer, continued, noResume bool
	retries, segments          int
	checksum                   checksum
	verify                     bool
}

// existingFlags declares the flags of what stands on the disk already.
func (o *fileOptions) existingFlags(fs group) {
	fs.BoolVarP(&o.newer, "newer", "N", false, "replace a file only by a newer one or one of another size")
	fs.BoolVarP(&o.continued, "continue", "c", false, "resume a partial FILE that something else left")
	fs.BoolVar(&o.noResume, "no-resume", false, "begin anew, whatever FILE.part holds")
}

// fileFlags declares the flags of how the octets come.
func (o *fileOptions) fileFlags(fs group) {
	fs.IntVar(&o.retries, "retries", download.DefaultRetries, "try `N` times again without progress, after a failure that may pass")
	fs.IntVarP(&o.segments, "segments", "s", 1, "bring a file over `N` connections at once, at most 64")
	fs.Var(&o.checksum, "checksum", "fail unless the file has this digest, as `ALGO:HEX` (sha512, blake2b, sha256, sha1, md5, crc32)")
	fs.BoolVar(&o.verify, "verify", false, "fail unless the file has the digest in a list beside it, or the server's")
}

// maxSegments is more connections than any server is glad of.
const maxSegments = 64

// checkFile refuses combinations that contradict each other.
func (o *fileOptions) checkFile(all *options) error {
	switch {
	case o.newer && o.continued:
		return usage("-N and -c contradict each other: leave one out")
	case o.newer && all.noClobber:
		return usage("-N and --no-clobber contradict each other: leave one out")
	case o.continued && (all.noClobber || all.overwrite):
		return usage("-c and --no-clobber or --overwrite contradict each other: leave one out")
	case o.continued && o.noResume:
		return usage("-c and --no-resume contradict each other: leave one out")
	case all.output == "-" && (o.newer || o.continued):
		return usage("-o - and -N or -c contradict each other: standard output has no file to compare with")
	case o.retries < 0:
		return usage("--retries %d: %s", o.retries, plainValues["retries"])
	case o.segments < 1 || o.segments > maxSegments:
		return usage("--segments %d: %s", o.segments, plainValues["segments"])
	case o.checksum.Algorithm != "" && len(all.urls) > 1:
		return usage("--checksum is of one file, and there are %d URLs: use --verify or several runs", len(all.urls))
	}
	return nil
}

// apply adds the flags to what a download is told.
func (o *fileOptions) apply(to *download.Options) {
	to.Newer, to.Continue, to.NoResume = o.newer, o.continued, o.noResume
	to.Segments, to.Sum, to.Verify = o.segments, digest.Sum(o.checksum), o.verify
	to.Retries = o.retries
	if o.retries == 0 {
		to.Retries = -1
	}
}

// checksum is a flag's digest.
type checksum digest.Sum

// Set reads ALGO:HEX.
func (c *checksum) Set(s string) error {
	sum, err := digest.Parse(s)
	*c = checksum(sum)
	return err
}

// String returns what Set takes.
func (c *checksum) String() string { return digest.Sum(*c).String() }

// Type is the kind of value that pflag names in its errors.
func (c *checksum) Type() string { return "digest" }
