//! A process that is killed while runs advance, again and again: each mutation step has its effect once, each action
//! step reaches an HTTP server at least once with one key, and the steps of a run keep their order.
//!
//! The process is this test binary itself: it runs the ignored test below, which is a small server of workflows.
//! `CONVOKE_TEST_KILLS` sets the number of kills, and `CONVOKE_TEST_RUNS` the number of runs.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke::Caller;
use convoke::embed::{Runtime, RuntimeOptions};
use convoke::prelude::*;
use convoke::workflows::RunState;

const FOLDER: &str = "CONVOKE_TEST_KILLED_RUNS_FOLDER";
/// Address of the outside service.
const SERVICE: &str = "CONVOKE_TEST_KILLED_RUNS_SERVICE";
const RUNS: i64 = 150;
const STEPS: i64 = 6;
const KILLS: u64 = 8;

/// The effect of a step. It has no unique key, so that a repeated effect is visible.
#[table(name = "killedEffects", prefix = "killedeffect")]
#[index(by_run(n))]
pub(super) struct KilledEffect {
    pub n: i64,
    pub step: i64,
}

#[args]
pub(super) struct Numbered {
    pub n: i64,
    pub step: i64,
}

#[mutation(internal)]
pub(super) fn write(ctx: &mut MutationCtx, args: Numbered) -> Result<i64> {
    ctx.db_mut().insert(KilledEffect { n: args.n, step: args.step })?;
    Ok(args.step)
}

/// Reaches the outside service, which is an effect that no transaction takes back.
#[action(internal)]
pub(super) async fn reach_out(ctx: &ActionCtx, args: Numbered) -> Result<()> {
    let url = format!("http://{}/{}/{}", std::env::var(SERVICE).map_err(Error::internal)?, args.n, args.step);
    ctx.http()?.post(&url).header("idempotency-key", ctx.attempt()).body("{}").send().await?.success()?;
    Ok(())
}

/// Quick attempts that never run out: the service refuses every ninth request.
fn quick() -> Retry {
    Retry::exponential(100).from(Duration::from_millis(5)).up_to(Duration::from_millis(50))
}

#[workflow]
pub(super) async fn long(ctx: &WorkflowCtx, args: Numbered) -> Result<i64> {
    let mut sum = 0;
    for step in 0..STEPS {
        sum += ctx.run::<write>(Numbered { n: args.n, step }).await?;
        ctx.run::<reach_out>(Numbered { n: args.n, step }).retry(quick()).await?;
        ctx.sleep(Duration::from_millis(5)).await?;
    }
    Ok(sum)
}

#[args]
pub(super) struct Seed {
    pub runs: i64,
}

#[mutation(internal)]
pub(super) fn seed(ctx: &mut MutationCtx, args: Seed) -> Result<()> {
    for n in 0..args.runs {
        ctx.start::<long>(Numbered { n, step: 0 })?;
    }
    Ok(())
}

fn runtime(folder: &Path) -> Runtime {
    Runtime::start(RuntimeOptions::in_folder(folder, convoke::embed::default_engine())).unwrap()
}

/// A request that the outside service has received: run, step, and key.
#[derive(Clone, PartialEq)]
struct Received {
    n: i64,
    step: i64,
    key: String,
}

/// The outside service: an HTTP server that counts requests. It lives in the process that is not killed.
#[derive(Clone, Default)]
struct Counting(Arc<Mutex<Vec<Received>>>);

impl Counting {
    /// Starts it. Returns its address.
    fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let counting = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let counting = counting.clone();
                // A killed client breaks its connection.
                std::thread::spawn(move || counting.serve(&stream.unwrap()).unwrap_or_default());
            }
        });
        address
    }

    fn serve(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line)? == 0 {
                    return Ok(());
                }
                if line.trim().is_empty() {
                    break;
                }
                head.push(line.trim().to_owned());
            }
            reader.read_exact(&mut [0; 2])?;
            let key = head.iter().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap().to_owned();
            let mut path = head[0].split(' ').nth(1).unwrap().split('/').skip(1).map(|part| part.parse().unwrap());
            let received = Received { n: path.next().unwrap(), step: path.next().unwrap(), key };
            let count = {
                let mut all = self.0.lock().unwrap();
                all.push(received);
                all.len()
            };
            let status = if count % 9 == 0 { "503 Busy" } else { "200 OK" };
            stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes())?;
        }
    }
}

fn set_by(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

fn executor() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
#[ignore = "it is the process that the test below kills"]
fn process_with_runs_to_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    executor().block_on(async {
        let runtime = runtime(Path::new(&folder));
        let background = runtime.start_background();
        while runtime.runs().count(RunState::Active).await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        background.stop().await;
        runtime.store().close();
    });
}

#[test]
fn killed_runs_have_each_effect_once_and_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let executor = executor();
    let service = Counting::default();
    let address = service.start();
    let runs = i64::try_from(set_by("CONVOKE_TEST_RUNS", RUNS.unsigned_abs())).unwrap();
    executor.block_on(async {
        let runtime = runtime(folder.path());
        runtime.run::<seed>(Caller::System, Seed { runs }).await.unwrap();
        runtime.store().close();
    });
    let kills = set_by("CONVOKE_TEST_KILLS", KILLS);
    let mut interrupted = 0;
    for kill in 0..=kills {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "workflow::killed::process_with_runs_to_be_killed"])
            .env(FOLDER, folder.path())
            .env(SERVICE, &address)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if kill < kills {
            // A prime, so that the kills fall on different borders of the steps.
            std::thread::sleep(Duration::from_millis(200 + kill * 37 % 300));
            interrupted += u64::from(process.try_wait().unwrap().is_none());
            process.kill().unwrap();
        }
        let status = process.wait().unwrap();
        assert!(kill < kills || status.success(), "the last process ends when all runs have ended");
    }
    executor.block_on(async {
        let runtime = runtime(folder.path());
        assert_eq!(runtime.runs().count(RunState::Completed).await.unwrap(), runs.unsigned_abs());
        let effects = runtime.read(|db| Ok(db.scan::<KilledEffect>().take(usize::MAX)?)).unwrap();
        let mut of_run: HashMap<i64, Vec<i64>> = HashMap::new();
        for effect in &effects {
            of_run.entry(effect.n).or_default().push(effect.step);
        }
        let once: Vec<i64> = (0..STEPS).collect();
        assert_eq!(of_run.len(), usize::try_from(runs).unwrap());
        assert!(of_run.values().all(|steps| *steps == once), "an effect is missing, repeated or out of order");
        runtime.store().close();
    });
    let received = service.0.lock().unwrap().clone();
    let mut keys: HashMap<(i64, i64), &str> = HashMap::new();
    let mut reached: HashMap<i64, i64> = HashMap::new();
    for Received { n, step, key } in &received {
        assert_eq!(keys.entry((*n, *step)).or_insert(key), key, "all attempts have one key");
        let last = reached.entry(*n).or_insert(-1);
        assert!(*step == *last || *step == *last + 1, "run {n} reached step {step} after {last}");
        *last = *step;
    }
    assert_eq!(keys.len(), usize::try_from(runs * STEPS).unwrap(), "each action step reached the service");
    let distinct: std::collections::HashSet<_> = keys.values().collect();
    assert_eq!(distinct.len(), keys.len(), "no two steps have one key");
    assert!(interrupted > 0, "no kill interrupted a run");
    println!("{interrupted} of {kills} kills interrupted {runs} runs; {} requests for {}", received.len(), keys.len());
}
