// What Coraza says of small rules: reads lines of JSON, each a text of rules and a request, and writes for each whether the request
// is refused, with which status and by which rule.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/corazawaf/coraza-coreruleset/v4"
	"github.com/corazawaf/coraza/v3"
	"github.com/corazawaf/coraza/v3/types"
)

type question struct {
	Rules   string      `json:"rules"`
	Method  string      `json:"method"`
	Target  string      `json:"target"`
	Headers [][2]string `json:"headers"`
	Body    []byte      `json:"body"`
	Client  string      `json:"client"`
	Status  int         `json:"status"`
	Fields  [][2]string `json:"fields"`
}

type answer struct {
	Error   string `json:"error,omitempty"`
	Action  string `json:"action,omitempty"`
	Status  int    `json:"status,omitempty"`
	Rule    int    `json:"rule,omitempty"`
	Data    string `json:"data,omitempty"`
	Matched []int  `json:"matched"`
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "rules" {
		writeRules(os.Args[2])
		return
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			var one question
			if err := json.Unmarshal(line, &one); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			out.Encode(judge(one))
		}
		if err != nil {
			return
		}
	}
}

// writeRules copies the Core Rule Set, which lies within its module, to a folder.
func writeRules(folder string) {
	if err := os.CopyFS(folder, coreruleset.FS); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(one question) answer {
	waf, err := coraza.NewWAF(coraza.NewWAFConfig().WithDirectives(
		"SecRequestBodyAccess On\n" + one.Rules))
	if err != nil {
		return answer{Error: err.Error()}
	}
	tx := waf.NewTransaction()
	defer tx.Close()
	it := run(tx, one)
	said := answer{Matched: []int{}}
	for _, match := range tx.MatchedRules() {
		said.Matched = append(said.Matched, match.Rule().ID())
	}
	if it != nil {
		said.Action, said.Status, said.Rule, said.Data = it.Action, it.Status, it.RuleID, it.Data
	}
	return said
}

func run(tx types.Transaction, one question) *types.Interruption {
	tx.ProcessConnection(one.Client, 40000, "127.0.0.1", 80)
	tx.ProcessURI(one.Target, one.Method, "HTTP/1.1")
	for _, field := range one.Headers {
		tx.AddRequestHeader(field[0], field[1])
	}
	if it := tx.ProcessRequestHeaders(); it != nil {
		return it
	}
	if len(one.Body) > 0 {
		if it, _, err := tx.WriteRequestBody(one.Body); it != nil || err != nil {
			return it
		}
	}
	if it, err := tx.ProcessRequestBody(); it != nil || err != nil {
		return it
	}
	if one.Status == 0 {
		return nil
	}
	for _, field := range one.Fields {
		tx.AddResponseHeader(field[0], field[1])
	}
	if it := tx.ProcessResponseHeaders(one.Status, "HTTP/1.1"); it != nil {
		return it
	}
	it, _ := tx.ProcessResponseBody()
	return it
}
