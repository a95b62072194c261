// grpc-gateway before the Shop service, with the code that its own plugins generate from tests/vectors/transcode/shop.proto.
//
// usage: gateway HOST:PORT of the gRPC server
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"edge.test/gateway/shop"
)

func main() {
	mux := runtime.NewServeMux()
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	check(shop.RegisterShopHandlerFromEndpoint(context.Background(), mux, os.Args[1], options))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Printf("%d\n", listener.Addr().(*net.TCPAddr).Port)
	check(http.Serve(listener, mux))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
