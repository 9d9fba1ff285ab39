//! Writes the seeds of every fuzz target to `FOLDER/TARGET/`, where a fuzzer starts from them.

use std::path::PathBuf;

use jeton_testing::harness::{TARGETS, seeds};

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("fuzz/corpus"), PathBuf::from);
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for seed in seeds(target.name) {
            std::fs::write(folder.join(format!("seed-{}", seed.name)), seed.bytes)?;
        }
    }
    Ok(())
}
