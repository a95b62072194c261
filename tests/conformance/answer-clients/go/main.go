// Asks for answers by their number and prints what net/http makes of each: main PORT FIRST COUNT
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

type answer struct {
	N      int      `json:"n"`
	Status int      `json:"status"`
	Cut    bool     `json:"cut"`
	Body   string   `json:"body"`
	Fields []string `json:"fields"`
	Error  string   `json:"error"`
	Canary bool     `json:"canary"`
	text   string
}

var client = &http.Client{
	Timeout:       10 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableCompression: true, MaxConnsPerHost: 1},
}

func main() {
	port, first, count := number(1), number(2), number(3)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for n := first; n < first+count; n++ {
		method := "GET"
		if n%4 == 3 {
			method = "HEAD"
		}
		found := ask(method, fmt.Sprintf("http://127.0.0.1:%d/node/answer?n=%d", port, n))
		canary := ask("GET", fmt.Sprintf("http://127.0.0.1:%d/node/canary?n=%d", port, n))
		found.N = n
		found.Canary = canary.text == fmt.Sprintf("canary %d", n)
		line, err := json.Marshal(found)
		if err != nil {
			panic(err)
		}
		out.Write(append(line, '\n'))
	}
}

func ask(method, url string) answer {
	found := answer{Fields: []string{}}
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		panic(err)
	}
	response, err := client.Do(request)
	if err != nil {
		found.Error = err.Error()
		return found
	}
	defer response.Body.Close()
	found.Status = response.StatusCode
	for name, values := range response.Header {
		for _, value := range values {
			found.Fields = append(found.Fields, strings.ToLower(name)+": "+latin1(strings.Trim(value, " \t")))
		}
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		found.Cut = true
		return found
	}
	digest := sha256.Sum256(body)
	found.Body = hex.EncodeToString(digest[:])
	found.text = string(body)
	return found
}

// JSON takes text only: each byte becomes the character of its number.
func latin1(bytes string) string {
	characters := make([]rune, len(bytes))
	for i := 0; i < len(bytes); i++ {
		characters[i] = rune(bytes[i])
	}
	return string(characters)
}

func number(at int) int {
	value, err := strconv.Atoi(os.Args[at])
	if err != nil {
		panic(err)
	}
	return value
}
