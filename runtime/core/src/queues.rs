//! Queues of scheduled work, as a program declares them, with their limits.

use std::collections::BTreeMap;
use std::time::Duration;

/// A declared queue, before its limits are checked.
#[derive(Clone, Copy, Debug)]
pub struct QueueDef {
    /// The name in `ctx.schedule(…)?.queue("mail")`.
    pub name: &'static str,
    /// Maximum number of running jobs over all nodes. None: no limit.
    pub parallel: Option<u32>,
    /// Maximum number of running jobs per key over all nodes. None: no limit. One: the jobs of a key run in order.
    pub per_key: Option<u32>,
    /// Maximum number of started jobs per time over all nodes, such as `10/s`. None: no limit.
    pub rate: Option<&'static str>,
    /// Source file of the declaration.
    pub file: &'static str,
    /// Line of the declaration.
    pub line: u32,
}
inventory::collect!(QueueDef);

impl QueueDef {
    /// Returns a queue without limits.
    pub const fn new(name: &'static str, file: &'static str, line: u32) -> Self {
        Self { name, parallel: None, per_key: None, rate: None, file, line }
    }
}

/// Declares a queue for jobs and for steps of workflows: `convoke::queue!("mail", parallel = 4, per_key = 1, rate =
/// "10/s")`. Each limit may be absent, and holds over all nodes.
///
/// - `parallel`: the maximum number of running jobs.
/// - `per_key`: the maximum number of running jobs of one key. With 1, the jobs of a key run in the order of their times.
/// - `rate`: the maximum number of started jobs per second, minute, hour or day: `"10/s"`, `"300/min"`, `"1000/h"`,
///   `"5000/d"`. Starts are spread evenly.
#[macro_export]
macro_rules! queue {
    ($name:literal $(, $limit:ident = $value:literal)* $(,)?) => {
        $crate::__private::inventory::submit! {
            $crate::queues::QueueDef {
                $($limit: ::core::option::Option::Some($value),)*
                ..$crate::queues::QueueDef::new($name, ::core::file!(), ::core::line!())
            }
        }
    };
}

/// A queue with checked limits.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Name.
    pub name: &'static str,
    /// Maximum number of running jobs.
    pub parallel: usize,
    /// Maximum number of running jobs of one key.
    pub per_key: usize,
    /// Maximum rate of started jobs.
    pub rate: Option<StartRate>,
}

/// A maximum rate of started jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartRate {
    /// Number of jobs per second.
    pub per_second: f64,
}

impl StartRate {
    /// Returns the number of jobs that may start together: those of a tenth of a second, at least one.
    pub fn burst(self) -> f64 {
        (self.per_second / 10.0).max(1.0)
    }

    /// Returns the time in which `jobs` may start.
    pub fn time_for(self, jobs: f64) -> Duration {
        Duration::from_millis((jobs / self.per_second * 1_000.0).ceil() as u64)
    }

    fn parse(text: &str) -> Option<Self> {
        let (jobs, unit) = text.split_once('/')?;
        let jobs: u32 = jobs.trim().parse().ok().filter(|jobs| *jobs > 0)?;
        let seconds = match unit.trim() {
            "s" => 1,
            "min" => 60,
            "h" => 60 * 60,
            "d" => 24 * 60 * 60,
            _ => return None,
        };
        Some(Self { per_second: f64::from(jobs) / f64::from(seconds) })
    }
}

/// The queues of a program, by name.
#[derive(Clone, Debug, Default)]
pub struct Queues(BTreeMap<&'static str, Queue>);

impl Queues {
    /// Collects and checks the declared queues.
    ///
    /// # Errors
    /// The first mistake, with file and line: a name twice, a limit of zero, an unreadable rate.
    pub fn collect() -> Result<Self, String> {
        Self::of(inventory::iter::<QueueDef>().copied())
    }

    fn of(declared: impl IntoIterator<Item = QueueDef>) -> Result<Self, String> {
        let mut declared: Vec<QueueDef> = declared.into_iter().collect();
        declared.sort_unstable_by_key(|queue| (queue.file, queue.line));
        let mut queues = BTreeMap::new();
        for def in declared {
            let reject = |reason: &str| Err(format!("{}:{}: queue {:?}: {reason}", def.file, def.line, def.name));
            if def.name.is_empty() {
                return reject("the name is empty");
            }
            for (limit, name) in [(def.parallel, "parallel"), (def.per_key, "per_key")] {
                if limit == Some(0) {
                    return reject(&format!("with `{name} = 0` no job would run; write 1 or more, or remove it"));
                }
            }
            let rate = match def.rate.map(StartRate::parse) {
                Some(None) => return reject("write the rate as \"10/s\", \"300/min\", \"1000/h\" or \"5000/d\""),
                Some(rate) => rate,
                None => None,
            };
            let limit = |limit: Option<u32>| limit.map_or(usize::MAX, |limit| limit as usize);
            let queue = Queue { name: def.name, parallel: limit(def.parallel), per_key: limit(def.per_key), rate };
            if queues.insert(def.name, queue).is_some() {
                return reject("it is declared twice");
            }
        }
        Ok(Self(queues))
    }

    /// Returns a queue by its name.
    pub fn get(&self, name: &str) -> Option<&Queue> {
        self.0.get(name)
    }

    /// Returns all queues, by name.
    pub fn all(&self) -> impl Iterator<Item = &Queue> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn def(name: &'static str) -> QueueDef {
        QueueDef::new(name, "src/a.rs", 1)
    }

    #[test]
    fn rates_are_per_second_minute_hour_or_day() {
        for (text, per_second) in [("10/s", 10.0), ("300/min", 5.0), ("3600/h", 1.0), ("86400/d", 1.0)] {
            assert_eq!(StartRate::parse(text), Some(StartRate { per_second }), "{text}");
        }
        for text in ["", "10", "10/", "0/s", "-1/s", "1.5/s", "10/week"] {
            assert_eq!(StartRate::parse(text), None, "{text}");
        }
        assert_eq!(StartRate { per_second: 2.0 }.time_for(1.0), Duration::from_millis(500));
        assert_eq!((StartRate { per_second: 2.0 }.burst(), StartRate { per_second: 50.0 }.burst()), (1.0, 5.0));
    }

    #[test]
    fn mistakes_name_the_declaration() {
        let rejected = |defs: Vec<QueueDef>| Queues::of(defs).unwrap_err();
        assert_eq!(
            rejected(vec![QueueDef { rate: Some("fast"), ..def("mail") }]),
            "src/a.rs:1: queue \"mail\": write the rate as \"10/s\", \"300/min\", \"1000/h\" or \"5000/d\""
        );
        assert!(rejected(vec![QueueDef { parallel: Some(0), ..def("mail") }]).contains("`parallel = 0`"));
        assert!(rejected(vec![def("mail"), def("mail")]).contains("declared twice"));
        let queues = Queues::of([QueueDef { per_key: Some(1), ..def("mail") }]).unwrap();
        assert_eq!(queues.get("mail").map(|queue| (queue.parallel, queue.per_key)), Some((usize::MAX, 1)));
    }
}
