#![allow(unused)]

use convoke::File;
use convoke::prelude::*;

#[table(name = "photos", prefix = "photo")]
pub struct Photo {
    #[file]
    pub bare: File,
    #[file(max = "10MB")]
    pub unit: File,
    #[file(max = "6GiB")]
    pub huge: File,
    #[file(types())]
    pub empty: File,
    #[file(types("png"))]
    pub kind: File,
    #[file(size = 3)]
    pub unknown: File,
}

fn main() {}
