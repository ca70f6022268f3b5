package proxy

import (
	"net/url"

	"golang.org/x/net/http/httpproxy"
)

// The variables that name a proxy for FTP, and those that name the hosts to dial directly. In each list the
// first variable that is not empty counts.
var (
	proxyVariables = []string{"ftp_proxy", "FTP_PROXY", "all_proxy", "ALL_PROXY"}
	hostVariables  = []string{"no_proxy", "NO_PROXY"}
)

// FromEnvironment returns a function that returns the proxy for an address ("host:port"), or nil to dial it
// directly. The variables ftp_proxy, FTP_PROXY, all_proxy or ALL_PROXY name the proxy; no_proxy or NO_PROXY
// list the hosts to dial directly, in the form that net/http knows. Loopback addresses and "localhost" are
// always dialled directly. The error is an *[Error] that names the variable.
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
