package urlparse

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// TestKeyIsTheResource makes URLs of every combination of parts, some of which may be passwords. The keys of two URLs
// must be equal if and only if the URLs name the same resource.
func TestKeyIsTheResource(t *testing.T) {
	users := []*url.Userinfo{nil, url.User(""), url.User("a"), url.User("a:"), url.User("a:s3cret"), url.User("a:0ther"), url.UserPassword("a", "s3cret")}
	paths := [][]string{{"x"}, {"alice@x", "r"}, {"bob@x", "r"}, {"***@x", "r"}, {"***", "r"}, {"x,ftp:", "", "me:s3cret@b", "y"},
		{"x,ftp:", "", "me:0ther@b", "y"}, {"x,ftp:", "", "me:***@b", "y"}, {"a", "alice@x"}, {"alice@x"}, {"a/b"}, {"a", "b"}, {"", "a"}}
	resources := make(map[string]string)
	for _, scheme := range schemes {
		for _, user := range users {
			for _, port := range []int{0, 21, 990, 2121} {
				for _, path := range paths {
					for _, code := range []Typecode{"", TypeASCII, TypeImage} {
						u := &URL{Scheme: scheme, User: user, Host: "h", Port: port, Dirs: path[:len(path)-1], Name: path[len(path)-1], Type: code}
						who := ""
						if user != nil {
							who = "as " + user.Username()
						}
						what := fmt.Sprintf("%s %q %s %q %s", scheme, who, u.Address(), path, code)
						key := u.Key()
						if of, known := resources[key]; known && of != what {
							t.Errorf("%q is the key of %s and of %s", key, of, what)
						}
						resources[key] = what
						if strings.Contains(key, "s3cret") {
							t.Errorf("a password is in %q", key)
						}
					}
				}
			}
		}
	}
	different := make(map[string]bool)
	for _, what := range resources {
		different[what] = true
	}
	if len(different) != len(resources) {
		t.Errorf("%d keys for %d resources", len(resources), len(different))
	}
}
