//! The table of performance metrics: one row per function and period. Older rows are aggregated.
//!
//! A row of the last hour holds a minute in spans of a second. A row of the last day holds ten minutes in spans of ten
//! seconds, and a row of the last week an hour in spans of a minute. Aggregation replaces the rows in one transaction,
//! so that every call is in the table once. No transaction here occupies the writer longer than some milliseconds.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use convoke_macros::table;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::histogram::{Span, Stats};
use super::history::History;
use super::minutes::{self, Batch, MINUTE, Of};
use super::recorder::SECOND;
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_core::id::Id;
use convoke_store::database::SWEEP_ROWS;
use convoke_store::table::Bytes;
use convoke_store::{Db, Doc};

/// The calls of one function in one period.
#[table(name = "_performance", prefix = "performance")]
#[index(by_place(function, step_ms, start))]
#[index(by_age(step_ms, start))]
#[index(by_batch(boot, batch, function, step_ms, start), unique)]
pub(crate) struct Stored {
    /// The function's path; empty for all functions together.
    pub function: String,
    /// Length of a span: 1,000, 10,000 or 60,000.
    pub step_ms: i64,
    /// Start of the period.
    pub start: Millis,
    /// The process that wrote it, and the number of its batch; both −1 after an aggregation.
    pub boot: i64,
    pub batch: i64,
    /// The spans, compressed. Each histogram is in HdrHistogram's V2 format.
    pub data: Bytes,
}

/// One resolution of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    pub step_ms: i64,
    /// Period of a row.
    pub stretch_ms: i64,
    /// Time for which rows stay at this level.
    pub retention: Duration,
}

const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The levels, from fine to coarse.
pub(crate) const LEVELS: [Level; 3] = [
    Level { step_ms: SECOND, stretch_ms: MINUTE, retention: Duration::from_millis(HOUR as u64) },
    Level { step_ms: 10 * SECOND, stretch_ms: 10 * MINUTE, retention: Duration::from_millis(DAY as u64) },
    Level { step_ms: MINUTE, stretch_ms: HOUR, retention: Duration::from_millis(7 * DAY as u64) },
];

/// Rows that one transaction writes or removes: about 5 ms.
const ROWS_OF_A_WRITE: usize = 64;
/// Marks aggregated rows.
const AGED: i64 = -1;

impl History {
    /// Writes the metrics of the past minutes to the table, and aggregates older ones to a coarser resolution.
    ///
    /// # Errors
    /// A failure of the store; the next run continues.
    pub async fn store(&self) -> Result<()> {
        let now = self.clock.now();
        store(self, Millis(now.0.div_euclid(MINUTE) * MINUTE)).await
    }

    /// As [`History::store`], and includes the current minute. Call it before the process ends.
    ///
    /// # Errors
    /// As [`History::store`].
    pub async fn store_all(&self) -> Result<()> {
        store(self, Millis(i64::MAX)).await
    }
}

/// Writes the minutes before `end`, aggregates older rows, and removes the oldest ones.
///
/// # Errors
/// A failure of the store. It loses no data, and the next run continues.
async fn store(history: &History, end: Millis) -> Result<()> {
    let _one_at_a_time = history.storing.lock().await;
    for batch in history.minutes.take_before(history.each(), end.0) {
        write(history, &batch).await?;
    }
    let now = history.clock.now();
    for levels in LEVELS.windows(2) {
        age(history, levels[0], levels[1], now).await?;
    }
    forget(history, LEVELS[2], now).await
}

async fn write(history: &History, batch: &Arc<Batch>) -> Result<()> {
    let boot = history.boot;
    let rows: Vec<Stored> = batch
        .parts
        .iter()
        .map(|part| Stored {
            function: part.function.to_string(),
            step_ms: SECOND,
            start: Millis(part.start),
            boot,
            batch: batch.number,
            data: pack(&part.seconds, part.start),
        })
        .collect();
    for rows in rows.chunks(ROWS_OF_A_WRITE) {
        let rows = rows.to_vec();
        history
            .database
            .write("store performance", move |db| {
                for row in &rows {
                    // A commit with an unknown outcome may have written them.
                    db.insert_unique(Stored::by_batch, row.clone())?;
                }
                Ok(())
            })
            .await?;
    }
    batch.mark_written();
    Ok(())
}

