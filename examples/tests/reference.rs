//! The code of the author's reference in `docs/reference/`, compiled and called.

use std::time::Duration;

use convoke::testing::TestApp;
use serde_json::json;

#[allow(unreachable_pub, reason = "the code matches the documentation")]
mod team {
    use std::time::Duration;

    use convoke::Context;
    use convoke::prelude::*;

    /// An enum without fields is a text: `"low"`, `"high"`.
    #[value]
    pub enum Priority {
        Low,
        High,
    }

    /// A struct is an object, here in a column of a table and in arguments.
    #[value]
    pub struct Place {
        pub city: String,
        pub street: Option<String>,
    }

    /// An enum with fields is an object with a tag: `{"type": "moved", "to": "Turin"}`.
    #[value]
    pub enum Event {
        Moved { to: String },
        Closed,
    }

    /// A member of the team.
    #[table(name = "members", prefix = "member")]
    #[index(by_name(name), unique)]
    #[index(by_points(points desc))]
    pub struct Member {
        pub name: String,
        pub email: Option<String>,
        pub points: i64,
    }

    /// A task of a member.
    #[table(name = "tasks", prefix = "task")]
    #[index(by_owner(owner, priority, due))]
    #[index(open(due), when(done_at is null))]
    pub struct Task {
        pub title: String,
        pub owner: Id<Member>,
        pub priority: Priority,
        /// Nested values are columns with JSON.
        pub place: Option<Place>,
        pub history: Vec<Event>,
        pub due: Millis,
        pub done_at: Option<Millis>,
    }

    /// Stores the e-mail address of a new user, and its changes.
    #[mutation(internal, identity_hook)]
    pub fn remember(ctx: &mut MutationCtx) -> Result<()> {
        let Some(identity) = ctx.identity() else { return Ok(()) };
        let (name, email) = (identity.token_identifier(), identity.email.clone());
        match ctx.db().query(Member::by_name).eq(&name).unique()? {
            Some(member) => {
                ctx.db_mut().patch(member.id(), |member| member.email = email)?;
            }
            None => {
                ctx.db_mut().insert(Member { name, email, points: 0 })?;
            }
        }
        Ok(())
    }

    /// Returns the row of the caller.
    fn member(ctx: &impl Read) -> Result<Doc<Member>> {
        let identity = ctx.identity().ok_or_else(|| Error::unauthenticated("Sign in first"))?;
        ctx.charge_call()?;
        let member = ctx.db().query(Member::by_name).eq(identity.token_identifier()).unique()?;
        member.ok_or_else(|| Error::forbidden("You are not in the team"))
    }

    /// Returns a task of the caller. Users with the role `lead` may use every task.
    fn own_task(ctx: &impl Read, task: Id<Task>) -> Result<Doc<Task>> {
        let member = member(ctx)?;
        let is_lead = ctx.identity().is_some_and(|identity| identity.has_role("lead"));
        let task = ctx.db().get(task)?.filter(|task| is_lead || task.owner == member.id());
        task.ok_or_else(|| Error::not_found("There is no such task of yours"))
    }

    /// A rule over two arguments.
    fn in_order(_ctx: &impl Context, args: &AddTask) -> Result<()> {
        if args.remind_at > args.due {
            return Err(Error::invalid_argument("remindAt", "The reminder must come before the due time"));
        }
        Ok(())
    }

    /// Arguments of [`add_task`].
    #[args]
    pub struct AddTask {
        pub title: String,
        pub priority: Priority,
        pub due: Millis,
        pub remind_at: Millis,
    }

    /// Adds a task of the caller, and schedules its reminder.
    #[mutation(rights = member, form = in_order(&args))]
    pub fn add_task(ctx: &mut MutationCtx, member: Doc<Member>, args: AddTask) -> Result<Id<Task>> {
        let AddTask { title, priority, due, remind_at } = args;
        let history = vec![Event::Moved { to: "open".to_owned() }];
        let row = Task { title, owner: member.id(), priority, place: None, history, due, done_at: None };
        let task = ctx.db_mut().insert(row)?;
        ctx.schedule_once::<remind>(&task.to_string(), remind_at, TaskArgs { task })?;
        Ok(task)
    }

    /// Arguments of functions about one task.
    #[args]
    pub struct TaskArgs {
        pub task: Id<Task>,
    }

    /// Closes a task, and cancels its reminder.
    #[mutation(rights = own_task(args.task))]
    pub fn close(ctx: &mut MutationCtx, task: Doc<Task>, args: TaskArgs) -> Result<()> {
        let now = ctx.now();
        ctx.cancel_key::<remind>(&args.task.to_string())?;
        ctx.db_mut().patch(task.id(), |task| {
            task.done_at = Some(now);
            task.history.push(Event::Closed);
        })?;
        ctx.db_mut().patch(task.owner, |member| member.points += 1)?;
        Ok(())
    }

