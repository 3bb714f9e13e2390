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

// proxy forwards requests to the deployed HTTP API. As API Gateway does, it replaces
// X-Forwarded-For with the client's address and upgrades no connection: Java's HTTP client asks
// for HTTP/2 in each request, and the emulator would drop the request's body.
func (s Stack) proxy() http.Handler {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := os.ReadFile(s.state(apiIDFile))
		if err != nil {
			http.Error(w, "the stack is not deployed yet", http.StatusServiceUnavailable)
			return
		}
		// The address has the API's id in its path: the emulator may route some host
		// names to its own services.
		api := &neturl.URL{Scheme: "http", Host: address(s.Ports.AWS), Path: "/_aws/execute-api/" + string(id) + "/$default"}
		forward := httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(api)
			r.Out.URL.RawQuery = r.In.URL.RawQuery // keeps malformed parameters
			peer, _, _ := net.SplitHostPort(r.In.RemoteAddr)
			r.Out.Header.Set("X-Forwarded-For", peer)
			r.Out.Header.Del("Connection")
			r.Out.Header.Del("Upgrade")
		}}
		forward.ServeHTTP(w, r)
	})
}
