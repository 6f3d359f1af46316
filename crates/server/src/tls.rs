//! The certificate of the ext_proc server.

use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{CertificateParams, DnType, KeyPair};
use tonic::transport::{Identity, ServerTlsConfig};

/// TLS with the certificate in `folder`, or a fresh self-signed one where no folder is named.
pub(crate) async fn config(folder: &str) -> Result<ServerTlsConfig> {
    let identity = if folder.is_empty() {
        self_signed()?
    } else {
        read(Path::new(folder)).await?
    };
    Ok(ServerTlsConfig::new().identity(identity))
}

async fn read(folder: &Path) -> Result<Identity> {
    let file = async |name: &str| {
        let path = folder.join(name);
        let read = tokio::fs::read(&path).await;
        read.with_context(|| {
            format!(
                "read {}; --cert-path needs tls.crt and tls.key",
                path.display()
            )
        })
    };
    Ok(Identity::from_pem(
        file("tls.crt").await?,
        file("tls.key").await?,
    ))
}

/// Gateways do not verify it: it keeps traffic from eavesdroppers, no more.
fn self_signed() -> Result<Identity> {
    let names = vec!["localhost".to_owned(), "pointsman-epp".to_owned()];
    let mut parameters = CertificateParams::new(names).context("name the certificate")?;
    parameters
        .distinguished_name
        .push(DnType::OrganizationName, "Pointsman");
    let key = KeyPair::generate().context("generate a key")?;
    let certificate = parameters
        .self_signed(&key)
        .context("sign the certificate")?;
    Ok(Identity::from_pem(certificate.pem(), key.serialize_pem()))
}
