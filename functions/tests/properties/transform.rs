//! Two operations made on one text, and each past the other.

use functions::notes::difference::difference;
use functions::notes::operation::{Operation, Shape, Text};
use functions::notes::transform::{Side, cross, transform};
use proptest::prelude::*;

use crate::drafts::{Letters, draft, drafts};

fn applied(text: &Text, operation: &Operation, shapes: impl Iterator<Item = Shape>) -> Text {
    let mut text = text.clone();
    for shape in shapes {
        text.apply(&Operation { shape, content: operation.content.clone() }).expect("what was transformed fits");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn two_operations_lead_to_one_text_in_either_order(length in 0..12usize, a in draft(), b in draft()) {
        let mut letters = Letters::default();
        let text = Text::from(letters.take(length).as_str());
        let (a, b) = (a.on(length, &mut letters), b.on(length, &mut letters));

        let after_a = applied(&text, &a, [a.shape].into_iter());
        let after_b = applied(&text, &b, [b.shape].into_iter());
        let a_then_b = applied(&after_a, &b, transform(b.shape, a.shape, Side::Committed).iter());
        let b_then_a = applied(&after_b, &a, transform(a.shape, b.shape, Side::Incoming).iter());

        prop_assert_eq!(String::from(&a_then_b), String::from(&b_then_a));
    }

    #[test]
    fn a_sequence_and_an_operation_lead_to_one_text_in_either_order(
        length in 0..12usize, ours in drafts(1..6), theirs in draft()
    ) {
        let mut letters = Letters::default();
        let base = Text::from(letters.take(length).as_str());
        let theirs = theirs.on(length, &mut letters);
        let mut text = base.clone();
        // Deletes only: of them alone it is known to which one each piece belongs, whatever its text.
        let ours: Vec<Shape> = ours.into_iter().filter_map(|draft| {
            let operation = draft.on(text.len(), &mut letters);
            operation.content.is_empty().then(|| { text.apply(&operation).unwrap(); operation.shape })
        }).collect();

        let (moved, carried) = cross(&ours, theirs.shape);
        let nothing = Operation::retain(0, 0);
        let ours_first = applied(&text, &theirs, carried.into_iter());
        let theirs_first = applied(&applied(&base, &theirs, [theirs.shape].into_iter()), &nothing, moved.into_iter());

        prop_assert_eq!(String::from(&ours_first), String::from(&theirs_first));
    }

    #[test]
    fn a_difference_leads_from_one_text_to_the_other(from in "[ab😀😁é]{0,12}", to in "[ab😀😁é]{0,12}") {
        let mut text = Text::from(from.as_str());

        for operation in difference(&from, &to, 4) {
            prop_assert_eq!(operation.check_form(4), Ok(()));
            prop_assert_eq!(text.apply(&operation), Ok(()));
        }

        prop_assert_eq!(String::from(&text), to);
    }
}
