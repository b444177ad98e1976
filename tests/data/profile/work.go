// Go: functions of a goroutine that stays on one thread, so that the thread's CPU time is that of its functions; the
// runtime's threads run beside it. See parts.h for what it prints.
package main

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"
)

type step interface{ do(turns uint64) uint64 }
type linear struct{ a, c uint64 }

//go:noinline
func (l linear) do(turns uint64) uint64 {
	x := uint64(1)
	for i := uint64(0); i < turns; i++ {
		x = x*l.a + l.c
	}
	return x
}

//go:noinline
func shifted(turns uint64) uint64 {
	x := uint64(1)
	for i := uint64(0); i < turns; i++ {
		x = (x ^ x>>7) * 2862933555777941757
	}
	return x
}

const ofProcess, ofThread = 2, 3 // CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID

func cpuNs(clock uintptr) uint64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Sec)*1000000000 + uint64(t.Nsec)
}

var ended, kept, total uint64

//go:noinline
func caller(s step, turns uint64) uint64 { return s.do(turns) + 1 }

func work(done chan [2]uint64) {
	runtime.LockOSThread()
	var spent [2]uint64
	random, begin := uint64(88172645463325252), cpuNs(ofProcess)
	println("ready")
	for atomic.LoadUint64(&ended) == 0 {
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		turns := 40000 + random%80000
		before := cpuNs(ofThread)
		kept ^= caller(linear{2862933555777941757, 3037000493}, 6*turns)
		after := cpuNs(ofThread)
		kept ^= shifted(3 * turns)
		spent[0] += after - before
		spent[1] += cpuNs(ofThread) - after
	}
	total = cpuNs(ofProcess) - begin
	done <- spent
}

func main() {
	done := make(chan [2]uint64)
	go work(done)
	os.Stdin.Read(make([]byte, 1))
	atomic.StoreUint64(&ended, 1)
	spent := <-done
	println("total", total)
	println("linear", spent[0])
	println("shifted", spent[1])
}
