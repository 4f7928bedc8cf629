//! Rebuilds the crate when a file of the prompt bank appears or changes.

fn main() {
    println!("cargo:rerun-if-changed=../../prompt_bank");
}
