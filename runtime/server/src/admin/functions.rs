//! The handlers that list and describe the functions of the registry.

use schemars::generate::SchemaSettings;
use serde_json::json;

use super::{Admin, AdminRequest, success};
use convoke_core::error::{Code, Error, Result};
use convoke_http::Reply;

/// `GET functions`: lists the path, kind, visibility, rights, route and first line of documentation of each function, by path.
///
/// # Errors
/// None.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let functions: Vec<_> = admin
        .runtime
        .registry()
        .all()
        .map(|function| {
            json!({
                "path": &*function.path,
                "kind": function.kind(),
                "visibility": function.def.visibility,
                "rights": function.def.rights,
                "route": function.def.route.map(ToString::to_string),
                "doc": function.summary(),
            })
        })
        .collect();
    success(&functions)
}

/// `GET functions/{path}`: describes a function: its documentation, the JSON schemas of its arguments and result (draft
/// 2020-12, with inlined references), example arguments, and its crons.
///
/// # Errors
/// `FUNCTION_NOT_FOUND`.
pub async fn show(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let path = request.part();
    let function = admin
        .runtime
        .registry()
        .get(path)
        .ok_or_else(|| Error::new(Code::FunctionNotFound, "No function has this path").with("path", path))?;
    let inlined = || SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let takes = (function.def.args_schema)(&mut inlined().for_deserialize().into_generator());
    let returns = (function.def.output_schema)(&mut inlined().for_serialize().into_generator());
    success(&json!({
        "path": &*function.path,
        "kind": function.kind(),
        "visibility": function.def.visibility,
        "rights": function.def.rights,
        "route": function.def.route.map(ToString::to_string),
        "doc": function.def.doc.trim(),
        "arguments": takes,
        "result": returns,
        "example": function.example_arguments(),
        "crons": function.def.crons,
        "file": function.def.file,
        "line": function.def.line,
    }))
}
