package names

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strconv"
	"strings"
)

// A Pod's suffix has five characters of five bits. Attempts are mapped to suffixes by a permutation of these 25 bits that
// the Job's UID selects (a Feistel network), not by a hash: with a hash two of a thousand Pods of one Job would share a
// name once in 70 Jobs. So names are unique up to 33 million attempts, and the attempt can be read back from the name.
const (
	suffixLength = 5
	rightBits    = 12
	leftBits     = 13

	rightMask = 1<<rightBits - 1
	leftMask  = 1<<leftBits - 1
	attempts  = 1 << (leftBits + rightBits)
)

// maxAttempt is the highest attempt that PodAttempt believes: most names that are not Ostinato's read as huge ones.
const maxAttempt = attempts / 8

var suffixEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// PodAttempt is the inverse of Pod and IndexedPod: the attempt a name was made from. ok is false for one not of this Job.
func PodAttempt(job, jobUID, pod string) (attempt int64, ok bool) {
	if len(pod) < suffixLength {
		return 0, false
	}
	prefix, suffix := pod[:len(pod)-suffixLength], pod[len(pod)-suffixLength:]
	if prefix != podPrefix(job) && !isIndexedPodPrefix(job, prefix) || strings.ContainsAny(suffix, "\r\n") {
		// The decoder leaves line breaks out.
		return 0, false
	}
	// Five characters are 25 bits; three more zero characters make whole bytes.
	raw, err := suffixEncoding.DecodeString(suffix + "aaa")
	if err != nil {
		return 0, false
	}
	attempt = int64(permuted(binary.BigEndian.Uint32(raw)>>7, jobUID, 3, 2, 1, 0))
	return attempt, attempt > 0 && attempt <= maxAttempt
}

func isIndexedPodPrefix(job, prefix string) bool {
	rest := strings.TrimSuffix(prefix, "-")
	index, err := strconv.ParseInt(rest[strings.LastIndexByte(rest, '-')+1:], 10, 32)
	return err == nil && index >= 0 && prefix == IndexedPodPrefix(job, int32(index))
}

// podPrefix returns what the names of all Pods of a Job begin with.
func podPrefix(job string) string {
	prefix := job + "-"
	return prefix[:min(len(prefix), podBase)]
}

func podSuffix(jobUID string, attempt int64) string {
	value := permuted(uint32(attempt%attempts), jobUID, 0, 1, 2, 3)
	raw := binary.BigEndian.AppendUint32(nil, value<<7)
	return suffixEncoding.EncodeToString(append(raw, 0))[:suffixLength]
}

// permuted maps a value of 25 bits by rounds of the Feistel network; the rounds in reverse order map it back.
func permuted(value uint32, jobUID string, rounds ...int) uint32 {
	key := sha256.Sum256([]byte(jobUID))
	left, right := value>>rightBits, value&rightMask
	for _, round := range rounds {
		if round%2 == 0 {
			left ^= mix(key, round, right) & leftMask
		} else {
			right ^= mix(key, round, left) & rightMask
		}
	}
	return left<<rightBits | right
}

func mix(key [sha256.Size]byte, round int, half uint32) uint32 {
	block := append(key[:], byte(round))
	sum := sha256.Sum256(binary.BigEndian.AppendUint32(block, half))
	return binary.BigEndian.Uint32(sum[:])
}