    /// Returns the open tasks among the first 100 tasks of the caller.
    #[query(tool, rights = member)]
    pub fn my_open_tasks(ctx: &QueryCtx, member: Doc<Member>) -> Result<Vec<Doc<Task>>> {
        let tasks = ctx.db().query(Task::by_owner).eq(member.id()).take(100)?;
        Ok(tasks.into_iter().filter(|task| task.done_at.is_none()).collect())
    }

    /// Reminds the owner. It has at most three attempts.
    #[mutation(internal, tries = 3)]
    pub fn remind(ctx: &mut MutationCtx, args: TaskArgs) -> Result<()> {
        if let Some(task) = ctx.db().get(args.task)? {
            warn!("{} is due", task.title);
        }
        Ok(())
    }

    /// Returns the ten members with the most points.
    #[query]
    pub fn ranking(ctx: &QueryCtx) -> Result<Vec<Doc<Member>>> {
        // The index is `by_points(points desc)`, so its first rows have the most points.
        Ok(ctx.db().query(Member::by_points).take(10)?)
    }

    /// Returns the urgent tasks of a member, the latest first.
    fn urgent(ctx: &impl Read, owner: Id<Member>, since: Millis) -> Result<Vec<Doc<Task>>> {
        let tasks = ctx.db().query(Task::by_owner).eq(owner).eq(Priority::High).range(since..);
        Ok(tasks.order(Order::Desc).take(100)?)
    }

    /// Returns the names of the owners of open tasks.
    #[query]
    pub fn owners(ctx: &QueryCtx) -> Result<Vec<String>> {
        let open = ctx.db().query(Task::open).take(100)?;
        let ids: Vec<Id<Member>> = open.iter().map(|task| task.owner).collect();
        let owners = ctx.db().get_many(&ids)?;
        Ok(owners.into_iter().flatten().map(|owner| owner.name.clone()).collect())
    }

    /// Returns the titles of the caller's urgent tasks.
    #[query(rights = member)]
    pub fn own_urgent(ctx: &QueryCtx, member: Doc<Member>) -> Result<Vec<String>> {
        let since = ctx.now() - Duration::from_secs(24 * 60 * 60);
        Ok(urgent(ctx, member.id(), since)?.iter().map(|task| task.title.clone()).collect())
    }

    /// Sends a message to another service.
    async fn send(ctx: &ActionCtx, url: &str, text: &str) -> Result<String> {
        let key = ctx.secret("MESSENGER_KEY")?;
        let request = ctx.http()?.post(url).header("x-api-key", key.expose()).json(&text);
        // A POST is not retried unless the service recognizes a repeated request, here by its key.
        let request = request.header("idempotency-key", text).repeatable().retries(4);
        let reply = request.timeout(Duration::from_secs(5)).body_bytes_max(64 * 1024).send().await?;
        Ok(reply.success()?.text().into_owned())
    }

    /// Arguments of [`announce`].
    #[args]
    pub struct Announce {
        pub url: String,
        pub text: String,
    }

    /// Sends a message.
    #[action(internal)]
    pub async fn announce(ctx: &ActionCtx, args: Announce) -> Result<String> {
        send(ctx, &args.url, &args.text).await
    }
}

#[test]
fn closed_task_gives_a_point_and_needs_no_reminder() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let due = app.now() + Duration::from_secs(3600);
    let args = json!({ "title": "Ship", "priority": "high", "due": due, "remindAt": due });
    let task = ada.call("team/addTask", args).value().clone();
    assert_eq!(app.pending_jobs().len(), 1);

    let other = app.user("grace").call("team/close", json!({ "task": task }));
    other.assert_refused(convoke::Code::NotFound, "There is no such task of yours");

    assert!(ada.call("team/close", json!({ "task": task })).is_success());
    assert_eq!(app.pending_jobs().len(), 0);
    let ranking = app.nobody().call("team/ranking", json!({}));
    assert_eq!(ranking.value()[0]["points"], 1);
    assert_eq!(ranking.value()[0]["email"], "ada@example.com");
}

#[test]
fn form_is_checked_before_rights() {
    let app = TestApp::new();
    let args = json!({ "title": "Ship", "priority": "low", "due": 1, "remindAt": 2 });
    let reply = app.nobody().call("team/addTask", args);
    assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some("remindAt")));
    assert!(app.nobody().run::<team::announce>(team::Announce { url: "http://[".into(), text: "x".into() }).is_err());
}

#[test]
fn open_tasks_have_owners() {
    let app = TestApp::new();
    let due = app.now() + Duration::from_secs(3600);
    let args = json!({ "title": "Ship", "priority": "high", "due": due, "remindAt": due });
    let ada = app.user("ada");
    ada.call("team/addTask", args).value();
    assert_eq!(ada.call("team/myOpenTasks", json!({})).value()[0]["title"], "Ship");
    assert_eq!(app.nobody().call("team/owners", json!({})).value().as_array().map(Vec::len), Some(1));
    assert_eq!(ada.call("team/ownUrgent", json!({})).value(), &json!(["Ship"]));
}
