//go:build release

package release_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

const module = "example.com/ftpfetch"
const commitTime = "2026-01-02T03:04:05Z"
const tag = "v1.2.3"

// TestVersion builds the command in each way that people do, and compares the output of --version.
func TestVersion(t *testing.T) {
	checkout := newCheckout(t)
	first := head(t, checkout)
	compareVersion(t, "checkout without a tag", build(t, checkout), "v0.0.0-20260102030405-"+first[:12])
	compareVersion(t, "not stamped", build(t, checkout, "-buildvcs=false"), "(devel)")

	run(t, checkout, "git", "tag", tag)
	compareVersion(t, "checkout at a tag", build(t, checkout), tag)
	compareVersion(t, "go install at a tag", install(t, checkout), tag)

	source := exported(t, checkout)
	compareVersion(t, "archive of the source", build(t, source), "(devel)")
	compareVersion(t, "the same, with a version", build(t, source, "-ldflags=-X "+module+"/cmd/internal/cli/config.release="+tag), tag)

	write(t, filepath.Join(checkout, "cmd", "ftpfetch", "new.go"), "package main\n")
	compareVersion(t, "modified", build(t, checkout), tag+"+dirty")

	run(t, checkout, "git", "add", ".")
	run(t, checkout, "git", "commit", "-q", "-m", "second")
	second := head(t, checkout)
	compareVersion(t, "after a tag", build(t, checkout), "v1.2.4-0.20260102030405-"+second[:12])
}

// compareVersion runs the command and compares its version.
func compareVersion(t *testing.T, name, command, version string) {
	t.Helper()
	want := fmt.Sprintf("ftpfetch %s\nbuilt by %s for %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if got := run(t, ".", command, "--version"); got != want {
		t.Errorf("%s: got\n%swant\n%s", name, got, want)
	}
}

// newCheckout returns a git repository with the command's source and one commit.
func newCheckout(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "checkout")
	for _, part := range []string{"cmd", "internal", "urlparse", "ftpexec", "download", "docs"} {
		must.Do(t, os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("../..", part))))
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text := must.Get(os.ReadFile(filepath.Join("../..", name)))(t)
		write(t, filepath.Join(dir, name), string(text))
	}
	run(t, dir, "git", "init", "-q")
	run(t, dir, "git", "add", ".")
	run(t, dir, "git", "commit", "-q", "-m", "first")
	return dir
}

// exported returns the tag's source as in an archive, without version control data.
func exported(t *testing.T, checkout string) string {
	dir := filepath.Join(t.TempDir(), "source")
	run(t, checkout, "git", "worktree", "add", "-q", dir, tag)
	must.Do(t, os.Remove(filepath.Join(dir, ".git")))
	return dir
}

func head(t *testing.T, checkout string) string {
	return strings.TrimSpace(run(t, checkout, "git", "rev-parse", "HEAD"))
}

// build returns the command, built in dir.
func build(t *testing.T, dir string, flags ...string) string {
	command := filepath.Join(t.TempDir(), "ftpfetch")
	args := append([]string{"go", "build", "-o", command}, flags...)
	run(t, dir, append(args, "./cmd/ftpfetch")...)
	return command
}

// install returns the command as go install builds it from the tag. A directory stands in for the module proxy. The
// modules that it needs come from this machine's cache.
func install(t *testing.T, checkout string) string {
	proxy, bin := t.TempDir(), t.TempDir()
	versions := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	write(t, filepath.Join(versions, "list"), tag+"\n")
	write(t, filepath.Join(versions, tag+".info"), fmt.Sprintf(`{"Version":%q,"Time":%q}`, tag, commitTime))
	write(t, filepath.Join(versions, tag+".mod"), run(t, checkout, "git", "show", tag+":go.mod"))
	run(t, checkout, "git", "archive", "--prefix="+module+"@"+tag+"/", "-o", filepath.Join(versions, tag+".zip"), tag,
		"--", ".", ":!lab/bench", ":!cmd/ftpfetch-fleet") // separate modules
	cache := strings.TrimSpace(run(t, ".", "go", "env", "GOMODCACHE"))
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(cache)+"/cache/download")
	t.Setenv("GOMODCACHE", t.TempDir()) // otherwise the tag would stay in this machine's cache
	t.Setenv("GOBIN", bin)
	run(t, bin, "go", "install", "-modcacherw", module+"/cmd/ftpfetch@"+tag)
	return filepath.Join(bin, "ftpfetch")
}

// run returns the standard output of a command that must succeed.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOSUMDB=off",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_DATE="+commitTime, "GIT_COMMITTER_DATE="+commitTime,
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}
