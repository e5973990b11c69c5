/*
Copyright 2026 The Entente Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// The program example is an API server with a kind of its own that the kernel of
// package sensitive keeps the secrets of. It starts a store and the server in a
// process of its own, sends a few requests as two users, and prints what comes back:
//
//	go run ./registry/sensitive/example
//
// It is about what surrounds the kernel. Users, certificates and the registration with
// a host cluster are those of any aggregated server, and not shown.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	auditlog "k8s.io/apiserver/plugin/pkg/audit/log"
	"k8s.io/klog/v2"

	"entente.dev/entente/registry/sensitive"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The users. The keeper may do everything; the writer everything but on the
// subresource sensitive.
const (
	keeper = "keeper"
	writer = "writer"
)

// byHeader takes the name of the user from a header, which is good for nothing but an
// example.
func byHeader(req *http.Request) (*authenticator.Response, bool, error) {
	name := req.Header.Get("X-User")
	return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, name != "", nil
}

func decide(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetUser().GetName() == keeper || a.GetUser().GetName() == writer && a.GetSubresource() != sensitive.SubresourceName {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "not the keeper", nil
}

// run starts everything, and shows it.
func run(ctx context.Context, out io.Writer) (err error) {
	klog.LogToStderr(false) // the libraries have much to say at the start
	klog.SetOutput(io.Discard)
	dir, err := os.MkdirTemp("", "hooks")
	if err != nil {
		return fmt.Errorf("could not make a folder for the store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	etcd, endpoint, err := startEtcd(dir)
	if err != nil {
		return err
	}
	defer etcd.Close()

	var events bytes.Buffer
	s, err := newServer(surroundings{
		etcd:          endpoint,
		authenticator: authenticator.RequestFunc(byHeader),
		authorizer:    authorizer.AuthorizerFunc(decide),
		audit:         auditlog.NewBackend(&events, auditlog.FormatJson, auditv1.SchemeGroupVersion),
	})
	if err != nil {
		return err
	}
	defer s.Destroy()
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return s.ready() == nil, nil }); err != nil {
		return fmt.Errorf("the server did not become ready: %w", err)
	}
	front := httptest.NewServer(s.Handler)
	defer front.Close()
	return tour{base: front.URL + "/apis/" + groupVersion().String() + "/" + resource, client: front.Client(), out: out, events: &events}.show(ctx)
}

// startEtcd starts a store in the process, on ports of its choice.
func startEtcd(dir string) (*embed.Etcd, string, error) {
	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, "etcd")
	config.LogLevel = "fatal"
	config.ListenPeerUrls = nil
	config.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.AdvertiseClientUrls = config.ListenClientUrls
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, "", fmt.Errorf("could not start the store: %w", err)
	}
	<-etcd.Server.ReadyNotify()
	return etcd, "http://" + etcd.Clients[0].Addr().String(), nil
}

// tour sends requests and prints what they are answered.
type tour struct {
	base   string
	client *http.Client
	out    io.Writer
	events *bytes.Buffer
}

const (
	plainJSON = "application/json"
	jsonPatch = "application/json-patch+json"
	merge     = "application/merge-patch+json"
	apply     = "application/apply-patch+yaml"
)

func (t tour) show(ctx context.Context) error {
	manifest := `{"apiVersion":"hooks.example.com/v1","kind":"Hook","metadata":{"name":"build"},"spec":{"url":"https://ci.example.com","auth":{"user":"bot","token":"TOKEN"}}}`
	with := func(token string) string { return strings.Replace(manifest, "TOKEN", token, 1) }
	for _, step := range []struct{ what, user, method, path, contentType, body string }{
		{"The writer creates a Hook, and does not get the token back", writer, "POST", "", plainJSON, with("s3cr3t-one")},
		{"The keeper sees it", keeper, "GET", "/build", "", ""},
		{"The writer does not", writer, "GET", "/build", "", ""},
		{"and may not ask", writer, "GET", "/build/sensitive", "", ""},
		{"What the writer has read can be written back", writer, "PUT", "/build", plainJSON, with("\\u003comitted\\u003e")},
		{"A copy of the field is one of the placeholder", writer, "PATCH", "/build", jsonPatch, `[{"op":"add","path":"/metadata/annotations","value":{}},{"op":"copy","from":"/spec/auth/token","path":"/metadata/annotations/copy"}]`},
		{"A test says nothing about a guess, right or wrong", writer, "PATCH", "/build", jsonPatch, `[{"op":"test","path":"/spec/auth/token","value":"s3cr3t-one"}]`},
		{"The writer sets another token", writer, "PATCH", "/build", merge, `{"spec":{"auth":{"token":"s3cr3t-two"}}}`},
		{"and the keeper sees that", keeper, "GET", "/build/sensitive", "", ""},
		{"There, the token can be changed and nothing else", keeper, "PATCH", "/build/sensitive", merge, `{"spec":{"url":"https://other.example.com","auth":{"token":"s3cr3t-three"}}}`},
		{"Apply without the field that it does not own", writer, "PATCH", "/build?fieldManager=ci", apply, `{"apiVersion":"hooks.example.com/v1","kind":"Hook","metadata":{"labels":{"team":"a"}}}`},
		{"The placeholder stands for nothing on create", writer, "POST", "", plainJSON, strings.Replace(with("<omitted>"), "build", "other", 1)},
	} {
		answer, err := t.do(ctx, step.user, step.method, step.path, step.contentType, step.body)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.out, "%s:\n  %s\n", step.what, answer)
	}
	return t.audited()
}

// do sends a request and says in a line what came back.
func (t tour) do(ctx context.Context, user, method, path, contentType, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, t.base+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("X-User", user)
	req.Header.Set("Content-Type", contentType)
	resp, err := t.client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		HookV1
		Message string `json:"message"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("could not read the answer: %w", err)
	}
	line := fmt.Sprint(resp.StatusCode)
	if answer.Kind == "Status" {
		return line + " " + answer.Message, nil
	}
	line += fmt.Sprintf(" generation %d, %s", answer.Generation, answer.Spec.URL)
	if answer.Spec.Auth != nil {
		line += ", token " + answer.Spec.Auth.Token
	}
	if copied := answer.Annotations["copy"]; copied != "" {
		line += ", copy " + copied
	}
	return line, nil
}

// audited prints what audit has of the first request.
func (t tour) audited() error {
	line, _, _ := strings.Cut(t.events.String(), "\n")
	var first struct {
		Verb          string
		RequestObject struct{ Spec json.RawMessage }
	}
	if err := json.Unmarshal([]byte(line), &first); err != nil {
		return fmt.Errorf("could not read an audit event: %w", err)
	}
	fmt.Fprintf(t.out, "Audit has of the first request:\n  %s %s\n", first.Verb, first.RequestObject.Spec)
	if strings.Contains(t.events.String(), "s3cr3t") {
		return errors.New("a token is in the audit log")
	}
	return nil
}
