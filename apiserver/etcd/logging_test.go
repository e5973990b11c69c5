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

package etcd

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"k8s.io/klog/v2/textlogger"
)

// etcd's log goes to the logger of the context, from warning level on.
func TestLogging(t *testing.T) {
	var out bytes.Buffer
	core := newLogCore(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
	logger := newZapLogger(core, newFailure())
	logger = logger.With(zap.String("member", "entente"))

	logger.Debug("debugging")
	logger.Info("informing")
	logger.Warn(expectedWarnings()[0])
	require.Empty(t, out.String())

	logger.Warn("slow disk", zap.Int("milliseconds", 7))
	assert.Regexp(t, `^I.*"slow disk" logger="etcd" member="entente" milliseconds=7\n$`, out.String())
	out.Reset()
	logger.Error("broken disk", zap.Error(errors.New("input/output")))
	assert.Regexp(t, `^E.*"broken disk" logger="etcd" member="entente" error="input/output"\n$`, out.String())
	out.Reset()
	core.shuttingDown.Store(true)
	logger.Error("server closed")
	assert.Empty(t, out.String(), "what stops as it should is no error")
}

// Nothing of the store goes to standard output or standard error by itself.
func TestQuiet(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = write, write
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()

	server, startErr := Start(testContext(t), Config{Dir: t.TempDir()})
	var closeErr error
	if startErr == nil {
		closeErr = server.Close()
	}
	os.Stdout, os.Stderr = stdout, stderr
	require.NoError(t, write.Close())
	require.NoError(t, startErr)
	require.NoError(t, closeErr)
	var out bytes.Buffer
	_, err = out.ReadFrom(read)
	require.NoError(t, err)
	assert.Empty(t, out.String())
}
