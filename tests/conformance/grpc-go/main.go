// The Shop service of tests/vectors/transcode/shop.proto on gRPC for Go, without generated code: the messages are made from
// the descriptor set. Beside it, an HTTP endpoint says what Go's protojson makes of a JSON text, as a reference.
//
// usage: shop DESCRIPTOR_SET v1|v1alpha|both|none
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	v1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	v1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

var files *protoregistry.Files

func main() {
	bytes, err := os.ReadFile(os.Args[1])
	check(err)
	set := &descriptorpb.FileDescriptorSet{}
	check(proto.Unmarshal(bytes, set))
	files, err = protodesc.NewFiles(set)
	check(err)
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	server.RegisterService(serviceDesc(), nil)
	options := reflection.ServerOptions{Services: server, DescriptorResolver: files}
	if os.Args[2] == "v1" || os.Args[2] == "both" {
		v1.RegisterServerReflectionServer(server, reflection.NewServerV1(options))
	}
	if os.Args[2] == "v1alpha" || os.Args[2] == "both" {
		v1alpha.RegisterServerReflectionServer(server, reflection.NewServer(options))
	}
	rpc, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	reference, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() { check(http.Serve(reference, http.HandlerFunc(mapJSON))) }()
	fmt.Printf("%d %d\n", rpc.Addr().(*net.TCPAddr).Port, reference.Addr().(*net.TCPAddr).Port)
	check(server.Serve(rpc))
}

func serviceDesc() *grpc.ServiceDesc {
	service := find("shop.Shop").(protoreflect.ServiceDescriptor)
	desc := &grpc.ServiceDesc{ServiceName: "shop.Shop", HandlerType: (*any)(nil)}
	for i := 0; i < service.Methods().Len(); i++ {
		method := service.Methods().Get(i)
		if method.IsStreamingClient() {
			continue
		}
		if method.IsStreamingServer() {
			handler := func(_ any, stream grpc.ServerStream) error { return watch(method, stream) }
			desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: string(method.Name()), Handler: handler, ServerStreams: true})
			continue
		}
		handler := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			request := dynamicpb.NewMessage(method.Input())
			if err := decode(request); err != nil {
				return nil, err
			}
			return answer(ctx, method, request)
		}
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: string(method.Name()), Handler: handler})
	}
	return desc
}

func answer(ctx context.Context, method protoreflect.MethodDescriptor, request *dynamicpb.Message) (any, error) {
	text, err := json(request)
	if err != nil {
		return nil, err
	}
	switch method.Name() {
	case "Echo":
		return request, nil
	case "Fail":
		code := codes.Code(number(request, "code"))
		if word(request, "how") == "hang" {
			<-ctx.Done()
			fmt.Println("cancelled")
			return nil, ctx.Err()
		}
		return nil, status.Error(code, word(request, "message"))
	case "Nothing":
		return dynamicpb.NewMessage(method.Output()), nil
	}
	reply := dynamicpb.NewMessage(method.Output())
	set(reply, "id", protoreflect.ValueOfString(word(request, "id")))
	set(reply, "request", protoreflect.ValueOfString(string(text)))
	return reply, nil
}

func watch(method protoreflect.MethodDescriptor, stream grpc.ServerStream) error {
	request := dynamicpb.NewMessage(method.Input())
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	endless := request.Get(request.Descriptor().Fields().ByName("endless")).Bool()
	for i := int64(1); endless || i <= number(request, "count"); i++ {
		reply := dynamicpb.NewMessage(method.Output())
		set(reply, "id", protoreflect.ValueOfString(fmt.Sprint(i)))
		if err := stream.SendMsg(reply); err != nil {
			fmt.Println("cancelled")
			return err
		}
		if endless {
			time.Sleep(5 * time.Millisecond)
		}
	}
	return nil
}

// mapJSON reads a JSON text as Everything and writes it back, 400 where it is none.
func mapJSON(writer http.ResponseWriter, request *http.Request) {
	text, _ := io.ReadAll(request.Body)
	message := dynamicpb.NewMessage(find("shop.Everything").(protoreflect.MessageDescriptor))
	options := protojson.UnmarshalOptions{Resolver: dynamicpb.NewTypes(files)}
	if err := options.Unmarshal(text, message); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	reply, err := json(message)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	writer.Write(reply)
}

func json(message proto.Message) ([]byte, error) {
	return protojson.MarshalOptions{Resolver: dynamicpb.NewTypes(files)}.Marshal(message)
}

func find(name protoreflect.FullName) protoreflect.Descriptor {
	found, err := files.FindDescriptorByName(name)
	check(err)
	return found
}

func number(message *dynamicpb.Message, field protoreflect.Name) int64 {
	return message.Get(message.Descriptor().Fields().ByName(field)).Int()
}

func word(message *dynamicpb.Message, field protoreflect.Name) string {
	return message.Get(message.Descriptor().Fields().ByName(field)).String()
}

func set(message *dynamicpb.Message, field protoreflect.Name, value protoreflect.Value) {
	message.Set(message.Descriptor().Fields().ByName(field), value)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
