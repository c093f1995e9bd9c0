//! Generation of the insights of a meeting's participants.
//!
//! The analysis and the requests to a model run outside of transactions. Results are written for some readers at a
//! time, so that an interrupted call leaves the finished ones.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use convoke::outbound::{Http, HttpError, Secret};
use convoke::prelude::*;
use convoke::value;
use futures_util::future::join_all;
use schema::{Insight, Meeting, User};

use super::generator::analysis::{Analysis, GENERATOR};
use super::generator::insights::Insights;
use super::inputs::{self, Demand, Gather, Gathered, OfMeeting, Origin, Reader, Version};
use super::provider::exchange::{self, Endpoint, Fallback, ProviderError, Reply};
use super::repository::{self, Keep, ReaderInsights};
use super::settings::{API_KEY, InsightProvider, Model};
use super::single_flight::Flight;
use crate::generation::{self, Pass};
use reading::material::{Material, Person};

/// Readers per transaction.
const WRITTEN_AT_ONCE: usize = 50;
/// Concurrent requests to a model.
const ASKED_AT_ONCE: usize = 4;
/// Most bytes of a model's response; the longest insights have a few thousand.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// The result of a generation.
#[value(output)]
pub struct Outcome {
    /// Number of new or replaced insights.
    pub generated: i64,
    /// Ids of all insights, in the order of their readers in the meeting.
    pub ids: Vec<Id<Insight>>,
}

/// Generates the requested insights of a meeting's participants.
///
/// # Errors
/// `UNAVAILABLE`: other generators run for 25 s; `PROVIDER_ERROR`, `TIMEOUT`: a model is configured without fallback
/// and fails; `CONFLICT`: this node lost its turn, and another one may generate instead.
pub async fn generate(ctx: &ActionCtx, meeting_id: Id<Meeting>, demand: Demand) -> Result<Outcome> {
    let settings = ctx.settings::<InsightProvider>();
    let model = settings.model();
    let (flight, pass) = generation::patiently(ctx, async {
        let flight = Flight::take(ctx.turns(), meeting_id, demand, ctx.now()).await?;
        Ok((flight, generation::enter(ctx, meeting_id).await?))
    })
    .await?;
    let ctx = &ctx.under(&flight.turn);
    let model_name = model.map(|model| exchange::generator(model.name.as_str()));
    let gather = Gather { meeting_id, demand: flight.demand, model: model_name };
    let generated = match ctx.run::<inputs::gather>(gather).await? {
        Some(gathered) => make(ctx, meeting_id, model, gathered, pass).await?,
        None => 0,
    };
    flight.done().await;
    let ids = ctx.run::<repository::ids>(OfMeeting { meeting_id }).await?;
    info!("{generated} insights of {meeting_id} generated");
    Ok(Outcome { generated, ids })
}

async fn make(
    ctx: &ActionCtx,
    meeting_id: Id<Meeting>,
    model: Option<&Model>,
    gathered: Gathered,
    pass: Pass,
) -> Result<i64> {
    let Gathered { readers, evidence, origin } = gathered;
    let material = Material::from(evidence);
    if material.is_empty() {
        return Ok(0);
    }
    let ids: Vec<String> = readers.iter().map(|reader| reader.user_id.to_string()).collect();
    let understood = generation::work(ctx, pass, move || {
        let insights = built_in(&material, &ids);
        (material, insights)
    });
    // A request to a model needs no pass: it may take minutes, but uses no core.
    let (material, insights) = understood.await?;
    let work: Vec<Work> = readers.into_iter().zip(insights).collect();
    let mut keeping = Keeping { ctx, meeting_id, origin: &origin, generated: HashSet::new() };
    // A model may be slow, fail or never respond. So readers who accept built-in insights get them first.
    let (first, others): (Vec<Work>, Vec<Work>) = work
        .into_iter()
        .partition(|(reader, _)| model.is_none_or(|model| can_do_with_built_in(reader, model, &origin)));
    let written = keeping.built_in(&first).await?;
    if let Some(model) = model {
        // Readers who got other insights in the meantime, or left the meeting, are skipped.
        let served = first.into_iter().filter(|(reader, _)| reader.asks_model).filter_map(|(reader, insights)| {
            let before = written.get(&reader.user_id)?.clone();
            Some((Reader { before: Some(before), ..reader }, insights))
        });
        let asking: Vec<Work> = served.chain(others).collect();
        if !asking.is_empty() {
            let asked =
                ModelRequest { endpoint: Service::new(ctx, model)?, model, material: &material, origin: &origin };
            keeping.modelled(&asked, &asking).await?;
        }
    }
    Ok(i64::try_from(keeping.generated.len()).unwrap_or(i64::MAX))
}

