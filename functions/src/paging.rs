//! Pages of lists with a filter, and the limit of metadata in a complete list.

use convoke::prelude::*;
use convoke::store::Cursor;
use schema::Metadata;

/// Most reads for one page, whatever the filter skips; it limits the statements of a call. A page that is not full has
/// a cursor to continue.
const READS_MAX: usize = 10;

/// Returns a page of at most `rows_max` items, read by `read(cursor, rows)` and converted by `show`, which returns none
/// for a hidden row.
///
/// # Errors
/// Errors of `read` and `show`.
pub fn filtered<T, U>(
    cursor: Option<Cursor>,
    rows_max: usize,
    mut read: impl FnMut(Option<&Cursor>, usize) -> Result<Page<T>>,
    mut show: impl FnMut(Vec<T>) -> Result<Vec<U>>,
) -> Result<Page<U>> {
    let mut page = Page { items: Vec::new(), cursor };
    for _ in 0..READS_MAX {
        let part = read(page.cursor.as_ref(), rows_max - page.items.len())?;
        page.items.extend(show(part.items)?);
        page.cursor = part.cursor;
        if page.cursor.is_none() || page.items.len() >= rows_max {
            break;
        }
    }
    Ok(page)
}

/// Returns true if there is room for this metadata, and subtracts its bytes. Without room there is none for later items
/// either, because a list must not omit some by their size.
pub fn takes(room: &mut usize, metadata: &Metadata) -> bool {
    let bytes = serde_json::to_vec(metadata).map_or(usize::MAX, |json| json.len());
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or(0);
    left.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_filter_is_one_read() {
        let mut reads = 0;
        let read = |_: Option<&Cursor>, rows: usize| {
            reads += 1;
            Ok(Page { items: (0..rows).collect::<Vec<_>>(), cursor: None })
        };
        let page = filtered(None, 3, read, Ok).unwrap();
        assert_eq!((page.items, reads), (vec![0, 1, 2], 1));
    }

    #[test]
    fn metadata_is_listed_as_long_as_there_is_room_for_it() {
        let large: Metadata = serde_json::from_str(r#"{"device":"laptop"}"#).unwrap();
        let small: Metadata = serde_json::from_str(r#"{"a":1}"#).unwrap();
        let mut room = 45;
        assert!(takes(&mut room, &large) && takes(&mut room, &large));
        assert_eq!(room, 7);
        assert!(takes(&mut room, &small));
        assert!(!takes(&mut room, &small));
        let mut room = 18;
        assert!(!takes(&mut room, &large));
        assert!(!takes(&mut room, &small), "it follows an item without room");
    }
}
