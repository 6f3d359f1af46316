//! The object `InferenceModelRewrite`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The `apiVersion` of the object.
pub const API_VERSION: &str = "llm-d.ai/v1alpha2";

/// The older group of [`API_VERSION`], which is still accepted.
pub const API_VERSION_DEPRECATED: &str = "inference.networking.x-k8s.io/v1alpha2";

/// The `kind` of the object.
pub const KIND: &str = "InferenceModelRewrite";

/// The group of a pool that names none.
pub const POOL_GROUP_DEFAULT: &str = "inference.networking.k8s.io";

/// The kind of a pool that names none.
pub const POOL_KIND_DEFAULT: &str = "InferencePool";

/// Rules by which engines are asked for another model than the one that clients name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InferenceModelRewrite {
    /// [`API_VERSION`] or [`API_VERSION_DEPRECATED`].
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// The metadata of a Kubernetes object.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: Spec,
    /// What a controller wrote; never read here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Value>,
}

/// What is read of the metadata of a Kubernetes object. It may have any other field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The object's name, unique in its namespace.
    pub name: String,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// The rules of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    /// The pool whose requests they are for.
    pub pool_ref: PoolReference,
    /// The rules, the first that fits counts.
    pub rules: Vec<Rule>,
}

/// A pool in the namespace of the object that refers to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolReference {
    /// Its group.
    #[serde(default = "pool_group_default")]
    pub group: String,
    /// Its kind.
    #[serde(default = "pool_kind_default")]
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// The requests that it is for: those that any entry fits; all where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Match>,
    /// What the engine is asked for.
    pub targets: Vec<Target>,
}

/// What a request must have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// The model that its body names.
    pub model: ModelMatch,
}

/// A model by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelMatch {
    /// How the name is compared.
    #[serde(default, rename = "type")]
    pub match_type: MatchType,
    /// The name.
    pub value: String,
}

/// How names are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MatchType {
    /// They are equal.
    #[default]
    Exact,
}

/// One of the models that an engine may be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// Its share of the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// The model.
    pub model_rewrite: String,
}

fn pool_group_default() -> String {
    POOL_GROUP_DEFAULT.to_owned()
}

fn pool_kind_default() -> String {
    POOL_KIND_DEFAULT.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_be_left_out_has_the_defaults_of_the_resource() {
        let value = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "name": "a", "uid": "1", "labels": {} },
            "spec": {
                "poolRef": { "name": "pool" },
                "rules": [
                    { "matches": [{ "model": { "value": "m" } }], "targets": [{ "modelRewrite": "n" }] },
                    { "targets": [{ "modelRewrite": "o", "weight": 7 }] },
                ],
            },
        });
        let object: InferenceModelRewrite = serde_json::from_value(value).unwrap();
        assert_eq!(object.spec.pool_ref.group, "inference.networking.k8s.io");
        assert_eq!(object.spec.pool_ref.kind, "InferencePool");
        let [exact, generic] = &*object.spec.rules else {
            panic!("{object:?}")
        };
        assert_eq!(exact.matches[0].model.match_type, MatchType::Exact);
        assert_eq!(exact.targets[0].weight, None);
        assert_eq!(generic.matches, []);
        assert_eq!(generic.targets[0].weight, Some(7));
    }
}