fn built_in(material: &Material, ids: &[String]) -> Vec<Insights> {
    let analysis = Analysis::of(material);
    ids.iter().map(|id| analysis.insights_for(id)).collect()
}

/// Returns true if a reader first gets built-in insights: not if the call must fail with the model, and not if the
/// reader has the model's insights of the same material, which are better.
fn can_do_with_built_in(reader: &Reader, model: &Model, origin: &Origin) -> bool {
    let has_the_models = || {
        let hash = origin.hash(&exchange::generator(model.name.as_str()));
        reader.before.as_ref().is_some_and(|before| before.source_hash == hash)
    };
    !reader.asks_model || (model.fallback == Fallback::BuiltIn && !has_the_models())
}

/// A reader with the built-in insights.
type Work = (Reader, Insights);

/// Writes insights and counts their readers.
struct Keeping<'a> {
    ctx: &'a ActionCtx,
    meeting_id: Id<Meeting>,
    origin: &'a Origin,
    generated: HashSet<Id<User>>,
}

impl Keeping<'_> {
    /// Writes built-in insights and returns the readers' current versions.
    async fn built_in(&mut self, work: &[Work]) -> Result<HashMap<Id<User>, Version>> {
        let hash = self.origin.hash(GENERATOR);
        let made = |(reader, insights): &Work| {
            ReaderInsights::new(
                reader.user_id,
                reader.before.clone(),
                insights.clone(),
                GENERATOR.to_owned(),
                hash.clone(),
            )
        };
        let mut written = HashMap::with_capacity(work.len());
        for batch in work.chunks(WRITTEN_AT_ONCE) {
            written.extend(self.keep(batch.iter().map(made).collect()).await?);
        }
        Ok(written)
    }

    /// Requests insights of some readers at a time from the model. If it does not respond, the other readers are
    /// skipped, since each would wait as long.
    async fn modelled(&mut self, asked: &ModelRequest<'_>, mut asking: &[Work]) -> Result<()> {
        let built_in = self.origin.hash(GENERATOR);
        while !asking.is_empty() {
            let (batch, rest) = asking.split_at(asking.len().min(ASKED_AT_ONCE));
            asking = rest;
            let answers = join_all(batch.iter().map(|(reader, insights)| asked.answer(reader, insights))).await;
            let is_silent = answers.iter().flatten().any(|answer| answer.is_silent);
            self.answers(answers).await?;
            if is_silent && !rest.is_empty() {
                warn!("The insight provider is not asked for {} more readers", rest.len());
                let without =
                    |(reader, _): &&Work| reader.before.as_ref().is_none_or(|before| before.source_hash != built_in);
                let without: Vec<Work> = rest.iter().filter(without).cloned().collect();
                self.built_in(&without).await?;
                break;
            }
        }
        Ok(())
    }

    /// Writes the successful results, also if one of them failed.
    async fn answers(&mut self, answers: Vec<Result<Answer>>) -> Result<()> {
        let (made, failed): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        self.keep(made.into_iter().flatten().filter_map(|answer| answer.made).collect()).await?;
        match failed.into_iter().find_map(Result::err) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    async fn keep(&mut self, made: Vec<ReaderInsights>) -> Result<HashMap<Id<User>, Version>> {
        if made.is_empty() {
            return Ok(HashMap::new());
        }
        let written = self.ctx.run::<repository::keep>(Keep { meeting_id: self.meeting_id, made }).await?;
        self.generated.extend(written.iter().map(|one| one.user_id));
        Ok(written.into_iter().map(|one| (one.user_id, one.version)).collect())
    }
}

