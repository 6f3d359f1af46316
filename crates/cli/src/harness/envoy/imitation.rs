//! Changes to the standalone configuration by which Envoy stands for other gateways.
//!
//! Those that users have are configured by products, each in its own way; to the picker they differ
//! in what they show and in what they ask for, and that is what is changed here.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// What gateway an Envoy stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Imitation {
    /// Itself: the standalone Envoy.
    #[default]
    Nothing,
    /// One that shows the picker all of every body, in full duplex both ways.
    FullDuplex,
    /// One that admits a subset of the endpoints for each request. Which one, a client tells it in
    /// the header [`SUBSET_HEADER`].
    Subsets,
}

impl Imitation {
    /// Changes the configuration of the standalone Envoy into the other gateway's.
    pub(super) fn apply(self, configuration: &mut Value) -> Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::FullDuplex => show_everything(configuration),
            Self::Subsets => subsets_by_header(configuration),
        }
    }
}

/// The header in which a client names the subset for [`Imitation::Subsets`]: a
/// `google.protobuf.Value`, serialized and in base64, so that it can have every form.
pub const SUBSET_HEADER: &str = "x-imitated-subset";

/// No request takes the sampled route, as its modes would replace these.
fn show_everything(configuration: &mut Value) -> Result<()> {
    let mode = format!("{MANAGER}/http_filters/0/typed_config/processing_mode/response_body_mode");
    *part(configuration, &mode)? = json!("FULL_DUPLEX_STREAMED");
    let routes = part(configuration, &format!("{MANAGER}/{ROUTES}"))?;
    let routes = routes.as_array_mut().context("the routes are no list")?;
    routes.retain(|route| route.pointer("/name") != Some(&json!("sampled")));
    Ok(())
}

fn subsets_by_header(configuration: &mut Value) -> Result<()> {
    let filters = part(configuration, &format!("{MANAGER}/http_filters"))?;
    let filters = filters.as_array_mut().context("the filters are no list")?;
    let filter = json!({
        "name": "envoy.filters.http.header_to_metadata",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.header_to_metadata.v3.Config",
            "request_rules": [{
                "header": SUBSET_HEADER,
                "on_header_present": {
                    "metadata_namespace": "envoy.lb.subset_hint",
                    "key": "x-gateway-destination-endpoint-subset",
                    "type": "PROTOBUF_VALUE",
                    "encode": "BASE64",
                },
                "remove": true,
            }],
        },
    });
    filters.insert(0, filter);
    Ok(())
}

fn part<'a>(configuration: &'a mut Value, pointer: &str) -> Result<&'a mut Value> {
    let found = configuration.pointer_mut(pointer);
    found.with_context(|| format!("the standalone configuration has no {pointer}"))
}

const MANAGER: &str = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config";
const ROUTES: &str = "route_config/virtual_hosts/0/routes";

#[cfg(test)]
mod tests {
    use core::net::SocketAddr;

    use super::*;
    use crate::envoy::EnvoySettings;

    fn imitated(imitation: Imitation) -> Value {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let settings = EnvoySettings::new(address, address, address, address);
        let mut configuration = settings.configuration();
        imitation.apply(&mut configuration).unwrap();
        configuration
    }

    #[test]
    fn a_full_duplex_gateway_has_no_route_with_other_modes() {
        let text = imitated(Imitation::FullDuplex).to_string();
        assert!(text.contains(r#""response_body_mode":"FULL_DUPLEX_STREAMED""#));
        assert!(!text.contains(r#""response_body_mode":"STREAMED""#));
        assert!(!text.contains(r#""response_body_mode":"NONE""#));
    }

    #[test]
    fn a_gateway_with_subsets_knows_them_before_it_asks_the_picker() {
        let configuration = imitated(Imitation::Subsets);
        let filters = configuration.pointer(&format!("{MANAGER}/http_filters"));
        let names: Vec<_> = filters
            .and_then(Value::as_array)
            .unwrap()
            .iter()
            .map(|filter| filter["name"].as_str().unwrap())
            .collect();
        assert_eq!(names[0], "envoy.filters.http.header_to_metadata");
        assert_eq!(names[1], "envoy.filters.http.ext_proc");
    }
}
