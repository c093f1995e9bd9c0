//! A fair queue for the readers and the writer: deficit round-robin (Shreedhar and Varghese, 1995) over flows, by the
//! execution time of their calls.
//!
//! A waiting flow receives a `QUANTUM` of time per round and is served in its turn while it has credit. The cost of a
//! call is known only at its end: until then the flow is charged an estimate from its last calls, so that a flow with
//! several running calls does not appear unserved. A flow that exceeded its quantum owes the rest, also while it has no
//! queued calls, and skips as many rounds. Debts end when capacity is free and the queue is empty, because then no call
//! had to wait.
//!
//! The structure has no lock, no clock and wakes no thread.

use std::collections::VecDeque;
use std::time::Duration;

use rustc_hash::FxHashMap;
use slab::Slab;

use super::flow::Flow;

/// Credit of a flow per turn: about the duration of most calls. Changing turns costs nothing, and a smaller quantum is
/// fairer to flows that use only part of theirs.
const QUANTUM: i64 = 100_000;

/// Least charge of a call: overhead beside its own work. Without it, the fixed clock of a test would make every turn
/// endless.
const COST_MIN: i64 = 20_000;

/// While other flows wait, one flow gets at most this fraction of the servers. While none wait, one server stays free
/// for the next flow, so that its short calls need not wait for a long one.
const SERVED_SHARE: usize = 2;

/// While other flows wait, one flow gets at most this fraction of the queue.
const WAITING_SHARE: usize = 8;

/// Number of flows above which those without queued calls and debts are removed.
const SWEEP_ABOVE: usize = 1_024;

/// No item.
const NONE: usize = usize::MAX;

/// A queue that shares `capacity` equal servers among flows.
pub struct FairQueue<T> {
    capacity: usize,
    waiting_max: usize,
    /// The flows in service, once per server.
    served: Vec<Flow>,
    items: Slab<Item<T>>,
    lanes: FxHashMap<Flow, Lane>,
    /// Waiting flows with a turn in this round, in order.
    turns: VecDeque<Flow>,
    /// Waiting flows with a turn in the next round, in order: they arrived later or had their turn.
    later: VecDeque<Flow>,
    round: u64,
    /// Number of times that all debts ended.
    period: u64,
    sweep_above: usize,
}

/// A queued call and its neighbours in the lane of its flow.
struct Item<T> {
    what: T,
    before: usize,
    behind: usize,
}

/// The state of one flow.
struct Lane {
    first: usize,
    last: usize,
    waiting: usize,
    /// Remaining credit in nanoseconds; negative if the flow owes time.
    credit: i64,
    /// Estimated duration of its calls, in nanoseconds.
    estimate: i64,
    /// While nothing is queued: the round up to which its quanta are added.
    round: u64,
}

/// A call in service. It must be passed to [`FairQueue::end`] once.
#[derive(Clone, Copy, Debug)]
#[must_use = "a server that is never returned serves no other flow"]
pub struct Service {
    flow: Flow,
    /// Time charged in advance.
    charged: i64,
    period: u64,
}

impl Service {
    /// Returns the flow of the call.
    pub fn flow(&self) -> Flow {
        self.flow
    }
}

/// Reason why a call is not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The queue is full.
    Full,
    /// The flow has used its share of the queue while others wait.
    Share,
}

impl<T> FairQueue<T> {
    /// Creates a queue that serves at most `capacity` calls concurrently (at least one) and queues at most
    /// `waiting_max`.
    pub fn new(capacity: usize, waiting_max: usize) -> Self {
        let capacity = capacity.max(1);
        Self {
            capacity,
            waiting_max,
            served: Vec::with_capacity(capacity),
            items: Slab::new(),
            lanes: FxHashMap::default(),
            turns: VecDeque::new(),
            later: VecDeque::new(),
            round: 0,
            period: 0,
            sweep_above: SWEEP_ABOVE,
        }
    }

