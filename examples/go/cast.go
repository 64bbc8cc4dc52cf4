// Casts four floats to float8e4m3fn, reports what that lost, prints the results, and reads a text.
//
// Set CGO_CFLAGS and CGO_LDFLAGS for an installation outside the system's directories.
// SPDX-License-Identifier: Apache-2.0
package main

/*
#cgo LDFLAGS: -ltensorcast
#include <tensorcast/tensorcast.h>
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

func statusText(status C.int32_t) string {
	return C.GoString(C.tensorcast_status_text(status))
}

func check(status C.int32_t) {
	if status != C.TENSORCAST_OK {
		fmt.Fprintln(os.Stderr, "tensorcast:", statusText(status))
		os.Exit(1)
	}
}

func main() {
	weights := []float32{0.1, 448, 512, -1e-9}
	codes := make([]byte, 4) // a float8 is a byte

	// Cast, and measure: without a meter, nothing is measured.
	var meter *C.tensorcast_loss_meter
	check(C.tensorcast_loss_meter_create(C.TENSORCAST_FLOAT32, C.TENSORCAST_FLOAT8E4M3FN, nil, &meter))
	run := C.tensorcast_run{loss: meter}
	run.struct_size = C.uint32_t(unsafe.Sizeof(run))
	check(C.tensorcast_cast(C.TENSORCAST_FLOAT32, unsafe.Pointer(&weights[0]), 16,
		C.TENSORCAST_FLOAT8E4M3FN, unsafe.Pointer(&codes[0]), 4, 4, nil, &run))
	fmt.Printf("codes: % x\n", codes)

	var report C.tensorcast_loss_report
	report.struct_size = C.uint32_t(unsafe.Sizeof(report))
	check(C.tensorcast_loss_meter_report(meter, &report))
	C.tensorcast_loss_meter_destroy(meter)
	fmt.Printf("of %d values %d went to the limit, SNR %.1f dB\n", report.elements,
		report.counts[C.TENSORCAST_LOSS_TO_LIMIT], float64(report.snr_db))

	// Print what they stand for: cast back, and ask how many bytes the texts take first.
	values := make([]float32, 4)
	check(C.tensorcast_cast(C.TENSORCAST_FLOAT8E4M3FN, unsafe.Pointer(&codes[0]), 4,
		C.TENSORCAST_FLOAT32, unsafe.Pointer(&values[0]), 16, 4, nil, nil))
	var size C.uint64_t
	check(C.tensorcast_printed_bytes(C.TENSORCAST_FLOAT32, unsafe.Pointer(&values[0]), 16, 4, nil, nil,
		&size))
	offsets := make([]C.uint64_t, 5)
	texts := make([]byte, size)
	check(C.tensorcast_print_strings(C.TENSORCAST_FLOAT32, unsafe.Pointer(&values[0]), 16, 4,
		&offsets[0], 5, (*C.char)(unsafe.Pointer(&texts[0])), size, nil, nil))
	fmt.Print("values:")
	for i := 0; i < 4; i++ {
		fmt.Printf(" %s", texts[offsets[i]:offsets[i+1]])
	}
	fmt.Println()

	// Parse: string i is bytes starts[i] to starts[i + 1] - 1.
	numbers := []byte("1.51e400half")
	starts := []C.uint64_t{0, 3, 8, 12}
	halves := make([]uint16, 3) // a float16 is 16 bits
	var failure C.tensorcast_parse_failure
	failure.struct_size = C.uint32_t(unsafe.Sizeof(failure))
	text := (*C.char)(unsafe.Pointer(&numbers[0]))
	status := C.tensorcast_parse_strings(&starts[0], 4, text, 12, C.TENSORCAST_FLOAT16,
		unsafe.Pointer(&halves[0]), 6, nil, nil, &failure)
	fmt.Printf("text %d, %q: %s\n", failure.index, C.GoString(&failure.text[0]), statusText(status))
	check(C.tensorcast_parse_strings(&starts[0], 3, text, 12, C.TENSORCAST_FLOAT16,
		unsafe.Pointer(&halves[0]), 6, nil, nil, nil))
	fmt.Printf("float16: %04x %04x\n", halves[0], halves[1])
}
