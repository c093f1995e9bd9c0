//! Objects whose members differ between rows.

use convoke::table::{json_from_value, json_to_value};
use convoke::{Column, ColumnType, Value as Stored, ValueRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Details of an audit entry. The server creates them, never a client.
///
/// ```json
/// {"from": "participant", "to": "host"}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Details(Map<String, Value>);

impl Details {
    /// Returns details without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a member. A value without a JSON form becomes null.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.0.insert(name.to_owned(), serde_json::to_value(value).unwrap_or_default());
        self
    }

    /// Returns the members.
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl Column for Details {
    const TYPE: ColumnType = ColumnType::Json;

    fn to_value(&self) -> Stored {
        json_to_value(self)
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self, String> {
        json_from_value(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn details_gather_members() {
        let details = Details::new().with("from", "participant").with("count", 2);
        assert_eq!(serde_json::to_value(&details).unwrap(), json!({"from": "participant", "count": 2}));
        assert_eq!(Details::from_value(details.to_value().as_ref()).unwrap(), details);
    }
}
