package fence

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain also runs the fenced process, which must be another process because a fence cannot be removed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FENCE_TEST"); dir != "" {
		fenced(dir)
		return
	}
	os.Exit(m.Run())
}

// fenced fences the process and prints what it can still do, one line for each.
func fenced(dir string) {
	note, _, _ := strings.Cut(Confine([]string{filepath.Join(dir, "in")}, nil, []string{filepath.Join(dir, "parent")}), ":")
	os.Stdout.WriteString("confine " + note + "\n")
	tell := func(what string, err error) {
		if err == nil {
			os.Stdout.WriteString(what + "\n")
		}
	}
	tell("write inside", os.WriteFile(filepath.Join(dir, "in/new"), nil, 0o600))
	tell("write outside", os.WriteFile(filepath.Join(dir, "new"), nil, 0o600))
	_, err := os.ReadFile(filepath.Join(dir, "secret"))
	tell("read outside", err)
	_, err = os.ReadFile("/etc/hosts")
	tell("read /etc/hosts", err)
	tell("remove a directory of a parent", os.Remove(filepath.Join(dir, "parent/empty")))
	tell("remove a file of a parent", os.Remove(filepath.Join(dir, "parent/file")))
}

// TestConfine checks what a fenced process can do, and the note if the kernel has no fence.
func TestConfine(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"in", "parent/empty"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"secret", "parent/file"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program)
	c.Env = append(os.Environ(), "FENCE_TEST="+dir)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := string(out)
	if strings.HasPrefix(got, "confine \n") || strings.HasPrefix(got, "confine not fenced\n") {
		t.Logf("this system has no fence, and says so: %q", got)
		return
	}
	want := "confine fenced\nwrite inside\nread /etc/hosts\nremove a directory of a parent\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
