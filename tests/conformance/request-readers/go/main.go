// Reads recorded connections as net/http does: main FILE. One line of JSON for each connection.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"sort"
	"strings"
)

type message struct {
	Method   string   `json:"method"`
	Target   string   `json:"target"`
	Host     string   `json:"host"`
	Fields   []string `json:"fields"`
	Body     string   `json:"body"`
	Trailers []string `json:"trailers"`
}

type reading struct {
	Messages  []message `json:"messages"`
	IsRefused bool      `json:"isRefused"`
}

var leftOut = map[string]bool{"host": true, "connection": true, "content-length": true, "transfer-encoding": true, "trailer": true}

// latin1 shows bytes as letters of their number.
func latin1(text string) string {
	runes := make([]rune, len(text))
	for i := 0; i < len(text); i++ {
		runes[i] = rune(text[i])
	}
	return string(runes)
}

func fieldsOf(header http.Header) []string {
	fields := []string{}
	for name, values := range header {
		lower := strings.ToLower(name)
		if leftOut[lower] {
			continue
		}
		for _, value := range values {
			fields = append(fields, latin1(lower+": "+value))
		}
	}
	sort.Strings(fields)
	return fields
}

func read(data []byte) reading {
	reader := bufio.NewReader(bytes.NewReader(data))
	found := reading{Messages: []message{}}
	for {
		if _, err := reader.Peek(1); err != nil {
			return found
		}
		request, err := http.ReadRequest(reader)
		if err != nil {
			found.IsRefused = true
			return found
		}
		digest := sha256.New()
		if _, err := io.Copy(digest, request.Body); err != nil {
			found.IsRefused = true
			return found
		}
		found.Messages = append(found.Messages, message{
			Method:   latin1(request.Method),
			Target:   latin1(request.RequestURI),
			Host:     latin1(request.Host),
			Fields:   fieldsOf(request.Header),
			Body:     hex.EncodeToString(digest.Sum(nil)),
			Trailers: fieldsOf(request.Trailer),
		})
	}
}

func main() {
	source, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	in := bufio.NewReader(source)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	head := make([]byte, 4)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		data := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(in, data); err != nil {
			return
		}
		if err := encoder.Encode(read(data)); err != nil {
			panic(err)
		}
	}
}
