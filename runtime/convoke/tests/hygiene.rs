//! All attributes in a crate without a prelude, whose own names are names that an expansion could use.

#![no_implicit_prelude]
#![allow(missing_docs, reason = "what is tested is that it compiles")]

use ::convoke::{ActionCtx, Id, Millis, MutationCtx, QueryCtx, Result};
use ::std::option::Option;
use ::std::string::String;
use ::std::vec::Vec;

/// Names that an unhygienic expansion would resolve.
#[allow(dead_code, reason = "they lie in wait")]
mod traps {
    pub(crate) fn map() {}
    pub(crate) fn place() {}
    pub(crate) fn number() {}
    pub(crate) fn text() {}
    pub(crate) fn row() {}
    pub(crate) fn ctx() {}
    pub(crate) fn args() {}
    pub(crate) fn f() {}
    pub(crate) fn object() {}
    pub(crate) fn generator() {}
    pub(crate) fn given() {}
    pub(crate) fn value() {}
    pub(crate) fn deserializer() {}
    pub(crate) fn serializer() {}
    pub(crate) fn limit() {}
    pub(crate) struct Some;
    pub(crate) struct None;
    pub(crate) struct Ok;
    pub(crate) struct Vec;
}

#[allow(unused_imports, reason = "they lie in wait")]
use self::traps::{
    args, ctx, deserializer, f, generator, given, limit, map, number, object, place, row, serializer, text, value,
};

/// Names of types that an expansion could use for its own parameters.
pub type A = String;
pub type D = String;
pub type S = String;
pub type Members = String;
pub type Type = String;
#[allow(dead_code, reason = "an expansion must not mean this one")]
mod core {}
#[allow(dead_code, reason = "an expansion must not mean this one")]
mod std {}
#[allow(dead_code, reason = "an expansion must not mean this one")]
mod fields {}

#[::convoke::value]
pub enum Status {
    Waiting,
    Matched,
}

#[::convoke::value(text, trim, min = 1, max = 10, pattern = "^[a-z]*$", check = tidy)]
pub struct Word(String);

fn tidy(word: String) -> ::std::result::Result<String, String> {
    ::std::result::Result::Ok(word)
}

#[::convoke::value(integer, min = 1)]
pub struct Size(u32);

#[::convoke::value(number, max = 1.0)]
pub struct Share(f64);

#[::convoke::value]
pub struct Pair {
    pub a: A,
    pub d: D,
    pub s: S,
    pub word: Word,
    #[default(::std::option::Option::None::<i64>.is_none())]
    pub flag: bool,
    pub number: Option<Size>,
    pub share: Share,
}

#[::convoke::table(name = "things", prefix = "thing")]
#[index(by_row(row, status))]
#[index(row(map desc), unique, when(status = Status::Waiting))]
pub struct Thing {
    pub row: String,
    #[default(Status::Waiting)]
    pub status: Status,
    pub map: Option<Id<Thing>>,
    pub pair: Option<Pair>,
    pub list: Vec<String>,
    pub a: S,
    pub d: Option<D>,
    pub field_map: Type,
    #[retired]
    pub place: Option<Millis>,
}

pub mod functions {
    use super::*;

    #[::convoke::args]
    pub struct Take {
        pub map: String,
        pub place: Option<i64>,
        #[default(3)]
        pub given: i64,
        pub object: Vec<Option<i64>>,
        pub status: Status,
        pub a: A,
        pub d: D,
        pub s: Option<S>,
        pub members: Members,
        pub r#type: Type,
        #[retired]
        pub row: Option<String>,
    }

    #[::convoke::query]
    pub fn read(_ctx: &QueryCtx, _args: Take) -> Result<Vec<Pair>> {
        Result::Ok(Vec::new())
    }

    #[::convoke::mutation(internal, rate = "x")]
    #[::convoke::cron("* * * * *")]
    pub fn write(_: &mut MutationCtx) -> Result<()> {
        Result::Ok(())
    }

    #[::convoke::action(admin)]
    pub async fn act(_ctx: &ActionCtx, args: Take) -> Result<i64> {
        Result::Ok(args.given)
    }
}

#[test]
fn attributes_work_inside_a_function() {
    #[::convoke::args]
    struct Inner {
        map: i64,
    }

    #[::convoke::query(internal)]
    fn inside(_ctx: &QueryCtx, args: Inner) -> Result<i64> {
        Result::Ok(args.map)
    }

    #[::convoke::table(name = "inners", prefix = "inner")]
    #[index(by_map(map))]
    struct Row {
        map: i64,
    }

    ::std::assert_eq!(<inside as ::convoke_calls::function::Function>::DEF.name, "inside");
    ::std::assert_eq!(<Row as ::convoke::store::Table>::DEF.indexes[0].name, "by_map");
    let _ = Row::by_map;
}
