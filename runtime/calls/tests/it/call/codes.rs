//! The closed set of error codes: an addition or a changed status is a line in the review.

use convoke::Code;

#[test]
fn every_error_code_has_its_spelling_status_and_retryability() {
    let lines: Vec<String> = Code::ALL
        .iter()
        .map(|code| {
            let retry = if code.retryable() { "retry" } else { "final" };
            format!("{:24} {} {retry}\n", code.as_str(), code.status())
        })
        .collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/call/codes.txt");
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(file, lines.concat()).unwrap();
    }
    assert_eq!(
        lines.concat(),
        std::fs::read_to_string(file).unwrap(),
        "the codes differ; if the change is intended, run `.ci/renew`"
    );
}