/// Aggregates the rows of `fine` that are old enough, one period of `coarse` at a time.
async fn age(history: &History, fine: Level, coarse: Level, now: Millis) -> Result<()> {
    let before = floor((now - fine.retention).0, coarse.stretch_ms);
    let mut from = i64::MIN;
    loop {
        let (boot, first_kept) = (history.boot, history.minutes.first_kept());
        let stretch = history
            .database
            .read(move |db| {
                let range = Millis(from)..Millis(before);
                let Some(oldest) = db.query(Stored::by_age).eq(fine.step_ms).range(range).first()? else {
                    return Ok(None);
                };
                let start = floor(oldest.start.0, coarse.stretch_ms);
                let mut rows = rows_between(db, fine, start, start + coarse.stretch_ms)?;
                // Rows of batches that are still in memory keep their batch numbers, by which queries skip them.
                rows.retain(|row| row.boot != boot || row.batch < first_kept);
                rows.extend(rows_between(db, coarse, start, start + 1)?);
                Ok(Some((start, rows)))
            })
            .await?;
        let Some((start, rows)) = stretch else { return Ok(()) };
        from = start + coarse.stretch_ms;
        replace(history, coarse, start, rows).await?;
    }
}

fn rows_between(db: &Db, level: Level, start: i64, end: i64) -> Result<Vec<Doc<Stored>>> {
    Ok(db.query(Stored::by_age).eq(level.step_ms).range(Millis(start)..Millis(end)).take(usize::MAX)?)
}

/// The rows of one function that become one row.
#[derive(Default)]
struct Gathered {
    spans: Vec<Span>,
    old: Vec<Id<Stored>>,
    /// True if there are spans to aggregate.
    fine: bool,
}

/// Replaces `rows` by one row per function.
async fn replace(history: &History, coarse: Level, start: i64, rows: Vec<Doc<Stored>>) -> Result<()> {
    let mut functions: BTreeMap<String, Gathered> = BTreeMap::new();
    for row in rows {
        let gathered = functions.entry(row.function.clone()).or_default();
        unpack(&row, &mut gathered.spans);
        gathered.old.push(row.id());
        gathered.fine |= row.step_ms != coarse.step_ms;
    }
    let mut writes = Vec::new();
    let mut size = 0;
    let mut functions = functions.into_iter().filter(|(_, gathered)| gathered.fine).peekable();
    while let Some((function, Gathered { spans, old, .. })) = functions.next() {
        let data = pack(&minutes::coarser(spans, coarse.step_ms), start);
        let (step_ms, start) = (coarse.step_ms, Millis(start));
        size += old.len() + 1;
        writes.push((old, Stored { function, step_ms, start, boot: AGED, batch: AGED, data }));
        if size < ROWS_OF_A_WRITE && functions.peek().is_some() {
            continue;
        }
        size = 0;
        let writes = std::mem::take(&mut writes);
        history
            .database
            .write("add up performance", move |db| {
                for (old, row) in &writes {
                    for id in old {
                        db.delete(*id)?;
                    }
                    db.insert(row.clone())?;
                }
                Ok(())
            })
            .await?;
    }
    Ok(())
}

async fn forget(history: &History, coarsest: Level, now: Millis) -> Result<()> {
    let before = now - coarsest.retention - Duration::from_millis(coarsest.stretch_ms.unsigned_abs());
    history
        .database
        .sweep("forget performance", move |db| {
            let old = db.query(Stored::by_age).eq(coarsest.step_ms).range(..before).take(SWEEP_ROWS)?;
            Ok(old.iter().map(Doc::id).collect())
        })
        .await
}

