// A mesh of SPIFFE's own library for Go: an agent, a client and a server.
//
//	spiffe-go agent SOCKET ID CHAIN KEY BUNDLE   gives the identity in these PEM files; SIGHUP sends them anew
//	spiffe-go call SOCKET SERVER_ID URL          asks with an identity of that agent, and prints status and body
//	spiffe-go serve SOCKET CLIENT_ID             listens, prints its port, and answers with the client's id
package main

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/spiffetls/tlsconfig"
	"github.com/spiffe/go-spiffe/v2/workloadapi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func main() {
	modes := map[string]func([]string) error{"agent": agent, "call": call, "serve": serve}
	if err := modes[os.Args[1]](os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

type server struct {
	workload.UnimplementedSpiffeWorkloadAPIServer
	files []string
}

func (s *server) FetchX509SVID(_ *workload.X509SVIDRequest, out workload.SpiffeWorkloadAPI_FetchX509SVIDServer) error {
	fields, _ := metadata.FromIncomingContext(out.Context())
	if mark := fields.Get("workload.spiffe.io"); len(mark) != 1 || mark[0] != "true" {
		return status.Error(codes.InvalidArgument, "security header missing from request")
	}
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGHUP)
	defer signal.Stop(changed)
	for {
		svid := &workload.X509SVID{
			SpiffeId:    s.files[0],
			X509Svid:    der(s.files[1]),
			X509SvidKey: der(s.files[2]),
			Bundle:      der(s.files[3]),
		}
		if err := out.Send(&workload.X509SVIDResponse{Svids: []*workload.X509SVID{svid}}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-out.Context().Done():
			return nil
		}
	}
}

func agent(args []string) error {
	listener, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	rpc := grpc.NewServer()
	workload.RegisterSpiffeWorkloadAPIServer(rpc, &server{files: args[1:]})
	fmt.Println("listening")
	return rpc.Serve(listener)
}

func source(socket string) (*workloadapi.X509Source, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return workloadapi.NewX509Source(ctx, workloadapi.WithClientOptions(workloadapi.WithAddr("unix://"+socket)))
}

func call(args []string) error {
	identity, err := source(args[0])
	if err != nil {
		return err
	}
	wanted := tlsconfig.AuthorizeID(spiffeid.RequireFromString(args[1]))
	transport := &http.Transport{TLSClientConfig: tlsconfig.MTLSClientConfig(identity, identity, wanted)}
	reply, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(args[2])
	if err != nil {
		return err
	}
	body, err := io.ReadAll(reply.Body)
	fmt.Println(reply.StatusCode, string(body))
	return err
}

func serve(args []string) error {
	identity, err := source(args[0])
	if err != nil {
		return err
	}
	config := tlsconfig.MTLSServerConfig(identity, identity, tlsconfig.AuthorizeID(spiffeid.RequireFromString(args[1])))
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS.PeerCertificates[0].URIs[0])
	}))
}

// The blocks of a PEM file, one after the other.
func der(file string) []byte {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	var all []byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		all = append(all, block.Bytes...)
	}
	return all
}
