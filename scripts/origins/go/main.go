// A real origin on net/http: go run scripts/origins/go/main.go [port]
//
// GET /health, GET /canary, and an echo of every other request as JSON; ../start says more.
package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

const name = "go"

// Larger contents do not go into the head of the response to a HEAD.
const maxInHead = 16 * 1024

type object = map[string]any

var (
	mutex    sync.Mutex
	requests int
	sequence int
)

func main() {
	port := "9003"
	if len(os.Args) > 1 {
		port = os.Args[1]
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Printf("%s: %v\n", name, err)
		os.Exit(1)
	}
	fmt.Printf("%s: http://%s\n", name, listener.Addr())
	server := &http.Server{Handler: http.HandlerFunc(answer), ErrorLog: log.New(io.Discard, "", 0)}
	log.Fatal(server.Serve(listener))
}

func answer(w http.ResponseWriter, r *http.Request) {
	hash := sha256.New()
	length, err := io.Copy(hash, r.Body)
	if err != nil {
		// Only what came whole is counted and answered.
		panic(http.ErrAbortHandler)
	}
	mutex.Lock()
	requests++
	number := requests
	content := contentFor(r, length, hex.EncodeToString(hash.Sum(nil)))
	mutex.Unlock()
	text, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.Header().Set("X-Origin", name)
	w.Header().Set("X-Origin-Request", strconv.Itoa(number))
	if r.Method != http.MethodHead {
		_, _ = w.Write(text)
	} else if len(text) < maxInHead {
		w.Header().Set("X-Origin-Head", base64.StdEncoding.EncodeToString(text))
	}
}

func contentFor(r *http.Request, length int64, digest string) object {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path == "/health" {
		return object{"status": "ok"}
	}
	headers := fieldsOf(r.Header)
	// What net/http takes out of the fields.
	headers["host"] = latin1(r.Host)
	if len(r.TransferEncoding) > 0 {
		headers["transfer-encoding"] = strings.Join(r.TransferEncoding, ", ")
	}
	content := object{
		"method":   r.Method,
		"target":   latin1(r.RequestURI),
		"headers":  headers,
		"trailers": fieldsOf(r.Trailer),
		"length":   length,
		"sha256":   digest,
	}
	if path == "/canary" {
		sequence++
		content["status"] = "canary_ok"
		content["sequence"] = sequence
	}
	return content
}

// Lower-case names; a list where a name came several times.
func fieldsOf(header http.Header) object {
	fields := object{}
	for name, values := range header {
		texts := make([]string, len(values))
		for i, value := range values {
			texts[i] = latin1(value)
		}
		if len(texts) == 1 {
			fields[strings.ToLower(name)] = texts[0]
		} else {
			fields[strings.ToLower(name)] = texts
		}
	}
	return fields
}

// JSON takes text only: each byte becomes the character of its number.
func latin1(bytes string) string {
	characters := make([]rune, len(bytes))
	for i := 0; i < len(bytes); i++ {
		characters[i] = rune(bytes[i])
	}
	return string(characters)
}
