package runner

import (
	"net"
	"net/http"
	"net/http/httputil"
	neturl "net/url"
	"os"
)

// apiIDFile holds the id of the deployed HTTP API.
const apiIDFile = "http-api-id"

// proxy is the address of the service. It stands where API Gateway does:
// whatever the caller says of its own address, X-Forwarded-For is the address
// it has.
func (s Stack) proxy() http.Handler {
	// A call and its answer pass as they are, as many at once as there come.
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := os.ReadFile(s.state(apiIDFile))
		if err != nil {
			http.Error(w, "the stack is not deployed yet", http.StatusServiceUnavailable)
			return
		}
		// The emulator finds an API by its path; a host's name it might take
		// for one of its own services.
		api := &neturl.URL{Scheme: "http", Host: address(s.Ports.AWS), Path: "/_aws/execute-api/" + string(id) + "/$default"}
		forward := httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(api)
			r.Out.URL.RawQuery = r.In.URL.RawQuery // malformed parameters too
			peer, _, _ := net.SplitHostPort(r.In.RemoteAddr)
			r.Out.Header.Set("X-Forwarded-For", peer)
		}}
		forward.ServeHTTP(w, r)
	})
}
