module edge.test/oauth2-proxy

go 1.23.0

require github.com/oauth2-proxy/oauth2-proxy/v7 v7.8.1
