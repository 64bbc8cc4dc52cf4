//! Casts four floats to float8e4m3fn, reports what that lost, prints the results, and reads a text.
//!
//! rustc cast.rs -L native=DIRECTORY_OF_LIBTENSORCAST
//! SPDX-License-Identifier: Apache-2.0

use std::ffi::{c_char, c_void, CStr};
use std::mem::{size_of, size_of_val};
use std::ptr::{null, null_mut};

const FLOAT32: i32 = 1;
const FLOAT16: i32 = 10;
const FLOAT8E4M3FN: i32 = 17;
const TO_LIMIT: usize = 6;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct LossExample {
    index: u64,
    source_code: u64,
    result_code: u64,
}

#[repr(C)]
#[derive(Default)]
struct LossReport {
    struct_size: u32,
    kinds: u32,
    from: i32,
    to: i32,
    elements: u64,
    counts: [u64; 16],
    first: [LossExample; 16],
    compared: u64,
    max_abs_error: f64,
    max_abs_example: LossExample,
    compared_nonzero: u64,
    max_rel_error: f64,
    max_rel_example: LossExample,
    sum_squares: f64,
    sum_squared_error: f64,
    rmse: f64,
    snr_db: f64,
    finite: u64,
    amax: f64,
    smallest_nonzero: f64,
}

#[repr(C)]
struct Run {
    struct_size: u32,
    reserved: u32,
    loss_index: u64,
    executor: *mut c_void,
    loss: *mut c_void,
}

#[repr(C)]
struct ParseFailure {
    struct_size: u32,
    reserved: u32,
    index: u64,
    text: [u8; 65],
}

#[link(name = "tensorcast")]
extern "C" {
    fn tensorcast_status_text(status: i32) -> *const c_char;
    fn tensorcast_loss_meter_create(
        from: i32, to: i32, options: *const c_void, meter: *mut *mut c_void) -> i32;
    fn tensorcast_loss_meter_report(meter: *const c_void, report: *mut LossReport) -> i32;
    fn tensorcast_loss_meter_destroy(meter: *mut c_void);
    fn tensorcast_cast(
        from: i32, source: *const c_void, source_bytes: u64, to: i32, destination: *mut c_void,
        destination_bytes: u64, n: u64, options: *const c_void, run: *const Run) -> i32;
    fn tensorcast_printed_bytes(
        from: i32, source: *const c_void, source_bytes: u64, n: u64, options: *const c_void,
        run: *const Run, printed: *mut u64) -> i32;
    fn tensorcast_print_strings(
        from: i32, source: *const c_void, source_bytes: u64, n: u64, offsets: *mut u64,
        offsets_count: u64, bytes: *mut u8, bytes_size: u64, options: *const c_void,
        run: *const Run) -> i32;
    fn tensorcast_parse_strings(
        offsets: *const u64, offsets_count: u64, bytes: *const u8, bytes_size: u64, to: i32,
        destination: *mut c_void, destination_bytes: u64, options: *const c_void, run: *const Run,
        failure: *mut ParseFailure) -> i32;
}

fn status_text(status: i32) -> String {
    unsafe { CStr::from_ptr(tensorcast_status_text(status)) }.to_string_lossy().into_owned()
}

fn check(status: i32) {
    if status != 0 {
        eprintln!("tensorcast: {}", status_text(status));
        std::process::exit(1);
    }
}

fn bytes_of<T>(items: &[T]) -> u64 {
    size_of_val(items) as u64
}

fn main() {
    let weights = [0.1f32, 448.0, 512.0, -1e-9];
    let mut codes = [0u8; 4]; // a float8 is a byte

    // Cast, and measure: without a meter, nothing is measured.
    let mut report = LossReport { struct_size: size_of::<LossReport>() as u32, ..Default::default() };
    unsafe {
        let mut meter = null_mut();
        check(tensorcast_loss_meter_create(FLOAT32, FLOAT8E4M3FN, null(), &mut meter));
        let run = Run {
            struct_size: size_of::<Run>() as u32,
            reserved: 0,
            loss_index: 0,
            executor: null_mut(),
            loss: meter,
        };
        check(tensorcast_cast(
            FLOAT32, weights.as_ptr().cast(), bytes_of(&weights), FLOAT8E4M3FN,
            codes.as_mut_ptr().cast(), bytes_of(&codes), 4, null(), &run));
        check(tensorcast_loss_meter_report(meter, &mut report));
        tensorcast_loss_meter_destroy(meter);
    }
    println!("codes: {:02x} {:02x} {:02x} {:02x}", codes[0], codes[1], codes[2], codes[3]);
    println!("of {} values {} went to the limit, SNR {:.1} dB",
        report.elements, report.counts[TO_LIMIT], report.snr_db);

    // Print what they stand for: cast back, and ask how many bytes the texts take first.
    let mut values = [0f32; 4];
    let mut size = 0u64;
    let mut offsets = [0u64; 5];
    unsafe {
        check(tensorcast_cast(
            FLOAT8E4M3FN, codes.as_ptr().cast(), bytes_of(&codes), FLOAT32,
            values.as_mut_ptr().cast(), bytes_of(&values), 4, null(), null()));
        check(tensorcast_printed_bytes(
            FLOAT32, values.as_ptr().cast(), bytes_of(&values), 4, null(), null(), &mut size));
    }
    let mut texts = vec![0u8; size as usize];
    unsafe {
        check(tensorcast_print_strings(
            FLOAT32, values.as_ptr().cast(), bytes_of(&values), 4, offsets.as_mut_ptr(), 5,
            texts.as_mut_ptr(), size, null(), null()));
    }
    let texts: Vec<_> = offsets.windows(2)
        .map(|o| String::from_utf8_lossy(&texts[o[0] as usize..o[1] as usize]).into_owned())
        .collect();
    println!("values: {}", texts.join(" "));

    // Parse: string i is bytes starts[i] to starts[i + 1] - 1.
    let numbers = b"1.51e400half";
    let starts = [0u64, 3, 8, 12];
    let mut halves = [0u16; 3]; // a float16 is 16 bits
    let mut failure = ParseFailure {
        struct_size: size_of::<ParseFailure>() as u32,
        reserved: 0,
        index: 0,
        text: [0; 65],
    };
    let status = unsafe {
        tensorcast_parse_strings(
            starts.as_ptr(), 4, numbers.as_ptr(), bytes_of(numbers), FLOAT16,
            halves.as_mut_ptr().cast(), bytes_of(&halves), null(), null(), &mut failure)
    };
    let text = CStr::from_bytes_until_nul(&failure.text).expect("the text ends in NUL");
    println!("text {}, {:?}: {}", failure.index, text, status_text(status));
    unsafe {
        check(tensorcast_parse_strings(
            starts.as_ptr(), 3, numbers.as_ptr(), bytes_of(numbers), FLOAT16,
            halves.as_mut_ptr().cast(), bytes_of(&halves), null(), null(), null_mut()));
    }
    println!("float16: {:04x} {:04x}", halves[0], halves[1]);
}
