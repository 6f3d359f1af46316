//! The endpoints file: text to what discovery knows of each endpoint.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use pointsman_api::endpoints_file::{Endpoint, EndpointsFile, NAMESPACE_DEFAULT};
use pointsman_domain::endpoint::EndpointSpec;

use crate::document;
use crate::fields::{Fields, Scalar, within};
use crate::problem::{Findings, Problems, quoted};

/// Reads a text, YAML or JSON, of at most 1 MiB. An empty list is a pool without endpoints; a text
/// without a list is a problem, so that a file cut short does not empty the pool.
pub fn parse(text: &str) -> Result<Vec<EndpointSpec>, Problems> {
    let mut findings = Findings::default();
    let tree = document::read(text, &mut findings);
    let file = tree.and_then(|tree| within(Some(&tree), "", &mut findings, read));
    let specs = compile(&file.unwrap_or_default(), &mut findings);
    findings.finish(specs).map(|(specs, _)| specs)
}

fn read(fields: &mut Fields<'_>) -> EndpointsFile {
    if fields.value("endpoints").is_none() {
        fields.problem(
            "endpoints",
            "is required: write `endpoints: []` for a pool without any",
        );
    }
    EndpointsFile {
        endpoints: fields.list("endpoints", endpoint),
    }
}

fn endpoint(fields: &mut Fields<'_>) -> Endpoint {
    Endpoint {
        name: fields.required("name").unwrap_or_default(),
        namespace: fields
            .optional("namespace")
            .unwrap_or_else(|| NAMESPACE_DEFAULT.to_owned()),
        address: fields.required("address").unwrap_or_default(),
        port: fields
            .required("port")
            .map(|Scalar(port)| port)
            .unwrap_or_default(),
        labels: fields.entries("labels").into_iter().collect(),
    }
}

fn compile(file: &EndpointsFile, findings: &mut Findings) -> Vec<EndpointSpec> {
    let mut names = BTreeMap::new();
    let mut addresses = BTreeMap::new();
    let mut specs = Vec::new();
    for (index, endpoint) in file.endpoints.iter().enumerate() {
        let path = format!("endpoints[{index}]");
        let name = name(endpoint, &path, findings);
        let address = address(endpoint, &path, findings);
        if let Some(name) = &name
            && let Some(first) = names.insert(name.clone(), index)
        {
            findings.problem(
                format!("{path}.name"),
                format!(
                    "{} is the name of endpoints[{first}] too: write another",
                    quoted(name)
                ),
            );
        }
        if let Some(address) = address
            && let Some(first) = addresses.insert(address, index)
        {
            findings.problem(
                format!("{path}.address"),
                format!("{address} is the address of endpoints[{first}] too: remove one"),
            );
        }
        if let Some((name, address)) = name.zip(address) {
            let labels = endpoint.labels.clone();
            specs.push(EndpointSpec {
                labels,
                ..EndpointSpec::new(name, address)
            });
        }
    }
    specs
}

/// `namespace/name`. Neither part may be empty or hold the slash that parts them.
fn name(endpoint: &Endpoint, path: &str, findings: &mut Findings) -> Option<String> {
    let mut good = true;
    for (field, text) in [("name", &endpoint.name), ("namespace", &endpoint.namespace)] {
        let message = match text {
            text if text.is_empty() => "must not be empty".to_owned(),
            text if text.len() > NAME_BYTES_MAX => {
                format!(
                    "{} has more than {NAME_BYTES_MAX} bytes: shorten it",
                    quoted(text)
                )
            }
            text if text.chars().any(|c| c == '/' || c.is_control()) => {
                format!(
                    "{} must not have slashes or control characters",
                    quoted(text)
                )
            }
            _ => continue,
        };
        findings.problem(format!("{path}.{field}"), message);
        good = false;
    }
    good.then(|| format!("{}/{}", endpoint.namespace, endpoint.name))
}

fn address(endpoint: &Endpoint, path: &str, findings: &mut Findings) -> Option<SocketAddr> {
    let ip = match endpoint.address.parse::<IpAddr>() {
        // An IPv4 address in IPv6 form is the same endpoint, and a gateway writes it as IPv4.
        Ok(ip) => Some(ip.to_canonical()),
        Err(_) => None,
    };
    let ip = ip.filter(|ip| !ip.is_unspecified() && !ip.is_multicast());
    if ip.is_none() {
        let written = quoted(&endpoint.address);
        findings.problem(
            format!("{path}.address"),
            format!("{written} is not the IP address of a host: write one like `10.0.0.1`"),
        );
    }
    let digits = Some(&endpoint.port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = digits
        .and_then(|port| port.parse::<u16>().ok())
        .filter(|&port| port > 0);
    if port.is_none() {
        findings.problem(
            format!("{path}.port"),
            format!(
                "{} is not a port: write a number of 1 to 65535",
                quoted(&endpoint.port)
            ),
        );
    }
    Some(SocketAddr::new(ip?, port?))
}

/// The longest name or namespace, as in Kubernetes.
const NAME_BYTES_MAX: usize = 253;

#[cfg(test)]
mod tests;
