//! Tells the code whether Python has its lock.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
