//! A sparse logistic regression: the penalty of a weight is its square and its absolute value (an elastic net), by
//! coordinate descent over the clues.
//!
//! The absolute value leaves most weights zero, so that the model is small. The step of a clue is bounded by a region of
//! trust, so that the descent always converges. The same lessons give the same weights.

/// Rounds over the clues.
const ROUNDS: usize = 25;
/// Every so many rounds visit all clues; the rounds between visit those that still move.
const ALL_ROUNDS: usize = 6;
/// The step from which a clue counts as moving.
const STEP_MIN: f64 = 0.01;
/// The steepest that the logistic curve bends.
const BEND_MAX: f64 = 0.25;

/// How a column of weights is learned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// How much a lesson counts against the penalties.
    pub(crate) trust: f64,
    /// How much the absolute value of a weight costs; half its square costs one.
    pub(crate) thrift: f64,
}

/// How far a clue is learned.
struct Clue {
    weight: f64,
    /// The longest step of the next round.
    reach: f64,
    /// The last step.
    step: f64,
}

/// The weight of each clue, by the lessons that have it, and by what the lessons tell.
pub(crate) fn weights(having: &[Vec<u32>], tells: &[bool], settings: Settings) -> Vec<f64> {
    let Settings { trust, thrift } = settings;
    let mut clues: Vec<Clue> = having.iter().map(|_| Clue { weight: 0.0, reach: 1.0, step: 1.0 }).collect();
    let mut sums = vec![0.0_f64; tells.len()];
    let mut likelihoods = vec![0.5_f64; tells.len()];
    for round in 0..ROUNDS {
        for (clue, lessons) in clues.iter_mut().zip(having).filter(|(_, lessons)| !lessons.is_empty()) {
            if round % ALL_ROUNDS != 0 && clue.step.abs() < STEP_MIN {
                continue;
            }
            let (mut slope, mut bend) = (clue.weight, 1.0);
            // Within reach the curve bends at most so much more than here.
            let more = clue.reach.exp();
            for lesson in lessons {
                let lesson = *lesson as usize;
                let likelihood = likelihoods[lesson];
                slope += trust * (likelihood - f64::from(u8::from(tells[lesson])));
                bend += trust * (likelihood * (1.0 - likelihood) * more).min(BEND_MAX);
            }
            let step = clue.weight - thrifty(bend * clue.weight - slope, thrift) / bend;
            clue.step = step.clamp(-clue.reach, clue.reach);
            clue.reach = (2.0 * clue.step.abs()).max(clue.reach / 2.0);
            if clue.step == 0.0 {
                continue;
            }
            clue.weight -= clue.step;
            for lesson in lessons {
                let lesson = *lesson as usize;
                sums[lesson] -= clue.step;
                likelihoods[lesson] = 1.0 / (1.0 + f64::exp(-sums[lesson]));
            }
        }
    }
    clues.into_iter().map(|clue| clue.weight).collect()
}

/// A value brought so much nearer to zero, and no farther.
fn thrifty(value: f64, thrift: f64) -> f64 {
    value.signum() * (value.abs() - thrift).max(0.0)
}
