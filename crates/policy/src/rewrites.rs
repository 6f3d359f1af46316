//! Model rewrites: text to rules.

use std::collections::BTreeMap;

use pointsman_api::model_rewrite::{
    API_VERSION, API_VERSION_DEPRECATED, InferenceModelRewrite, KIND, Match, MatchType, Metadata,
    ModelMatch, POOL_GROUP_DEFAULT, POOL_KIND_DEFAULT, PoolReference, Rule, Spec, Target,
};
use pointsman_pipeline::rewrite::{RewriteRule, RewriteTarget, Rewrites};
use serde_json::Value;

use crate::document;
use crate::fields::{Fields, REQUIRED, Readable, kind, within};
use crate::problem::{Findings, Problem, Problems, quoted};

/// All that follows from a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The rules of all objects, in the order of the text.
    pub rewrites: Rewrites,
    /// What was accepted and has no effect.
    pub warnings: Vec<Problem>,
}

/// Reads a text of at most 1 MiB, YAML or JSON, of any number of documents, each of them an
/// `InferenceModelRewrite`. All must be for one pool, which is taken to be the one that is served.
pub fn compile(text: &str) -> Result<Compiled, Problems> {
    let mut findings = Findings::default();
    let objects = read(text, &mut findings);
    check_identities(&objects, &mut findings);
    let mut rules = Rules::default();
    for (path, object) in &objects {
        for (index, rule) in object.spec.rules.iter().enumerate() {
            rules.add(rule, &format!("{path}.spec.rules[{index}]"), &mut findings);
        }
    }
    if rules.compiled.is_empty() {
        findings.warning("", "has no rules: no model is rewritten");
    }
    let rewrites = Rewrites::new(rules.compiled);
    let (rewrites, warnings) = findings.finish(rewrites)?;
    Ok(Compiled { rewrites, warnings })
}

/// Rules so far.
#[derive(Default)]
struct Rules {
    compiled: Vec<RewriteRule>,
    /// Where each model is matched first.
    first: BTreeMap<String, String>,
    /// Where the first rule for all models is.
    first_for_all: Option<String>,
}

impl Rules {
    fn add(&mut self, rule: &Rule, path: &str, findings: &mut Findings) {
        for (index, entry) in rule.matches.iter().enumerate() {
            let model = &entry.model.value;
            let path = format!("{path}.matches[{index}].model.value");
            check_model(model, &path, findings);
            match self.first.get(model) {
                Some(first) => findings.warning(path, format!("has no effect: {first} is first")),
                None => {
                    self.first.insert(model.clone(), path);
                }
            }
        }
        if rule.matches.is_empty() {
            match &self.first_for_all {
                Some(first) => findings.warning(path, format!("has no effect: {first} is first")),
                None => self.first_for_all = Some(path.to_owned()),
            }
        }
        let targets = targets(&rule.targets, &format!("{path}.targets"), findings);
        let models = rule.matches.iter().map(|entry| &*entry.model.value);
        self.compiled.push(RewriteRule {
            matches: models.map(Box::from).collect(),
            targets,
        });
    }
}

fn targets(targets: &[Target], path: &str, findings: &mut Findings) -> Vec<RewriteTarget> {
    if targets.is_empty() {
        findings.problem(path, "must have at least one entry");
    }
    let is_weighted = |target: &&Target| target.weight.is_some();
    let weighted = targets.iter().filter(is_weighted).count();
    if weighted > 0 && weighted < targets.len() {
        findings.warning(
            path,
            "only some have a weight: those without one are never chosen",
        );
    }
    for (index, target) in targets.iter().enumerate() {
        let path = format!("{path}[{index}].modelRewrite");
        check_model(&target.model_rewrite, &path, findings);
    }
    let compiled = targets.iter().map(|target| RewriteTarget {
        model: target.model_rewrite.as_str().into(),
        weight: target.weight.unwrap_or(0),
    });
    compiled.collect()
}

/// Checks that the objects are of a version that is known, of different names, and for one pool.
fn check_identities(objects: &[(String, InferenceModelRewrite)], findings: &mut Findings) {
    let mut names = BTreeMap::new();
    for (path, object) in objects {
        match object.api_version.as_str() {
            API_VERSION => {}
            API_VERSION_DEPRECATED => findings.warning(
                format!("{path}.apiVersion"),
                format!("is deprecated: write `{API_VERSION}`"),
            ),
            other => findings.problem(
                format!("{path}.apiVersion"),
                format!("must be `{API_VERSION}`, not {}", quoted(other)),
            ),
        }
        if object.kind != KIND {
            findings.problem(
                format!("{path}.kind"),
                format!("must be `{KIND}`, not {}", quoted(&object.kind)),
            );
        }
        let Metadata { name, namespace } = &object.metadata;
        if let Some(first) = names.insert((namespace, name), path) {
            findings.problem(
                format!("{path}.metadata.name"),
                format!("{} is the name of {first} too: write another", quoted(name)),
            );
        }
    }
    let pool = |object: &InferenceModelRewrite| {
        let namespace = object.metadata.namespace.clone();
        (namespace, object.spec.pool_ref.clone())
    };
    let is_named =
        |(_, object): &&(String, InferenceModelRewrite)| !object.spec.pool_ref.name.is_empty();
    let mut named = objects.iter().filter(is_named);
    let Some((first, served)) = named.next() else {
        return;
    };
    for (path, object) in named {
        if pool(object) != pool(served) {
            findings.problem(
                format!("{path}.spec.poolRef"),
                format!(
                    "is not that of {first}: only one pool is served, so keep the rules of one"
                ),
            );
        }
    }
}

