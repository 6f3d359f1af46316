//! The list of models, and what changes it.

use std::sync::{MutexGuard, PoisonError};

use http::{Response, StatusCode};
use serde_json::json;

use super::adapters::{Adapters, Load};
use super::problem::Problem;
use super::routes::{Reply, Site, read_json, respond};

impl Site {
    /// `/v1/models`: the names of the model, and the adapters.
    pub(crate) fn models(&self) -> Response<Reply> {
        let card = |id: &str, root: &str, parent: Option<&str>, tokens_max: Option<u64>| {
            json!({
                "id": id,
                "object": "model",
                "created": self.start_seconds as u64,
                "owned_by": "vllm",
                "root": root,
                "parent": parent,
                "max_model_len": tokens_max,
            })
        };
        let tokens_max = Some(self.config.tokens_max());
        let names = self.models.iter();
        let mut data: Vec<_> = names
            .map(|name| card(name, name, None, tokens_max))
            .collect();
        let parent = self.models.first().map(String::as_str);
        for adapter in self.adapters().loaded() {
            data.push(card(&adapter.name, &adapter.path, parent, None));
        }
        let list = json!({ "object": "list", "data": data });
        respond(StatusCode::OK, "application/json", list.to_string())
    }

    /// `/v1/load_lora_adapter`.
    pub(crate) fn load_adapter(&self, body: &[u8]) -> Result<Response<Reply>, Problem> {
        let load: Load = read_json(body)?;
        if self.config.adapters.is_none() {
            let message = "LoRA is not enabled. Use --adapter-slots to enable LoRA.";
            return Err(Problem::bad_request(message, None));
        }
        let success = self.adapters().load(load, &self.models)?;
        Ok(respond(StatusCode::OK, PLAIN, success))
    }

    /// `/v1/unload_lora_adapter`.
    pub(crate) fn unload_adapter(&self, body: &[u8]) -> Result<Response<Reply>, Problem> {
        let success = self.adapters().unload(&read_json(body)?)?;
        Ok(respond(StatusCode::OK, PLAIN, success))
    }

    /// The adapters, which nobody keeps locked for long.
    pub(crate) fn adapters(&self) -> MutexGuard<'_, Adapters> {
        let adapters = self.adapters.lock();
        adapters.unwrap_or_else(PoisonError::into_inner)
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";