/// Reads the spans of `[from, end)` from the table, without the rows of batches from `first_kept` on, which are in
/// memory.
pub(crate) fn read(
    db: &Db,
    of: &Of,
    (from, end): (i64, i64),
    boot: i64,
    first_kept: i64,
    out: &mut Vec<(Arc<str>, Span)>,
) -> Result<()> {
    let mut spans = Vec::new();
    for level in LEVELS {
        // A row that began earlier may reach into the requested time.
        let start = floor(from, level.stretch_ms);
        let rows = match of {
            Of::Together => rows_of(db, minutes::ALL, level, start, end)?,
            Of::Functions(functions) => {
                let mut rows = Vec::new();
                for function in functions {
                    rows.extend(rows_of(db, function, level, start, end)?);
                }
                rows
            }
            Of::Each => {
                let mut rows = rows_between(db, level, start, end)?;
                rows.retain(|row| row.function != minutes::ALL);
                rows
            }
        };
        for row in rows.iter().filter(|row| row.boot != boot || row.batch < first_kept) {
            unpack(row, &mut spans);
            let function: Arc<str> = row.function.as_str().into();
            out.extend(spans.drain(..).map(|span| (function.clone(), span)));
        }
    }
    Ok(())
}

fn rows_of(db: &Db, function: &str, level: Level, start: i64, end: i64) -> Result<Vec<Doc<Stored>>> {
    let range = Millis(start)..Millis(end);
    Ok(db.query(Stored::by_place).eq(function).eq(level.step_ms).range(range).take(usize::MAX)?)
}

fn floor(time: i64, step: i64) -> i64 {
    time.div_euclid(step) * step
}

/// Encodes spans: for each its distance from `start` in ms, four sums, and the length and bytes of its histogram.
/// Numbers are little-endian, and the whole is compressed.
fn pack(spans: &[Span], start: i64) -> Bytes {
    let mut plain = Vec::new();
    for span in spans {
        let Stats { calls, errors, scheduled, latency_us } = span.stats;
        let distance = u32::try_from(span.start - start).unwrap_or(0);
        let bytes = u32::try_from(span.packed.len()).unwrap_or(0);
        plain.extend_from_slice(&distance.to_le_bytes());
        for number in [calls, errors, scheduled, latency_us] {
            plain.extend_from_slice(&number.to_le_bytes());
        }
        plain.extend_from_slice(&bytes.to_le_bytes());
        plain.extend_from_slice(&span.packed);
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(&plain).and_then(|()| encoder.finish());
    Bytes(packed.expect("bytes can be written to memory"))
}

/// Appends the spans of a row to `out`. From a damaged row, the readable spans are used, because metrics need not be
/// complete.
fn unpack(row: &Stored, out: &mut Vec<Span>) {
    let mut plain = Vec::new();
    if let Err(error) = ZlibDecoder::new(&row.data.0[..]).read_to_end(&mut plain) {
        tracing::warn!(target: "convoke::performance", "a row of _performance is damaged: {error}");
    }
    let mut rest = &plain[..];
    while let Some(span) = unpack_one(&mut rest, row.start.0) {
        out.push(span);
    }
}

fn unpack_one(rest: &mut &[u8], start: i64) -> Option<Span> {
    fn number<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
        let (number, tail) = rest.split_first_chunk::<N>()?;
        *rest = tail;
        Some(*number)
    }
    let distance = u32::from_le_bytes(number(rest)?);
    let calls = u64::from_le_bytes(number(rest)?);
    let errors = u64::from_le_bytes(number(rest)?);
    let scheduled = u64::from_le_bytes(number(rest)?);
    let latency_us = u64::from_le_bytes(number(rest)?);
    let bytes = u32::from_le_bytes(number(rest)?);
    let (packed, tail) = rest.split_at_checked(usize::try_from(bytes).ok()?)?;
    *rest = tail;
    let stats = Stats { calls, errors, scheduled, latency_us };
    Some(Span { start: start + i64::from(distance), stats, packed: packed.into() })
}