    /// Returns the number of queued calls.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if no call is queued.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the number of calls in service.
    pub fn served(&self) -> usize {
        self.served.len()
    }

    /// Returns true if a new call need not wait.
    pub fn is_free(&self) -> bool {
        self.items.is_empty() && self.served.len() < self.capacity
    }

    /// Serves a call immediately if no other flow has to wait for it.
    pub fn try_serve(&mut self, flow: Flow) -> Option<Service> {
        if self.served.len() >= self.capacity || self.waits_for_a_turn() || !self.may_be_served(flow) {
            return None;
        }
        self.served.push(flow);
        Some(Service { flow, charged: 0, period: self.period })
    }

    /// Checks if a call of `flow` may be queued.
    ///
    /// # Errors
    /// The reason for the rejection.
    pub fn admits(&self, flow: Flow) -> Result<(), Rejection> {
        let own = self.lanes.get(&flow).map_or(0, |lane| lane.waiting);
        let all = self.items.len();
        match self.places_of_one() {
            share if own >= share && own < all => Err(Rejection::Share),
            _ if all < self.waiting_max => Ok(()),
            // While no other flow waited, this flow could take more than its share of the queue.
            share if own < share && self.longest().is_some_and(|(_, longest)| longest > share) => Ok(()),
            _ => Err(Rejection::Full),
        }
    }

    /// Queues a call behind those of its flow. If the queue is full because a flow exceeds its share, returns the
    /// newest call of that flow, which must be rejected.
    ///
    /// # Errors
    /// Returns the call with the reason for its rejection.
    pub fn push(&mut self, flow: Flow, what: T) -> Result<Option<T>, (T, Rejection)> {
        if let Err(rejection) = self.admits(flow) {
            return Err((what, rejection));
        }
        let pushed_out = if self.items.len() < self.waiting_max { None } else { self.push_out() };
        let place = self.items.insert(Item { what, before: NONE, behind: NONE });
        let in_turn = self.lanes.get(&flow).is_some_and(|lane| lane.round == self.round && lane.credit > 0);
        let lane = self.lane(flow);
        let before = lane.last;
        lane.last = place;
        lane.waiting += 1;
        if before == NONE {
            lane.first = place;
            // A flow whose last call arrived in this round continues its turn. Any other flow goes behind all waiting
            // flows, so that a stream of new flows starves none.
            let line = if in_turn { &mut self.turns } else { &mut self.later };
            line.push_back(flow);
        } else {
            self.items[before].behind = place;
            self.items[place].before = before;
        }
        Ok(pushed_out)
    }

    /// Returns the call that [`FairQueue::pop`] would serve.
    pub fn peek(&mut self) -> Option<&T> {
        let turn = self.next_turn()?;
        let lane = &self.lanes[&self.turns[turn]];
        Some(&self.items[lane.first].what)
    }

    /// Serves the next call, if one is queued and may be served.
    pub fn pop(&mut self) -> Option<(Service, T)> {
        let turn = self.next_turn()?;
        let flow = self.turns[turn];
        let lane = self.lanes.get_mut(&flow)?;
        let charged = lane.estimate;
        lane.credit -= charged;
        let credit = lane.credit;
        let what = self.take(flow, End::First)?;
        if self.lanes[&flow].waiting == 0 {
            self.turns.remove(turn);
        } else if credit <= 0 {
            self.turns.remove(turn);
            self.later.push_back(flow);
        }
        self.served.push(flow);
        Some((Service { flow, charged, period: self.period }, what))
    }

    /// Ends a served call after `elapsed` on its thread.
    pub fn end(&mut self, service: Service, elapsed: Duration) {
        let Service { flow, charged, period } = service;
        if let Some(server) = self.served.iter().position(|served| *served == flow) {
            self.served.swap_remove(server);
        }
        if self.items.is_empty() {
            self.forgive();
            return;
        }
        let cost = nanos(elapsed).max(COST_MIN);
        let charged = if period == self.period { charged } else { 0 };
        let lane = self.lane(flow);
        lane.estimate = (3 * lane.estimate + cost) / 4;
        lane.credit = (lane.credit + charged - cost).min(QUANTUM);
    }

