//! A logistic regression with a penalty on the square of each weight, by coordinate descent over the clues.
//!
//! A trust region bounds the step of each clue, so that the descent always converges. The same lessons give the same
//! weights.

/// Rounds over the clues.
const ROUNDS: usize = 25;
/// Every so many rounds visit all clues; the rounds between visit those that still move.
const ALL_ROUNDS: usize = 6;
/// The step from which a clue counts as moving.
const STEP_MIN: f64 = 0.01;
/// The steepest that the logistic curve bends.
const BEND_MAX: f64 = 0.25;

/// How far a clue is learned.
struct Clue {
    weight: f64,
    /// The longest step of the next round.
    reach: f64,
    /// The last step.
    step: f64,
}

/// The weight of each clue, by the lessons that have it, and by what the lessons tell. `trust` is how much a lesson counts
/// against the penalty.
pub(crate) fn weights(having: &[Vec<u32>], tells: &[bool], trust: f64) -> Vec<f64> {
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
            let step = slope / bend;
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
