//! Times best fit on lengths spread like those of documents: `pack_speed [DOCUMENTS] [CAPACITY]`.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::cast_sign_loss)]

use std::time::Instant;

fn main() {
    let mut given = std::env::args()
        .skip(1)
        .map(|word| word.parse::<u32>().unwrap());
    let documents = given.next().unwrap_or(1_000_000);
    let capacity = given.next().unwrap_or(4096);
    let mut state = 1u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    };
    // Log-normal with a median of 400 tokens; longer documents fill a bin of their own.
    let lengths: Vec<u32> = (0..documents)
        .map(|_| {
            let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
            ((400.0 * normal.exp()) as u32).clamp(1, capacity)
        })
        .collect();
    let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    for (name, method) in [
        (
            "best_fit",
            jeton_pack::best_fit as fn(&[u32], u32, jeton_pack::KeepGoing<'_>) -> _,
        ),
        ("first_fit", jeton_pack::first_fit),
        ("sorted_batches", jeton_pack::sorted_batches),
    ] {
        let start = Instant::now();
        let bins = method(&lengths, capacity, &mut || true).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let fill = tokens as f64 / (bins.len() as f64 * f64::from(capacity));
        println!(
            "{name}: {documents} lengths, {seconds:.3} s, {} bins, fill {fill:.5}",
            bins.len()
        );
    }
}
