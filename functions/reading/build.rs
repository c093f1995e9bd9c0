//! Packs the learned weights and the senses of words.

#[path = "src/languages/packing.rs"]
mod senses;
#[path = "src/model/packing.rs"]
mod weights;

use std::error::Error;
use std::fs::{read_to_string, write};
use std::path::PathBuf;

/// The tables of weights, by the names of their files.
const TABLES: [&str; 3] = ["acts", "referents", "topics"];

/// The languages with a file of senses.
const LANGUAGES: [&str; 7] = ["en", "de", "fr", "es", "pt", "it", "nl"];

#[allow(clippy::print_stdout, reason = "a build script speaks to Cargo through its standard output")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/model");
    println!("cargo::rerun-if-changed=src/languages");
    let folder = PathBuf::from(std::env::var("OUT_DIR")?);
    for table in TABLES {
        let packed = weights::packed(&read_to_string(format!("src/model/{table}.tsv"))?)?;
        write(folder.join(format!("{table}.features")), packed.features)?;
        write(folder.join(format!("{table}.weights")), packed.weights)?;
    }
    let files: Result<Vec<String>, _> =
        LANGUAGES.iter().map(|code| read_to_string(format!("src/languages/{code}.tsv"))).collect();
    let packed = senses::packed(&files?)?;
    for (code, forms) in LANGUAGES.iter().zip(packed.forms) {
        write(folder.join(format!("{code}.forms")), forms)?;
    }
    write(folder.join("lemmas"), packed.lemmas)?;
    write(folder.join("groups"), packed.groups)?;
    Ok(())
}