/// A name that is longer is not read in a request, and would match none.
fn check_model(name: &str, path: &str, findings: &mut Findings) {
    if name.is_empty() {
        findings.problem(path, "must not be empty");
    } else if name.len() > MODEL_BYTES_MAX {
        let written = quoted(name);
        findings.problem(
            path,
            format!("{written} has more than {MODEL_BYTES_MAX} bytes: shorten it"),
        );
    }
}

/// The objects, each with its path.
fn read(text: &str, findings: &mut Findings) -> Vec<(String, InferenceModelRewrite)> {
    let documents = document::read_all(text, findings);
    let documents = documents.into_iter().enumerate();
    let objects = documents.filter_map(|(index, tree)| {
        if tree == Value::Null {
            return None;
        }
        let path = document::path_of(index);
        let object = within(Some(&tree), &path, findings, object)?;
        Some((path, object))
    });
    objects.collect()
}

fn object(fields: &mut Fields<'_>) -> InferenceModelRewrite {
    InferenceModelRewrite {
        api_version: fields.required("apiVersion").unwrap_or_default(),
        kind: fields.required("kind").unwrap_or_default(),
        metadata: metadata(fields),
        spec: required(fields, "spec", spec),
        status: fields.optional("status"),
    }
}

/// A cluster writes many fields into it; all are allowed.
fn metadata(fields: &mut Fields<'_>) -> Metadata {
    match fields.value("metadata") {
        None => fields.problem("metadata", REQUIRED),
        Some(Value::Object(object)) => {
            let text = |name: &str| object.get(name).filter(|value| !value.is_null());
            let mut read = |name: &str| {
                String::read(text(name)?)
                    .map_err(|message| fields.problem(&format!("metadata.{name}"), message))
                    .ok()
            };
            let namespace = read("namespace");
            let name = read("name");
            if text("name").is_none() {
                fields.problem("metadata.name", REQUIRED);
            }
            return Metadata {
                name: name.unwrap_or_default(),
                namespace,
            };
        }
        Some(other) => {
            let message = format!("must be a mapping, not {}", kind(other));
            fields.problem("metadata", message);
        }
    }
    Metadata::default()
}

fn spec(fields: &mut Fields<'_>) -> Spec {
    if fields.value("rules").is_none() {
        fields.problem("rules", REQUIRED);
    }
    Spec {
        pool_ref: required(fields, "poolRef", |fields| PoolReference {
            group: fields
                .optional("group")
                .unwrap_or_else(|| POOL_GROUP_DEFAULT.to_owned()),
            kind: fields
                .optional("kind")
                .unwrap_or_else(|| POOL_KIND_DEFAULT.to_owned()),
            name: fields.required("name").unwrap_or_default(),
        }),
        rules: fields.list("rules", rule),
    }
}

fn rule(fields: &mut Fields<'_>) -> Rule {
    Rule {
        matches: fields.list("matches", |fields| Match {
            model: required(fields, "model", |fields| ModelMatch {
                match_type: fields.optional("type").unwrap_or_default(),
                value: fields.required("value").unwrap_or_default(),
            }),
        }),
        targets: fields.list("targets", |fields| Target {
            weight: fields.optional("weight").map(|Weight(weight)| weight),
            model_rewrite: fields.required("modelRewrite").unwrap_or_default(),
        }),
    }
}

fn required<T: Default>(
    fields: &mut Fields<'_>,
    name: &'static str,
    read: impl FnOnce(&mut Fields<'_>) -> T,
) -> T {
    if fields.value(name).is_none() {
        fields.problem(name, REQUIRED);
    }
    fields.object(name, read).unwrap_or_default()
}

impl Readable for MatchType {
    fn read(value: &Value) -> Result<Self, String> {
        match value.as_str() {
            Some("Exact") => Ok(Self::Exact),
            _ => Err(format!("must be `Exact`, not {}", kind(value))),
        }
    }
}

struct Weight(u32);

impl Readable for Weight {
    fn read(value: &Value) -> Result<Self, String> {
        let weight = i64::read(value)?;
        match u32::try_from(weight) {
            Ok(weight @ 1..=WEIGHT_MAX) => Ok(Self(weight)),
            _ => Err(format!("must be within 1 to {WEIGHT_MAX}, not {weight}")),
        }
    }
}

/// The greatest weight, as in the resource.
const WEIGHT_MAX: u32 = 1_000_000;

/// The longest name of a model that is read in a request.
const MODEL_BYTES_MAX: usize = 256;

#[cfg(test)]
mod tests;
