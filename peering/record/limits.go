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

package record

import "time"

const (
	// RepeatWithin is how long the answer to a join may be asked for again by the same
	// key: a reply that was lost does not burn the invite (P6).
	RepeatWithin = 10 * time.Minute
	// ConfirmWithin is how long a pairing that was never used is kept (P7).
	ConfirmWithin = 15 * time.Minute
	// KeyLife is for how long a control key is certified (P2).
	KeyLife = 30 * 24 * time.Hour
	// KeyBackdate is by how much that begins early.
	KeyBackdate = 5 * time.Minute
	// KeyGrace is for how long after its end a key may still be renewed.
	KeyGrace = 30 * 24 * time.Hour
	// DataKeyLife is for how long a data key is certified (P2).
	DataKeyLife = 24 * time.Hour
	// MaxDataKeys is how many data keys of one peer are let in at a time.
	MaxDataKeys = 4
	// MaxControlKeys is how many control keys of one peer are kept at a time, those that
	// were renewed included. It needs four within their life and grace.
	MaxControlKeys = 8
	// BuriedFor is how long a key of a peering that is over is remembered (P12).
	BuriedFor = 60 * 24 * time.Hour
	// SaidSkew is from what difference of the clocks on it is said.
	SaidSkew = 5 * time.Minute
	// MaxSkew is the largest difference with which two clusters are paired.
	MaxSkew = time.Hour
	// ContactStep is the precision to which contact is recorded (P9).
	ContactStep = time.Minute
)
