//! Pages of a list that shows only some of the rows it reads.

use convoke::prelude::*;
use convoke::store::Cursor;

/// Reads of one page, whatever the filter leaves out: what bounds the statements of a call. A page that is not full
/// and has a cursor goes on where it ended.
const READS_MAX: usize = 10;

/// A page of at most `rows_max` items, read by `read(cursor, rows)` and passed through `show`, which gives nothing for
/// a row that is not shown.
///
/// # Errors
/// Those of `read` and `show`.
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
}
