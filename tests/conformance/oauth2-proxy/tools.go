//go:build tools

package tools

// Keeps the module of the program that is built in go.mod.
import _ "github.com/oauth2-proxy/oauth2-proxy/v7"
