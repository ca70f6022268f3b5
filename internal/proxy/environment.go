package proxy

import (
	"net/url"

	"golang.org/x/net/http/httpproxy"
)

// The variables that name a proxy for FTP, the first that is not empty counts, and those that name the hosts
// to be dialled without it.
var (
	proxyVariables = []string{"ftp_proxy", "FTP_PROXY", "all_proxy", "ALL_PROXY"}
	hostVariables  = []string{"no_proxy", "NO_PROXY"}
)

// FromEnvironment returns the function that chooses the proxy for an address ("host:port"), nil for none, as
// the environment says: ftp_proxy, FTP_PROXY, all_proxy or ALL_PROXY names it, no_proxy or NO_PROXY the hosts
// that are dialled directly, in the form that net/http knows. Loopback addresses and "localhost" are always
// dialled directly. The error, *[Error], names the variable.
func FromEnvironment(getenv func(string) string) (choose func(address string) *Proxy, err error) {
	name, text := firstSet(getenv, proxyVariables)
	if text == "" {
		return func(string) *Proxy { return nil }, nil
	}
	p, err := Parse(text)
	if err != nil {
		e := *err.(*Error)
		e.Reason = "the variable " + name + ": " + e.Reason
		return nil, &e
	}
	_, hosts := firstSet(getenv, hostVariables)
	proxied := (&httpproxy.Config{HTTPProxy: "http://proxy", NoProxy: hosts}).ProxyFunc()
	return func(address string) *Proxy {
		if via, err := proxied(&url.URL{Scheme: "http", Host: address}); err != nil || via == nil {
			return nil
		}
		return p
	}, nil
}

func firstSet(getenv func(string) string, names []string) (name, value string) {
	for _, name := range names {
		if value := getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}
