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
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"entente.dev/entente/apiserver/etcd/datadir"
)

// DefaultQuotaBackendBytes is the default limit of the database's size: 2 GiB,
// etcd's own default.
const DefaultQuotaBackendBytes int64 = 2 << 30

// MaxQuotaBackendBytes is the highest quota that etcd is made for: 8 GiB.
const MaxQuotaBackendBytes int64 = 8 << 30

// Config says where and how the embedded store runs. The zero value of every
// field but Dir (or Claim) is its default.
type Config struct {
	// Dir is the data folder, the argument of --data-dir. The store lives in its
	// subfolder etcd. It is made if it is not there. Ignored if Claim is set.
	Dir string
	// Claim is the data folder when the caller holds it already; the caller
	// releases it, after Close. Without it Start claims Dir, and Close releases it.
	Claim *datadir.Claim

	// QuotaBackendBytes limits the size of the database, in bytes. Above it
	// writes are refused until space is freed. From 16 MiB to
	// MaxQuotaBackendBytes; default DefaultQuotaBackendBytes.
	QuotaBackendBytes int64

	// MaintenanceInterval is the time between two looks at the size of the
	// database. Default 10 minutes.
	MaintenanceInterval time.Duration
	// DefragmentFreeBytes and DefragmentFreeShare (0 to 1) are what has to be
	// free in the database file, both at once, for it to be defragmented. Reads
	// and writes wait meanwhile (about a second for each 100 MiB in use), hence
	// the defaults of 100 MiB and a half.
	DefragmentFreeBytes int64
	DefragmentFreeShare float64

	// StartTimeout limits the time from Start to ready. Default 60 seconds.
	StartTimeout time.Duration
	// Clock drives the maintenance. Default: the real one.
	Clock clock.WithTicker
}

// minQuotaBackendBytes leaves room for what the store needs for itself.
const minQuotaBackendBytes int64 = 16 << 20

func (c Config) withDefaults() Config {
	if c.QuotaBackendBytes == 0 {
		c.QuotaBackendBytes = DefaultQuotaBackendBytes
	}
	if c.MaintenanceInterval == 0 {
		c.MaintenanceInterval = 10 * time.Minute
	}
	if c.DefragmentFreeBytes == 0 {
		c.DefragmentFreeBytes = 100 << 20
	}
	if c.DefragmentFreeShare == 0 {
		c.DefragmentFreeShare = 0.5
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = time.Minute
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}

func (c Config) validate() error {
	if c.QuotaBackendBytes < minQuotaBackendBytes || c.QuotaBackendBytes > MaxQuotaBackendBytes {
		return fmt.Errorf("the quota of %d bytes is not between %d and %d", c.QuotaBackendBytes, minQuotaBackendBytes, MaxQuotaBackendBytes)
	}
	if c.MaintenanceInterval < 0 || c.StartTimeout < 0 || c.DefragmentFreeBytes < 0 {
		return errors.New("intervals and sizes must not be negative")
	}
	if c.DefragmentFreeShare < 0 || c.DefragmentFreeShare > 1 {
		return fmt.Errorf("the free share of %v is not between 0 and 1", c.DefragmentFreeShare)
	}
	return nil
}
