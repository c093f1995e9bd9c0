//! The packed form of a table of weights.
//!
//! The build script includes this file, so that the program contains the tables in their lookup form.

use fst::{Error, MapBuilder};

/// A table of weights.
pub(crate) struct Packed {
    /// A finite-state map from each feature to the number of its row.
    pub(crate) features: Vec<u8>,
    /// The weights by row and column, hundredths, as little-endian numbers of 16 bits.
    pub(crate) weights: Vec<u8>,
}

/// Packs the lines of a table: the weights of a feature and the feature, separated by tabs. Other lines are comments.
///
/// # Errors
/// The lines contain a feature twice.
pub(crate) fn packed(lines: &str) -> Result<Packed, Error> {
    let mut rows: Vec<(&str, Vec<i16>)> = lines.lines().filter_map(row).collect();
    rows.sort_unstable();
    let mut features = MapBuilder::memory();
    for (number, (feature, _)) in (0..).zip(&rows) {
        features.insert(feature, number)?;
    }
    let weights = rows.iter().flat_map(|(_, weights)| weights).flat_map(|weight| weight.to_le_bytes()).collect();
    Ok(Packed { features: features.into_inner()?, weights })
}

/// Returns the feature of a line, and its weights.
fn row(line: &str) -> Option<(&str, Vec<i16>)> {
    let (weights, feature) = line.rsplit_once('\t')?;
    let weights: Result<Vec<i16>, _> = weights.split('\t').map(str::parse).collect();
    Some((feature, weights.ok()?))
}
