// grpc-gateway before its own example services. It is built inside a copy of the module, where its internal packages may be imported
// (tests/conformance/example-gateway.ts).
//
// usage: compare FOLDER
//
// It writes FOLDER/examples.binpb, the descriptors of all of it, and prints two addresses of gRPC servers and one of the gateway before
// them. The first server is the examples' own; the second has the services that these leave out, and gives every message back.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/examples/internal/proto/examplepb"
	standalone "github.com/grpc-ecosystem/grpc-gateway/v2/examples/internal/proto/standalone"
	"github.com/grpc-ecosystem/grpc-gateway/v2/examples/internal/server"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

type register func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error

func main() {
	check(writeDescriptors(filepath.Join(os.Args[1], "examples.binpb")))
	ctx := context.Background()
	examples := freeAddress()
	go func() { check(server.Run(ctx, "tcp", examples)) }()

	echoes, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() { check(grpc.NewServer(grpc.UnknownServiceHandler(giveBack)).Serve(echoes)) }()

	mux := runtime.NewServeMux()
	registerAll(ctx, mux, examples, examplepb.RegisterEchoServiceHandler, standalone.RegisterUnannotatedEchoServiceHandler,
		examplepb.RegisterStreamServiceHandler, examplepb.RegisterABitOfEverythingServiceHandler, examplepb.RegisterFlowCombinationHandler,
		examplepb.RegisterExcessBodyServiceHandler, examplepb.RegisterNonStandardServiceHandler, examplepb.RegisterResponseBodyServiceHandler)
	registerAll(ctx, mux, echoes.Addr().String(), examplepb.RegisterWrappersServiceHandler, examplepb.RegisterOpaqueEcommerceServiceHandler,
		examplepb.RegisterEnumWithSingleValueServiceHandler, examplepb.RegisterSnakeEnumServiceHandler,
		examplepb.RegisterCamelCaseServiceNameHandler)
	gateway, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	waitFor(examples)
	fmt.Printf("%s %s %s\n", examples, echoes.Addr(), gateway.Addr())
	check(http.Serve(gateway, mux))
}

func registerAll(ctx context.Context, mux *runtime.ServeMux, address string, handlers ...register) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	for _, handler := range handlers {
		check(handler(ctx, mux, connection))
	}
}

// giveBack answers with the message that it got where the method's response is of that type, and with an empty one elsewhere. What it got
// is also in the metadata, as JSON.
func giveBack(_ any, stream grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(stream)
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(path[1:], "/", ".")))
	if err != nil {
		return status.Error(codes.Unimplemented, path)
	}
	method := found.(protoreflect.MethodDescriptor)
	request, response := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	seen, err := protojson.Marshal(request)
	if err != nil {
		return err
	}
	if err := stream.SendHeader(metadata.Pairs("seen", string(seen))); err != nil {
		return err
	}
	if method.Input() == method.Output() {
		return stream.SendMsg(request)
	}
	return stream.SendMsg(response)
}

func writeDescriptors(path string) error {
	set := &descriptorpb.FileDescriptorSet{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
		return true
	})
	bytes, err := proto.Marshal(set)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes, 0o644)
}

// freeAddress is of a port that was free a moment ago: the examples' server takes no listener.
func freeAddress() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	defer func() { check(listener.Close()) }()
	return listener.Addr().String()
}

func waitFor(address string) {
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			check(connection.Close())
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
