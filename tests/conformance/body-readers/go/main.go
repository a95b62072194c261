// Says what Go's standard library makes of a request's body: every name and value, as JSON. The first line of its output is its port.
package main

import (
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
)

func main() {
	http.HandleFunc("/form", func(w http.ResponseWriter, r *http.Request) { answer(w, formTexts(r)) })
	http.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) { answer(w, jsonTexts(r.Body)) })
	http.HandleFunc("/gzip", func(w http.ResponseWriter, r *http.Request) {
		inside, err := gzip.NewReader(r.Body)
		if err != nil {
			answer(w, nil)
			return
		}
		answer(w, jsonTexts(inside))
	})
	http.HandleFunc("/xml", func(w http.ResponseWriter, r *http.Request) { answer(w, xmlTexts(r.Body)) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, nil))
}

func answer(w http.ResponseWriter, texts []string) {
	if texts == nil {
		texts = []string{}
	}
	_ = json.NewEncoder(w).Encode(texts)
}

func formTexts(r *http.Request) []string {
	var texts []string
	_ = r.ParseMultipartForm(1 << 20)
	for name, values := range r.PostForm {
		texts = append(append(texts, name), values...)
	}
	if r.MultipartForm == nil {
		return texts
	}
	for name, values := range r.MultipartForm.Value {
		texts = append(append(texts, name), values...)
	}
	for name, files := range r.MultipartForm.File {
		texts = append(texts, name)
		for _, file := range files {
			texts = append(texts, file.Filename)
		}
	}
	return texts
}

func jsonTexts(body io.Reader) []string {
	var texts []string
	decoder := json.NewDecoder(body)
	for {
		var value any
		if decoder.Decode(&value) != nil {
			return texts
		}
		texts = append(texts, textsOf(value)...)
	}
}

func textsOf(value any) []string {
	var texts []string
	switch one := value.(type) {
	case map[string]any:
		for name, inner := range one {
			texts = append(append(texts, name), textsOf(inner)...)
		}
	case []any:
		for _, inner := range one {
			texts = append(texts, textsOf(inner)...)
		}
	case string:
		texts = append(texts, one)
	}
	return texts
}

func xmlTexts(body io.Reader) []string {
	var texts []string
	decoder := xml.NewDecoder(body)
	decoder.Strict = false
	run := ""
	for {
		token, err := decoder.Token()
		if err != nil {
			return append(texts, run)
		}
		switch one := token.(type) {
		case xml.StartElement:
			texts = append(texts, run)
			run = ""
			for _, attribute := range one.Attr {
				texts = append(texts, attribute.Value)
			}
		case xml.EndElement:
			texts = append(texts, run)
			run = ""
		case xml.CharData:
			run += string(one)
		}
	}
}
