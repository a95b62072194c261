// Reads the files that its input names, and prints a line for each: its value with members in order, or "!". With an argument it takes the
// first value of a stream, as servers do that decode a body.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"unicode/utf16"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		content, err := os.ReadFile(lines.Text())
		var value any
		if err == nil && len(os.Args) > 1 {
			err = json.NewDecoder(bytes.NewReader(content)).Decode(&value)
		} else if err == nil {
			err = json.Unmarshal(content, &value)
		}
		if err != nil {
			fmt.Fprintln(out, "!")
		} else {
			fmt.Fprintln(out, text(value))
		}
	}
}

func text(value any) string {
	switch one := value.(type) {
	case []any:
		parts := []string{}
		for _, element := range one {
			parts = append(parts, text(element))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		parts := []string{}
		for key, member := range one {
			parts = append(parts, units(key)+":"+text(member))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case string:
		return units(one)
	case float64:
		if one == 0 && math.Signbit(one) {
			return "-0"
		}
		return fmt.Sprintf("%016x", math.Float64bits(one))
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
}

func units(value string) string {
	var out strings.Builder
	for _, unit := range utf16.Encode([]rune(value)) {
		fmt.Fprintf(&out, "%04x", unit)
	}
	return "\"" + out.String() + "\""
}
