#!/usr/bin/env bash
# A Go program lists a directory of 1,000 files: by its path, and through os.Root, which keeps a program inside a directory.
#
# Guess: both cost the same. The system gives the names with their types, and only DirEntry.Info asks for more, as
# io/fs says: "if the file has been removed or renamed since the directory read, Info may return an error".
# Seen: with Go 1.25.3, so it is. With Go 1.26.8 each name that is read through os.Root costs a call of its own (fstatat),
# whether or not anybody asks for Info, also in fs.Glob and fs.WalkDir; and Info of a file that is gone has the values of
# before, without an error.
# Why it matters: a program that looks for a few names in a large directory through os.Root waits for every file. One that
# did so again and again spent a seventh of its processor time there, with 5,000 files. Readdirnames does not look.
# And who asks Info in order to find out whether a file is still there learns nothing.
source "$(dirname "$0")/kit/kit.bash"
debian strace=6.1-0.1
mkdir program
cat >program/go.mod <<'END'
module example

go 1.25
END
cat >program/main.go <<'END'
package main

import (
	"fmt"
	"io/fs"
	"log"
	"os"
)

func main() {
	dir, way := os.Args[1], os.Args[2]
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	var all []fs.DirEntry
	if way == "path" {
		all, err = os.ReadDir(dir)
	} else {
		all, err = fs.ReadDir(root.FS(), ".")
	}
	if err != nil {
		log.Fatal(err)
	}
	_ = os.Remove(dir + "/" + all[0].Name())
	_, err = all[0].Info()
	fmt.Println(len(all), "names; Info of a file that is gone is an error:", err != nil)
}
END
seen=
for version in 1.25.3 1.26.8; do
	(cd program && GOTOOLCHAIN=go$version CGO_ENABLED=0 go build -o "$work/root/tmp/list" .)
	for way in path root; do
		mkdir root/tmp/d
		(cd root/tmp/d && seq 1000 | xargs touch)
		said=$(inside strace -f -qq -e trace=newfstatat -e signal=none -o /tmp/calls /tmp/list d "$way")
		seen+="Go $version, $way: $(grep -c newfstatat root/tmp/calls) calls for files, $said
"
		rm -r root/tmp/d
	done
done
expect 'by path, and through os.Root' 'Go 1.25.3, path: 1 calls for files, 1000 names; Info of a file that is gone is an error: true
Go 1.25.3, root: 1 calls for files, 1000 names; Info of a file that is gone is an error: true
Go 1.26.8, path: 1 calls for files, 1000 names; Info of a file that is gone is an error: true
Go 1.26.8, root: 1000 calls for files, 1000 names; Info of a file that is gone is an error: false' "${seen%$'\n'}"