    /// Charges a flow for work after the end of its calls.
    pub fn charge(&mut self, flow: Flow, elapsed: Duration) {
        if !self.items.is_empty() {
            self.lane(flow).credit -= nanos(elapsed);
        }
    }

    /// Removes all calls, in no order.
    pub fn clear(&mut self) -> Vec<T> {
        self.turns.clear();
        self.later.clear();
        self.forgive();
        self.items.drain().map(|item| item.what).collect()
    }

    /// Cancels all debts, because the queue is empty.
    fn forgive(&mut self) {
        if !self.lanes.is_empty() {
            self.period += 1;
            self.lanes.clear();
            self.lanes.shrink_to(SWEEP_ABOVE);
            self.sweep_above = SWEEP_ABOVE;
        }
    }

    fn places_of_one(&self) -> usize {
        self.waiting_max.div_ceil(WAITING_SHARE).max(1)
    }

    /// Returns true if another call of the flow may be served in its turn. Rounds up, so that two flows leave no server
    /// idle. The system's own work leaves no server free.
    fn may_be_served(&self, flow: Flow) -> bool {
        let others_wait = self.turns.len() + self.later.len() > 1;
        let servers_max = match others_wait {
            true => self.capacity.div_ceil(SERVED_SHARE),
            false if flow == Flow::SYSTEM => self.capacity,
            false => (self.capacity - 1).max(1),
        };
        let servers = || self.served.iter().filter(|served| **served == flow).count();
        self.served.len() < servers_max || servers() < servers_max
    }

    /// Returns true if another call of any waiting flow may be served.
    fn waits_for_a_turn(&self) -> bool {
        self.turns.iter().chain(&self.later).any(|flow| self.may_be_served(*flow))
    }

    /// Returns the position in `turns` of the flow to serve next.
    fn next_turn(&mut self) -> Option<usize> {
        if self.items.is_empty() || self.served.len() >= self.capacity {
            return None;
        }
        if !self.waits_for_a_turn() {
            return None;
        }
        loop {
            let mut turn = 0;
            while let Some(flow) = self.turns.get(turn).copied() {
                if !self.may_be_served(flow) {
                    turn += 1;
                } else if self.lanes[&flow].credit > 0 {
                    return Some(turn);
                } else {
                    self.turns.remove(turn);
                    self.later.push_back(flow);
                }
            }
            // One of the waiting flows may be served, and has credit after this.
            self.begin_round();
        }
    }

    /// Adds a quantum to every waiting flow, or as many quanta as one of them needs for a turn.
    fn begin_round(&mut self) {
        let needed = |flow: &Flow| match self.lanes[flow].credit {
            1.. => 0,
            credit => credit.unsigned_abs() / QUANTUM.unsigned_abs() + 1,
        };
        let rounds = self.later.iter().filter(|flow| self.may_be_served(**flow)).map(needed).min();
        let rounds = rounds.unwrap_or(0).max(1);
        self.round += rounds;
        for _ in 0..self.later.len() {
            let Some(flow) = self.later.pop_front() else { break };
            let Some(lane) = self.lanes.get_mut(&flow) else { continue };
            lane.add_quanta(rounds);
            let line = if lane.credit > 0 { &mut self.turns } else { &mut self.later };
            line.push_back(flow);
        }
    }

    /// Returns the lane of a flow, with its quanta up to this round if it has no queued calls.
    fn lane(&mut self, flow: Flow) -> &mut Lane {
        let round = self.round;
        if self.lanes.len() > self.sweep_above {
            self.lanes.retain(|_, lane| lane.waiting > 0 || !lane.owes_nothing_in(round));
            self.sweep_above = (2 * self.lanes.len()).max(SWEEP_ABOVE);
        }
        let lane = self.lanes.entry(flow).or_insert(Lane {
            first: NONE,
            last: NONE,
            waiting: 0,
            credit: QUANTUM,
            estimate: QUANTUM,
            round,
        });
        if lane.waiting == 0 {
            lane.add_quanta(round - lane.round);
            lane.round = round;
        }
        lane
    }

