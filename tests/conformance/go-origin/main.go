// An origin of cleartext HTTP/2 on Go's net/http. It remembers the hash of every body that ended in order.
//
// usage: origin MAX_CONCURRENT_STREAMS
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	mutex sync.Mutex
	seen  = []string{}
)

func main() {
	streams, err := strconv.Atoi(os.Args[1])
	check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:   http.HandlerFunc(serve),
		Protocols: protocols,
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: streams},
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	check(server.Serve(listener))
}

func serve(writer http.ResponseWriter, request *http.Request) {
	switch kind := strings.SplitN(request.URL.Path, "/", 3)[1]; kind {
	case "seen":
		mutex.Lock()
		defer mutex.Unlock()
		check(json.NewEncoder(writer).Encode(seen))
	case "early":
		// The rest of the body is not read: Go resets the stream behind its answer.
		io.CopyN(io.Discard, request.Body, 100)
		fmt.Fprint(writer, "early")
	case "abort":
		io.CopyN(io.Discard, request.Body, 100)
		panic(http.ErrAbortHandler)
	case "chat":
		chat(writer, request)
	default:
		if kind == "bye" {
			// Go answers it with a GOAWAY, and finishes the other streams.
			writer.Header().Set("Connection", "close")
		}
		echo(writer, request, kind == "slow")
	}
}

func echo(writer http.ResponseWriter, request *http.Request, isSlow bool) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	mutex.Lock()
	seen = append(seen, hash)
	mutex.Unlock()
	if isSlow {
		time.Sleep(30 * time.Millisecond)
	}
	fmt.Fprint(writer, hash)
}

// Sends back what comes as it comes.
func chat(writer http.ResponseWriter, request *http.Request) {
	writer.WriteHeader(200)
	writer.(http.Flusher).Flush()
	buffer := make([]byte, 4096)
	for {
		count, err := request.Body.Read(buffer)
		if count > 0 {
			writer.Write(buffer[:count])
			writer.(http.Flusher).Flush()
		}
		if err != nil {
			return
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