/// The result of a request for one reader.
struct Answer {
    /// Insights to write; none if the reader has them already.
    made: Option<ReaderInsights>,
    /// True if the model did not respond.
    is_silent: bool,
}

/// A model with the material of one meeting.
struct ModelRequest<'a> {
    endpoint: Service<'a>,
    model: &'a Model,
    material: &'a Material,
    origin: &'a Origin,
}

impl ModelRequest<'_> {
    async fn answer(&self, reader: &Reader, built_in: &Insights) -> Result<Answer> {
        let id = reader.user_id.to_string();
        let person = self.material.people.iter().find(|person| person.id == id).cloned();
        let person = person.unwrap_or_else(|| Person { id, ..Person::default() });
        let (name, fallback) = (self.model.name.as_str(), self.model.fallback);
        let answer = exchange::generate(&self.endpoint, name, fallback, self.material, &person, built_in.clone()).await;
        let generated = answer.map_err(refusal)?;
        if let Some(failure) = &generated.failure {
            warn!("The built-in generator stands in: {failure}");
        }
        let is_silent = matches!(generated.failure, Some(ProviderError::TimedOut | ProviderError::Unreachable));
        let hash = self.origin.hash(&generated.generator);
        // The reader got the substitute before the request.
        let has_it =
            generated.failure.is_some() && reader.before.as_ref().is_some_and(|before| before.source_hash == hash);
        let made = (!has_it).then(|| {
            ReaderInsights::new(reader.user_id, reader.before.clone(), generated.insights, generated.generator, hash)
        });
        Ok(Answer { made, is_silent })
    }
}

fn refusal(failure: ProviderError) -> Error {
    match failure {
        ProviderError::TimedOut => Error::timeout("The insight provider did not answer in time").caused_by(failure),
        ProviderError::Unreachable | ProviderError::Status(_) | ProviderError::Unusable(_) => {
            Error::provider("The insight provider failed").caused_by(failure)
        }
    }
}

/// The connection to a configured model.
struct Service<'a> {
    ctx: &'a ActionCtx,
    http: Http,
    url: String,
    key: Option<Secret>,
    timeout: Duration,
}

impl<'a> Service<'a> {
    fn new(ctx: &'a ActionCtx, model: &Model) -> Result<Self> {
        let (http, key) = (ctx.http()?, ctx.secret_if_set(API_KEY)?);
        Ok(Self { ctx, http, url: model.url(), key, timeout: model.timeout })
    }

    /// Returns the current time, for dates from the service.
    fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.ctx.now().get().max(0).unsigned_abs())
    }
}

impl Endpoint for Service<'_> {
    async fn post(&self, body: Vec<u8>, timeout: Duration) -> Reply {
        let request = self.http.post(&self.url).header("content-type", "application/json").body(body);
        // `exchange` decides about retries.
        let request = request.timeout(timeout.min(self.timeout)).retries(0).body_bytes_max(ANSWER_BYTES_MAX);
        let request = match &self.key {
            Some(key) => request.bearer(key),
            None => request,
        };
        match request.send().await {
            Ok(reply) => Reply::Answered {
                status: reply.status(),
                retry_after: reply.header("retry-after").and_then(|wish| exchange::retry_after(wish, self.time())),
                body: reply.bytes().to_vec(),
            },
            Err(HttpError::TimedOut { .. }) => Reply::TimedOut,
            Err(failure) => {
                warn!("The insight provider cannot be asked: {failure}");
                Reply::Unreachable
            }
        }
    }

    async fn pause(&self, time: Duration) {
        self.ctx.sleep(time).await;
    }

    fn random(&self) -> f64 {
        let mut bytes = [0; 4];
        // Without a random number, the pause has its minimum length.
        match aws_lc_rs::rand::fill(&mut bytes) {
            Ok(()) => f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0),
            Err(_) => 0.0,
        }
    }
}
