//! The edit between two texts, for a rollback, which only appends to the log.
//!
//! Keeps the common prefix and suffix. The difference is not minimal: everything in between is deleted and inserted.

use super::operation::Operation;
use super::units::{cut, units};

/// Returns the operations that turn `from` into `to`, in order: at most one delete, then inserts of at most
/// `insert_units_max` units each. Empty if the texts are equal. `insert_units_max` must be at least 2.
pub fn difference(from: &str, to: &str, insert_units_max: usize) -> Vec<Operation> {
    let begin = common_beginning(from, to);
    let end = common_end(&from[begin..], &to[begin..]);
    let gone = &from[begin..from.len() - end];
    let new = &to[begin..to.len() - end];
    let mut position = units(&from[..begin]);
    let mut operations = Vec::new();
    if !gone.is_empty() {
        operations.push(Operation::delete(position, units(gone)));
    }
    for part in cut(new, insert_units_max, insert_units_max) {
        let insert = Operation::insert(position, part);
        position = insert.shape.end();
        operations.push(insert);
    }
    operations
}

fn common_beginning(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(letter, _)| letter.len_utf8()).sum()
}

fn common_end(a: &str, b: &str) -> usize {
    a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b).map(|(letter, _)| letter.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::super::operation::Text;
    use super::*;

    fn applied(from: &str, operations: &[Operation]) -> String {
        let mut text = Text::from(from);
        for operation in operations {
            text.apply(operation).unwrap();
        }
        String::from(&text)
    }

    #[test]
    fn common_prefix_and_suffix_are_kept() {
        let operations = difference("one two three", "one 2 three", 100);

        assert_eq!(operations, [Operation::delete(4, 3), Operation::insert(4, "2")]);
    }

    #[test]
    fn equal_texts_need_nothing_and_a_repetition_is_not_counted_twice() {
        assert_eq!(difference("aa", "aa", 100), []);
        assert_eq!(difference("aa", "aaa", 100), [Operation::insert(2, "a")]);
        assert_eq!(difference("aaa", "aa", 100), [Operation::delete(2, 1)]);
    }

    #[test]
    fn letters_of_two_units_stay_whole() {
        // The two characters share their first unit.
        let operations = difference("x😀y", "x😁y", 100);

        assert_eq!(operations, [Operation::delete(1, 2), Operation::insert(1, "😁")]);
    }

    #[test]
    fn long_text_comes_in_several_inserts() {
        let to = "😀".repeat(70) + "end";

        let operations = difference("the end", &to, 30);

        assert!(operations.iter().all(|operation| operation.check_form(30).is_ok()));
        assert_eq!(applied("the end", &operations), to);
    }
}