    fn longest(&self) -> Option<(Flow, usize)> {
        let waiting = self.turns.iter().chain(&self.later).map(|flow| (*flow, self.lanes[flow].waiting));
        waiting.max_by_key(|(_, waiting)| *waiting)
    }

    /// Removes the newest call of the flow with the most queued calls; its older calls have waited longer.
    fn push_out(&mut self) -> Option<T> {
        let (flow, _) = self.longest()?;
        self.take(flow, End::Last)
    }

    /// Removes a call from its lane. An empty lane stays in `turns` or `later`.
    fn take(&mut self, flow: Flow, end: End) -> Option<T> {
        let round = self.round;
        let lane = self.lanes.get_mut(&flow)?;
        let place = match end {
            End::First => lane.first,
            End::Last => lane.last,
        };
        let item = self.items.try_remove(place)?;
        lane.waiting -= 1;
        if lane.waiting == 0 {
            lane.round = round;
        }
        match item.before {
            NONE => lane.first = item.behind,
            before => self.items[before].behind = item.behind,
        }
        match item.behind {
            NONE => lane.last = item.before,
            behind => self.items[behind].before = item.before,
        }
        Some(item.what)
    }
}

/// The end of a lane from which a call is taken.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

impl Lane {
    /// Adds quanta. Unused credit does not accumulate.
    fn add_quanta(&mut self, rounds: u64) {
        let quanta = i64::try_from(rounds).unwrap_or(i64::MAX).saturating_mul(QUANTUM);
        self.credit = self.credit.saturating_add(quanta).min(QUANTUM);
    }

