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

// Command kmsplugin is a KMS v2 plugin for tests: it encrypts with keys from a file,
// which it reads at every call, so that a test can rotate, remove and break them.
package main

import (
	"context"
	"crypto/aes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apiserver/pkg/storage/value"
	aestransformer "k8s.io/apiserver/pkg/storage/value/encrypt/aes"
	"k8s.io/kms/pkg/service"
)

func main() {
	socket := flag.String("socket", "", "Path of the unix socket to serve on. Required.")
	keys := flag.String("keys", "", "Path of the file of keys: JSON, {current: ID, keys: {ID: 32 bytes in base64}}. Required.")
	flag.Parse()
	if err := serve(*socket, *keys); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(socket, keys string) error {
	// One that was killed leaves its socket behind.
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server := service.NewGRPCService(socket, time.Second, plugin{keys})
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServe() }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		server.Close()
		return nil
	}
}

// plugin encrypts with the keys of a file.
type plugin struct{ path string }

type keyFile struct {
	Current string            `json:"current"`
	Keys    map[string][]byte `json:"keys"`
}

func (p plugin) read() (keyFile, error) {
	data, err := os.ReadFile(p.path)
	if err != nil {
		return keyFile{}, err
	}
	var file keyFile
	if err := json.Unmarshal(data, &file); err != nil {
		return keyFile{}, errors.New("the file of keys cannot be read")
	}
	return file, nil
}

func (f keyFile) transformer(id string) (value.Transformer, error) {
	block, err := aes.NewCipher(f.Keys[id])
	if err != nil {
		return nil, fmt.Errorf("there is no key %s", id)
	}
	return aestransformer.NewGCMTransformer(block)
}

// Status implements service.Service.
func (p plugin) Status(context.Context) (*service.StatusResponse, error) {
	file, err := p.read()
	if err != nil {
		return nil, err
	}
	return &service.StatusResponse{Version: "v2", Healthz: "ok", KeyID: file.Current}, nil
}

// Encrypt implements service.Service.
func (p plugin) Encrypt(ctx context.Context, _ string, data []byte) (*service.EncryptResponse, error) {
	file, err := p.read()
	if err != nil {
		return nil, err
	}
	transformer, err := file.transformer(file.Current)
	if err != nil {
		return nil, err
	}
	ciphertext, err := transformer.TransformToStorage(ctx, data, value.DefaultContext(file.Current))
	if err != nil {
		return nil, err
	}
	return &service.EncryptResponse{Ciphertext: ciphertext, KeyID: file.Current}, nil
}

// Decrypt implements service.Service.
func (p plugin) Decrypt(ctx context.Context, _ string, request *service.DecryptRequest) ([]byte, error) {
	file, err := p.read()
	if err != nil {
		return nil, err
	}
	transformer, err := file.transformer(request.KeyID)
	if err != nil {
		return nil, err
	}
	data, _, err := transformer.TransformFromStorage(ctx, request.Ciphertext, value.DefaultContext(request.KeyID))
	return data, err
}
