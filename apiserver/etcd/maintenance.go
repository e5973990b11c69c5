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
	"context"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"k8s.io/klog/v2"
)

const (
	// A full store works again when its file is smaller than this share of the
	// quota; without the margin the next write would fill it again.
	reopenShare = 0.9
	// A full store is defragmented if that frees at least this share of the file.
	worthwhileShare = 0.05
)

// maintain looks after the size of the database until ctx ends.
func (s *Server) maintain(ctx context.Context, config Config) {
	logger := klog.FromContext(ctx).WithName("etcd-maintenance")
	ticker := config.Clock.NewTicker(config.MaintenanceInterval)
	defer ticker.Stop()
	for {
		if err := s.maintainOnce(ctx, config); err != nil && ctx.Err() == nil {
			logger.Error(err, "The store needs care that it could not get; it is tried again", "after", config.MaintenanceInterval)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.done:
			return
		case <-ticker.C():
		}
	}
}

func (s *Server) maintainOnce(ctx context.Context, config Config) error {
	if s.full() {
		return s.reopen(ctx)
	}
	backend := s.etcd.Server.Backend()
	size, free := backend.Size(), backend.Size()-backend.SizeInUse()
	if free < config.DefragmentFreeBytes || float64(free) < config.DefragmentFreeShare*float64(size) {
		return nil
	}
	return s.defragment(ctx)
}

// full tells whether etcd refuses writes because the quota was reached.
func (s *Server) full() bool {
	for _, alarm := range s.etcd.Server.Alarms() {
		if alarm.GetAlarm() == pb.AlarmType_NOSPACE {
			return true
		}
	}
	return false
}

// reopen finds the way out of a full store. etcd would wait for an operator to
// compact, to defragment and to disarm the alarm, but no operator can reach it;
// and the library's own compaction begins with a write, which is refused.
// Compacting up to now makes watches start anew, which they can.
func (s *Server) reopen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	server := s.etcd.Server
	revision := server.KV().Rev()
	if server.KV().FirstRev() < revision {
		if _, err := server.Compact(ctx, &pb.CompactionRequest{Revision: revision, Physical: true}); err != nil {
			return fmt.Errorf("could not compact the full store: %w", err)
		}
	}
	size := server.Backend().Size()
	if free := size - server.Backend().SizeInUse(); float64(free) > worthwhileShare*float64(size) {
		if err := s.defragment(ctx); err != nil {
			return err
		}
	}
	if size := server.Backend().Size(); float64(size) > reopenShare*float64(s.quota) {
		return fmt.Errorf("the store is full: %d bytes of a quota of %d are used; objects can be deleted but not written", size, s.quota)
	}
	request := &pb.AlarmRequest{
		Action:   pb.AlarmRequest_DEACTIVATE,
		Alarm:    pb.AlarmType_NOSPACE,
		MemberID: uint64(server.MemberID()),
	}
	if _, err := server.Alarm(ctx, request); err != nil {
		return fmt.Errorf("could not reopen the full store: %w", err)
	}
	klog.FromContext(ctx).Info("The store was full and works again", "bytes", server.Backend().Size(), "quota", s.quota)
	return nil
}

func (s *Server) defragment(ctx context.Context) error {
	backend := s.etcd.Server.Backend()
	before, begin := backend.Size(), time.Now()
	if err := s.etcd.Server.Defragment(); err != nil {
		return fmt.Errorf("could not defragment the store: %w", err)
	}
	klog.FromContext(ctx).Info("Defragmented the store", "bytesBefore", before, "bytesAfter", backend.Size(), "took", time.Since(begin))
	return nil
}
