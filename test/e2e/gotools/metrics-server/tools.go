//go:build tools

// Package tools pins metrics-server, which needs other versions of the libraries than Kubernetes itself. goTools.ts builds it.
package tools

import _ "sigs.k8s.io/metrics-server/cmd/metrics-server"
