// Package scale holds what many pools cost: nothing at rest, little at the start, and no more than
// AWS allows when all change at once.
package scale