    fn owes_nothing_in(&self, round: u64) -> bool {
        let quanta = i64::try_from(round - self.round).unwrap_or(i64::MAX).saturating_mul(QUANTUM);
        self.credit.saturating_add(quanta) >= QUANTUM
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const SMALL: Duration = Duration::from_micros(100);

    fn flow(number: u8) -> Flow {
        Flow::of(number)
    }

    /// Creates a queue with calls of these flows, numbered in order.
    fn queue(capacity: usize, waiting_max: usize, calls: impl IntoIterator<Item = u8>) -> FairQueue<usize> {
        let mut queue = FairQueue::new(capacity, waiting_max);
        for (number, of) in calls.into_iter().enumerate() {
            queue.push(flow(of), number).unwrap();
        }
        queue
    }

    /// Returns the number of servers of a flow.
    fn servers(queue: &FairQueue<usize>, of: u8) -> usize {
        queue.served.iter().filter(|served| **served == flow(of)).count()
    }

    #[test]
    fn single_flow_gets_all_servers_but_one_and_the_whole_queue() {
        let mut queue = queue(4, 16, [1; 16]);
        assert_eq!(queue.push(flow(1), 16), Err((16, Rejection::Full)));
        assert_eq!(queue.admits(flow(1)), Err(Rejection::Full));
        let served: Vec<usize> = std::iter::from_fn(|| queue.pop()).map(|(_, call)| call).collect();
        assert_eq!(served, [0, 1, 2]);
        assert_eq!((queue.served(), queue.len()), (3, 13));
        assert!(queue.try_serve(flow(1)).is_none() && queue.try_serve(flow(2)).is_some(), "the last one is for others");
    }

    #[test]
    fn single_flow_leaves_one_server_free_and_the_system_none() {
        let mut queue = queue(3, 8, []);
        let servers = |queue: &mut FairQueue<usize>, flow| std::iter::from_fn(|| queue.try_serve(flow)).count();
        assert_eq!(servers(&mut queue, flow(1)), 2);
        assert_eq!(servers(&mut queue, Flow::SYSTEM), 1);
        let mut queue = self::queue(3, 8, []);
        assert_eq!(servers(&mut queue, Flow::SYSTEM), 3);
        let mut queue = self::queue(1, 8, []);
        assert_eq!(servers(&mut queue, flow(1)), 1, "a single server is for all flows");
    }

    #[test]
    fn call_is_served_immediately_only_if_no_flow_waits() {
        let mut queue = queue(2, 8, []);
        let first = queue.try_serve(flow(1)).unwrap();
        assert!(queue.try_serve(flow(2)).is_some() && queue.try_serve(flow(3)).is_none());
        queue.push(flow(3), 0).unwrap();
        queue.end(first, MS);
        assert!(queue.try_serve(flow(1)).is_none(), "another flow waits");
        assert_eq!(queue.pop().unwrap().1, 0);
    }

    #[test]
    fn one_flow_gets_half_of_the_servers_while_others_wait() {
        let calls = (0..32).map(|number| number % 2);
        let mut queue = queue(4, 256, calls);
        // By time alone, flow 1 would have the turn for long.
        while let Some((service, _)) = queue.pop() {
            let elapsed = if service.flow() == flow(0) { 100 * MS } else { SMALL };
            queue.end(service, elapsed);
            if queue.len() <= 24 {
                break;
            }
        }
        while queue.pop().is_some() {}
        assert_eq!((servers(&queue, 0), servers(&queue, 1)), (2, 2));
    }

    #[test]
    fn full_queue_drops_the_newest_calls_beyond_an_eighth() {
        let mut queue = queue(1, 16, [1; 16]);
        assert_eq!(queue.admits(flow(2)), Ok(()));
        assert_eq!(queue.push(flow(2), 20), Ok(Some(15)), "the newest one of flow 1");
        assert_eq!(queue.push(flow(1), 21), Err((21, Rejection::Share)));
        assert_eq!(queue.push(flow(2), 22), Ok(Some(14)));
        assert_eq!(queue.push(flow(2), 23), Err((23, Rejection::Share)), "two of sixteen places");
        assert_eq!(queue.push(flow(3), 24), Ok(Some(13)));
        assert_eq!(queue.len(), 16);
        // Eight flows with an eighth each: no flow exceeds its share.
        let mut full = self::queue(1, 16, (0..16).map(|number| number % 8));
        assert_eq!(full.push(flow(9), 99), Err((99, Rejection::Full)));
    }

    #[test]
    fn new_flow_is_next_after_a_flood() {
        let mut queue = queue(1, 1_024, [1; 900]);
        let (running, _) = queue.pop().unwrap();
        queue.push(flow(2), 1_000).unwrap();
        queue.end(running, 10 * MS);
        assert_eq!(queue.peek(), Some(&1_000));
        assert_eq!(queue.pop().unwrap().1, 1_000);
    }

    /// Returns the service time of each flow within `all`, with one server and flows that always have `waiting` calls
    /// of `took`.
    fn shared_out(flows: &[(usize, Duration)], all: Duration) -> Vec<Duration> {
        let mut queue = FairQueue::new(1, 1_024);
        for (number, (waiting, _)) in flows.iter().enumerate() {
            (0..*waiting).for_each(|_| assert_eq!(queue.push(flow(number as u8), number), Ok(None)));
        }
        let mut times = vec![Duration::ZERO; flows.len()];
        while times.iter().sum::<Duration>() < all {
            let (service, number) = queue.pop().unwrap();
            let elapsed = flows[number].1;
            times[number] += elapsed;
            queue.end(service, elapsed);
            queue.push(service.flow(), number).unwrap();
        }
        times
    }

    #[test]
    fn time_is_shared_rather_than_calls() {
        let times = shared_out(&[(100, 10 * MS), (100, SMALL), (100, MS)], 3_000 * MS);
        for time in &times {
            assert!(time.abs_diff(1_000 * MS) <= 11 * MS, "{times:?}");
        }
    }

    #[test]
    fn flow_with_one_call_at_a_time_owes_its_excess() {
        // The next call of a flow arrives after the end of its last one, so nothing is queued in between.
        let times = shared_out(&[(1, 50 * MS), (1, SMALL), (1, SMALL)], 3_000 * MS);
        assert!(times[0] <= 1_100 * MS, "{times:?}");
    }

    #[test]
    fn debts_end_when_the_queue_is_empty() {
        let mut queue = queue(1, 64, [1, 1]);
        for _ in 0..2 {
            let (service, _) = queue.pop().unwrap();
            queue.end(service, 5_000 * MS);
        }
        (0..6).for_each(|number| queue.push(flow(1 + number % 2), usize::from(number)).map(drop).unwrap());
        let mut order = Vec::new();
        while let Some((service, _)) = queue.pop() {
            order.push(service.flow());
            queue.end(service, MS);
        }
        assert_eq!(order, [1, 2, 1, 2, 1, 2].map(flow));
    }

    #[test]
    fn flows_without_debts_are_removed_while_others_wait() {
        let mut queue = FairQueue::new(1, 1_024);
        (0..10).for_each(|_| queue.push(flow(0), 0_u32).map(drop).unwrap());
        for number in 0..100_000_u32 {
            queue.push(Flow::of(number), number).unwrap();
            let (service, _) = queue.pop().unwrap();
            queue.end(service, SMALL);
            if queue.len() < 10 {
                queue.push(flow(0), 0).unwrap();
            }
        }
        assert!(queue.lanes.len() <= 2 * SWEEP_ABOVE, "{} lanes", queue.lanes.len());
    }

    #[test]
    fn cleared_calls_are_returned_and_the_queue_continues() {
        let mut queue = queue(2, 64, [1, 2, 1]);
        let (service, _) = queue.pop().unwrap();
        assert_eq!(queue.clear().len(), 2);
        queue.end(service, MS);
        queue.push(flow(1), 7).unwrap();
        assert_eq!(queue.pop().unwrap().1, 7);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Serve(u8),
        Push(u8),
        Pop,
        End(usize, u64),
        Charge(u8, u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            1 => (0..5_u8).prop_map(Step::Serve),
            5 => (0..5_u8).prop_map(Step::Push),
            3 => Just(Step::Pop),
            3 => (any::<usize>(), 0..20_000_u64).prop_map(|(which, us)| Step::End(which, us)),
            1 => (0..5_u8, 0..20_000_u64).prop_map(|(of, us)| Step::Charge(of, us)),
        ];
        proptest::collection::vec(step, 1..400)
    }

    proptest! {
        /// Compares the queue with a model of the order of waiting and serving.
        #[test]
        fn nothing_is_lost_or_out_of_order_and_no_share_exceeded(
            capacity in 1..6_usize,
            waiting_max in 1..40_usize,
            steps in steps(),
        ) {
            let mut queue = FairQueue::new(capacity, waiting_max);
            let mut waiting: HashMap<Flow, VecDeque<usize>> = HashMap::new();
            let mut served: Vec<Service> = Vec::new();
            let share = waiting_max.div_ceil(8);
            for (number, step) in steps.into_iter().enumerate() {
                let all: usize = waiting.values().map(VecDeque::len).sum();
                let servers_of = |of: Flow, served: &[Service]| served.iter().filter(|other| other.flow() == of).count();
                let alone_max = (capacity - 1).max(1);
                match step {
                    Step::Serve(of) => {
                        let own = servers_of(flow(of), &served);
                        match queue.try_serve(flow(of)) {
                            Some(service) => {
                                prop_assert!(own < alone_max);
                                served.push(service);
                            }
                            None => {
                                let lanes = waiting.iter().filter(|(_, lane)| !lane.is_empty());
                                let theirs = |of: &Flow| servers_of(*of, &served) >= alone_max;
                                let none_waits_for_a_turn = all == 0 || lanes.map(|(of, _)| of).all(theirs);
                                prop_assert!(
                                    !none_waits_for_a_turn || served.len() == capacity || own >= capacity.div_ceil(2)
                                );
                            }
                        }
                    }
                    Step::Push(of) => {
                        let own = waiting.get(&flow(of)).map_or(0, VecDeque::len);
                        let admitted = queue.admits(flow(of));
                        let pushed = queue.push(flow(of), number);
                        prop_assert_eq!(admitted.err(), pushed.as_ref().err().map(|(_, rejection)| *rejection));
                        match pushed {
                            Err((back, Rejection::Share)) => prop_assert!(back == number && own >= share && all > own),
                            Err((back, Rejection::Full)) => prop_assert!(back == number && all == waiting_max),
                            Ok(pushed_out) => {
                                prop_assert!(own < share || own == all);
                                prop_assert_eq!(pushed_out.is_some(), all == waiting_max);
                                if let Some(out) = pushed_out {
                                    let lane = waiting.values_mut().find(|lane| lane.back() == Some(&out)).unwrap();
                                    prop_assert!(lane.len() > share);
                                    lane.pop_back();
                                }
                                waiting.entry(flow(of)).or_default().push_back(number);
                            }
                        }
                    }
                    Step::Pop => {
                        let lanes: Vec<Flow> = waiting.iter().filter(|(_, lane)| !lane.is_empty()).map(|(of, _)| *of).collect();
                        let others_wait = lanes.len() > 1;
                        let all_theirs = lanes.len() == 1 && servers_of(lanes[0], &served) >= alone_max;
                        let next = queue.peek().copied();
                        match queue.pop() {
                            None => prop_assert!(all == 0 || served.len() == capacity || all_theirs),
                            Some((service, call)) => {
                                prop_assert!(!all_theirs);
                                prop_assert_eq!(next, Some(call));
                                let of = service.flow();
                                prop_assert_eq!(waiting.get_mut(&of).and_then(VecDeque::pop_front), Some(call));
                                prop_assert!(!others_wait || servers_of(of, &served) < capacity.div_ceil(2));
                                served.push(service);
                            }
                        }
                    }
                    Step::End(which, us) if !served.is_empty() => {
                        let service = served.swap_remove(which % served.len());
                        queue.end(service, Duration::from_micros(us));
                    }
                    Step::End(..) => {}
                    Step::Charge(of, us) => queue.charge(flow(of), Duration::from_micros(us)),
                }
                prop_assert_eq!(queue.len(), waiting.values().map(VecDeque::len).sum::<usize>());
                prop_assert_eq!(queue.served(), served.len());
            }
        }

        /// Every waiting flow is served after each other flow had a turn: its quantum and the call that ended it.
        #[test]
        fn no_flow_starves(
            costs in proptest::collection::vec(proptest::collection::vec(0..10_000_u64, 1..8), 1..20),
            before in 0..200_usize,
        ) {
            let mut queue = FairQueue::new(1, 1_024);
            let others = costs.len();
            for other in 0..others {
                (0..8).for_each(|_| queue.push(flow(other as u8), other).map(drop).unwrap());
            }
            let mut number = 0;
            let mut serve = |queue: &mut FairQueue<usize>| {
                let (service, of) = queue.pop().unwrap();
                let elapsed = costs.get(of).map_or(Duration::ZERO, |costs| Duration::from_micros(costs[number % costs.len()]));
                number += 1;
                queue.end(service, elapsed);
                (of < others).then(|| queue.push(service.flow(), of).unwrap());
                (of, elapsed.max(Duration::from_nanos(COST_MIN as u64)))
            };
            (0..before).for_each(|_| _ = serve(&mut queue));
            queue.push(flow(255), others).unwrap();
            let mut waited = Duration::ZERO;
            loop {
                let (of, elapsed) = serve(&mut queue);
                if of == others {
                    break;
                }
                waited += elapsed;
            }
            prop_assert!(waited <= (10 * MS + SMALL) * others as u32, "{waited:?} of {others} others");
        }
    }
}
