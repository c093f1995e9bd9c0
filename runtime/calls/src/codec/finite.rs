//! The check that all numbers of a value are finite: JSON has no NaN and no infinity, and the serializer writes null.

use std::fmt::{self, Display};

use serde::Serialize;
use serde::ser;

/// Checks that all numbers of a value are finite.
///
/// # Errors
/// The first number that is not finite, with its path; an error of the type's `Serialize`.
pub(super) fn require<T: Serialize + ?Sized>(value: &T) -> Result<(), Problem> {
    value.serialize(Finite)
}

/// Reason why a value does not pass.
#[derive(Debug)]
pub(super) enum Problem {
    NotFinite { number: f64, path: String },
    Other(String),
}

impl Problem {
    fn in_member(self, name: impl Display) -> Self {
        self.behind(|path| match path.starts_with('[') || path.is_empty() {
            true => format!("{name}{path}"),
            false => format!("{name}.{path}"),
        })
    }

    fn in_item(self, place: usize) -> Self {
        self.behind(|path| match path.starts_with('[') || path.is_empty() {
            true => format!("[{place}]{path}"),
            false => format!("[{place}].{path}"),
        })
    }

    fn behind(self, longer: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::NotFinite { number, path } => Self::NotFinite { number, path: longer(path) },
            other @ Self::Other(_) => other,
        }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite { number, path } => {
                let place = if path.is_empty() { "" } else { " at " };
                write!(
                    f,
                    "the result has {number}{place}{path}, which JSON cannot express; return a finite number, or an Option \
                     without a value"
                )
            }
            Self::Other(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Problem {}

impl ser::Error for Problem {
    fn custom<T: Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }
}

type Checked = Result<(), Problem>;

/// A serializer that writes nothing.
struct Finite;

macro_rules! accepted {
    ($($method:ident($ty:ty))*) => {
        $(fn $method(self, _: $ty) -> Checked {
            Ok(())
        })*
    };
}

impl ser::Serializer for Finite {
    type Ok = ();
    type Error = Problem;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Members;

    accepted! {
        serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_i128(i128) serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
        serialize_u128(u128) serialize_char(char) serialize_str(&str) serialize_bytes(&[u8])
        serialize_unit_struct(&'static str)
    }

    fn serialize_f32(self, number: f32) -> Checked {
        self.serialize_f64(f64::from(number))
    }

    fn serialize_f64(self, number: f64) -> Checked {
        match number.is_finite() {
            true => Ok(()),
            false => Err(Problem::NotFinite { number, path: String::new() }),
        }
    }

    fn serialize_none(self) -> Checked {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Checked {
        require(value)
    }

    fn serialize_unit(self) -> Checked {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Checked {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Checked {
        require(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Checked {
        require(value).map_err(|problem| problem.in_member(variant))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items, Problem> {
        Ok(Items::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<Items, Problem> {
        Ok(Items::default())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items, Problem> {
        Ok(Items::default())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items, Problem> {
        Ok(Items { variant: Some(variant), ..Items::default() })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members, Problem> {
        Ok(Members::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members, Problem> {
        Ok(Members::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members, Problem> {
        Ok(Members { variant: Some(variant), ..Members::default() })
    }
}

/// The items of a list.
#[derive(Default)]
struct Items {
    variant: Option<&'static str>,
    place: usize,
}

impl Items {
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Checked {
        let (place, variant) = (self.place, self.variant);
        self.place += 1;
        require(value).map_err(|problem| {
            let problem = problem.in_item(place);
            match variant {
                Some(variant) => problem.in_member(variant),
                None => problem,
            }
        })
    }
}

/// The members of an object.
#[derive(Default)]
struct Members {
    variant: Option<&'static str>,
    key: String,
}

impl Members {
    fn add<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Checked {
        require(value).map_err(|problem| {
            let problem = problem.in_member(name);
            match self.variant {
                Some(variant) => problem.in_member(variant),
                None => problem,
            }
        })
    }
}

macro_rules! list {
    ($($compound:ident :: $method:ident),*) => {
        $(impl ser::$compound for Items {
            type Ok = ();
            type Error = Problem;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Checked {
                self.add(value)
            }

            fn end(self) -> Checked {
                Ok(())
            }
        })*
    };
}

list!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! object {
    ($($compound:ident),*) => {
        $(impl ser::$compound for Members {
            type Ok = ();
            type Error = Problem;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Checked {
                self.add(name, value)
            }

            fn end(self) -> Checked {
                Ok(())
            }
        })*
    };
}

object!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Members {
    type Ok = ();
    type Error = Problem;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Checked {
        let key = serde_json::to_value(key).map_err(ser::Error::custom)?;
        self.key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Checked {
        self.add(&self.key, value)
    }

    fn end(self) -> Checked {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::codec::exact;

    #[derive(Serialize, schemars::JsonSchema)]
    struct Sensor {
        last: Option<f64>,
        readings: Vec<f64>,
        rooms: BTreeMap<String, (u32, Option<f32>)>,
        kind: Kind,
    }

    #[derive(Serialize, schemars::JsonSchema)]
    #[serde(tag = "kind", rename_all = "camelCase")]
    enum Kind {
        Scaled { factor: f64 },
    }

    fn sensor() -> Sensor {
        let rooms = BTreeMap::from([("hall".to_owned(), (1, None))]);
        Sensor { last: None, readings: vec![1.0, 2.0], rooms, kind: Kind::Scaled { factor: 2.0 } }
    }

    fn refused(value: &Sensor) -> String {
        exact::write(value, Vec::new()).unwrap_err().to_string()
    }

    #[test]
    fn number_that_is_not_finite_is_an_error_with_its_place() {
        let mut json = Vec::new();
        exact::write(&sensor(), &mut json).unwrap();
        assert!(json.starts_with(br#"{"last":null,"readings":[1.0,2.0]"#));
        let said = refused(&Sensor { readings: vec![1.0, f64::NAN], ..sensor() });
        assert_eq!(
            said,
            "the result has NaN at readings[1], which JSON cannot express; return a finite number, or an Option without a value"
        );
        assert!(refused(&Sensor { last: Some(f64::NEG_INFINITY), ..sensor() }).contains("has -inf at last,"));
        let rooms = BTreeMap::from([("hall".to_owned(), (1, Some(f32::INFINITY)))]);
        assert!(refused(&Sensor { rooms, ..sensor() }).contains("has inf at rooms.hall[1],"));
        let kind = Kind::Scaled { factor: f64::NAN };
        assert!(refused(&Sensor { kind, ..sensor() }).contains("has NaN at kind.factor,"));
        assert!(exact::write(&f64::NAN, Vec::new()).unwrap_err().to_string().starts_with("the result has NaN, which"));
    }
}
