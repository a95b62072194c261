// An HTTP server behind Coraza: with the OWASP Core Rule Set at paranoia level 1 and its usual threshold, or without rules. Writes its
// address when it is ready.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/corazawaf/coraza-coreruleset/v4"
	"github.com/corazawaf/coraza/v3"
	txhttp "github.com/corazawaf/coraza/v3/http"
)

const rules = `
Include @coraza.conf-recommended
SecRuleEngine On
SecResponseBodyAccess Off
SecAuditEngine Off
Include @crs-setup.conf.example
Include @owasp_crs/*.conf
`

func main() {
	handler := http.Handler(http.HandlerFunc(answer))
	if len(os.Args) > 1 && os.Args[1] == "on" {
		waf, err := coraza.NewWAF(coraza.NewWAFConfig().WithRootFS(coreruleset.FS).WithDirectives(rules))
		if err != nil {
			log.Fatal(err)
		}
		handler = txhttp.WrapHandler(waf, handler)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	log.Fatal(server.Serve(listener))
}

func answer(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("X-Origin", "reached")
	io.WriteString(w, "reached\n")
}
