//! A logistic regression with a penalty on the square of each weight, by coordinate descent over the features.
//!
//! A trust region bounds the step of each feature, so that the descent always converges. The same examples give the same
//! weights.

/// Rounds over the features.
const ROUNDS: usize = 25;
/// Interval of rounds that visit all features; the rounds between visit only moving ones.
const ALL_ROUNDS: usize = 6;
/// Smallest step of a moving feature.
const STEP_MIN: f64 = 0.01;
/// Greatest second derivative of the logistic function.
const BEND_MAX: f64 = 0.25;

/// The state of a feature during the descent.
struct Feature {
    weight: f64,
    /// The radius of the trust region: the longest step of the next round.
    radius: f64,
    /// The last step.
    step: f64,
}

/// Returns the weight of each feature from its examples and their labels. `example_weight` is the weight of an example
/// against the penalty.
pub(crate) fn weights(examples_of: &[Vec<u32>], labels: &[bool], example_weight: f64) -> Vec<f64> {
    let mut features: Vec<Feature> =
        examples_of.iter().map(|_| Feature { weight: 0.0, radius: 1.0, step: 1.0 }).collect();
    let mut sums = vec![0.0_f64; labels.len()];
    let mut likelihoods = vec![0.5_f64; labels.len()];
    for round in 0..ROUNDS {
        for (feature, examples) in features.iter_mut().zip(examples_of).filter(|(_, examples)| !examples.is_empty()) {
            if round % ALL_ROUNDS != 0 && feature.step.abs() < STEP_MIN {
                continue;
            }
            let (mut slope, mut bend) = (feature.weight, 1.0);
            // Within the radius, the second derivative grows at most by this factor.
            let more = feature.radius.exp();
            for example in examples {
                let example = *example as usize;
                let likelihood = likelihoods[example];
                slope += example_weight * (likelihood - f64::from(u8::from(labels[example])));
                bend += example_weight * (likelihood * (1.0 - likelihood) * more).min(BEND_MAX);
            }
            let step = slope / bend;
            feature.step = step.clamp(-feature.radius, feature.radius);
            feature.radius = (2.0 * feature.step.abs()).max(feature.radius / 2.0);
            if feature.step == 0.0 {
                continue;
            }
            feature.weight -= feature.step;
            for example in examples {
                let example = *example as usize;
                sums[example] -= feature.step;
                likelihoods[example] = 1.0 / (1.0 + f64::exp(-sums[example]));
            }
        }
    }
    features.into_iter().map(|feature| feature.weight).collect()
}
