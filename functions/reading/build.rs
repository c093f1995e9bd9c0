//! Packs the learned weights.

#[path = "src/model/packing.rs"]
mod packing;

use std::error::Error;
use std::fs::{read_to_string, write};
use std::path::PathBuf;

/// The tables, by the names of their files.
const TABLES: [&str; 3] = ["acts", "referents", "topics"];

#[allow(clippy::print_stdout, reason = "a build script speaks to Cargo through its standard output")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/model");
    let folder = PathBuf::from(std::env::var("OUT_DIR")?);
    for table in TABLES {
        let packed = packing::packed(&read_to_string(format!("src/model/{table}.tsv"))?)?;
        write(folder.join(format!("{table}.features")), packed.features)?;
        write(folder.join(format!("{table}.weights")), packed.weights)?;
    }
    Ok(())
}
